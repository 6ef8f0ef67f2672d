//! The desk: every ask comes here, is ruled on by access and policy, or waits for somebody who may
//! answer; each is decided once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::policy::{Policy, Rule, Saying};
use super::{Answer, Ask, Decision, Reply, Verdict};
use crate::executor::access::Access;
use crate::fact::{Fact, InteractionKind, InteractionOutcome, Warning};

/// The most interactions that one run may have: a backend that asks without end is broken.
pub const MOST: usize = 10_000;

/// What cannot be done without being asked, in whatever access but `unconfined`.
const GUARDED: [&str; 2] = ["external_directory", "doom_loop"];

/// On what terms a run answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Rules given with the job.
    #[serde(default)]
    pub policy: Policy,
    /// How long somebody is waited for; `None`: nobody is there.
    #[serde(default)]
    pub attended: Option<Duration>,
}

impl Terms {
    /// Whether nothing but the access decides.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.policy.is_empty() && self.attended.is_none()
    }
}

/// What follows from an ask or an answer, in this order: what is told is kept before what is replied
/// is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Told to whoever keeps the run.
    Tell(Fact),
    /// The run goes on, and its caller should know.
    Warn(Warning),
    /// What nobody gave: it is the reason if the turn stops or has no result.
    Refused(String),
    /// The time for an answer is over. Whoever takes answers must take no other from now on; one
    /// that came first still counts: [`Desk::answer`], else [`Desk::expire`].
    Close(String),
    /// Sent to the backend.
    Reply(Reply),
}

#[derive(Debug, Clone, PartialEq)]
struct Open {
    ask: Ask,
    until: Duration,
    is_closing: bool,
}

/// All interactions of one run. Times are since its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Desk {
    access: Access,
    terms: Terms,
    asked: usize,
    open: BTreeMap<String, Open>,
    /// What was allowed for the rest of the run, and by whom.
    always: Vec<(Rule, String)>,
}

/// How an ask is dealt with at once.
struct Ruling {
    outcome: InteractionOutcome,
    decision: Decision,
    responder: Option<String>,
}

impl Desk {
    /// Nothing asked yet.
    #[must_use]
    pub fn new(access: Access, terms: Terms) -> Self {
        Self { access, terms, asked: 0, open: BTreeMap::new(), always: Vec::new() }
    }

    /// How many wait for somebody.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.len() as u64
    }

    /// Whether more was asked than any run may ask.
    #[must_use]
    pub fn is_flooded(&self) -> bool {
        self.asked > MOST
    }

    /// When [`Desk::tick`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.open.values().filter(|open| !open.is_closing).map(|open| open.until).min()
    }

    /// Takes an ask in.
    pub fn ask(&mut self, at: Duration, ask: Ask) -> Vec<Step> {
        self.asked += 1;
        let id = format!("i{}", self.asked);
        let ruling = self.rule(&ask);
        let waits = ruling.is_none();
        let mut steps = vec![Step::Tell(Fact::InteractionPending {
            interaction_id: id.clone(),
            kind: ask.kind,
            detail: ask.detail.clone(),
            outcome: waits.then_some(InteractionOutcome::AwaitingAuthorizedResponder),
        })];
        match ruling {
            Some(ruling) => steps.extend(self.settle(&id, &ask, ruling, None)),
            None => {
                let until = at + self.terms.attended.unwrap_or_default();
                self.open.insert(id, Open { ask, until, is_closing: false });
            }
        }
        steps
    }

    /// Takes an answer in. One to what is not open changes nothing.
    pub fn answer(&mut self, answer: &Answer) -> Vec<Step> {
        let Some(open) = self.open.remove(&answer.interaction_id) else { return Vec::new() };
        let fits = answer.decision.fits(open.ask.kind);
        let decision = if fits { answer.decision } else { Decision::Deny };
        let ruling = Ruling {
            outcome: InteractionOutcome::AwaitingAuthorizedResponder,
            decision,
            responder: answer.responder.clone(),
        };
        if decision == Decision::AllowAlways {
            let who = answer.responder.clone().unwrap_or_default();
            let name = &open.ask.permission;
            let rules: Vec<Rule> = match open.ask.always.is_empty() {
                true => open.ask.patterns.iter().map(|what| Rule::literal(name, what)).collect(),
                false => open.ask.always.iter().map(|like| Rule::new(name, like)).collect(),
            };
            self.always.extend(rules.into_iter().map(|rule| (rule, who.clone())));
        }
        self.settle(&answer.interaction_id, &open.ask, ruling, Some(answer))
    }

    /// What has waited too long.
    pub fn tick(&mut self, at: Duration) -> Vec<Step> {
        let late = self.open.iter_mut().filter(|(_, open)| at >= open.until && !open.is_closing);
        late.map(|(id, open)| {
            open.is_closing = true;
            Step::Close(id.clone())
        })
        .collect()
    }

    /// Nobody answered, and nobody can any more.
    pub fn expire(&mut self, id: &str) -> Vec<Step> {
        let Some(open) = self.open.remove(id) else { return Vec::new() };
        let ruling = Ruling {
            outcome: InteractionOutcome::AwaitingAuthorizedResponder,
            decision: Decision::Expired,
            responder: None,
        };
        self.settle(id, &open.ask, ruling, None)
    }

    /// The backend does not ask it any more: its turn ended. Nothing goes back.
    pub fn withdraw(&mut self, key: &str) -> Vec<Step> {
        let id = self.open.iter().find(|(_, open)| open.ask.key == key).map(|(id, _)| id.clone());
        id.map_or_else(Vec::new, |id| {
            let mut steps = self.expire(&id);
            steps.retain(|step| matches!(step, Step::Tell(_)));
            steps
        })
    }

    /// What access and policy say; `None`: somebody is to be asked.
    fn rule(&self, ask: &Ask) -> Option<Ruling> {
        let denied = |responder: String| Ruling {
            outcome: InteractionOutcome::DeniedByPolicy,
            decision: Decision::Deny,
            responder: Some(responder),
        };
        let allowed = |responder: String| Ruling {
            outcome: InteractionOutcome::PreAuthorized,
            decision: Decision::Allow,
            responder: Some(responder),
        };
        let attended = self.terms.attended.is_some();
        let unattended = || Ruling {
            outcome: InteractionOutcome::RejectedUnattended,
            decision: Decision::Deny,
            responder: None,
        };
        if ask.kind == InteractionKind::Question {
            return (!attended).then(unattended);
        }
        let is_guarded = GUARDED.contains(&ask.permission.as_str());
        let by_access = || format!("access {}", self.access.name());
        match self.terms.policy.on(ask) {
            Saying::Denied(rule) => Some(denied(format!("policy {rule}"))),
            _ if self.access == Access::ReadOnly && (ask.is_edit || ask.permission == "edit") => {
                Some(denied(by_access()))
            }
            // Whoever was asked once and said "always" is not asked again.
            _ if let Some(who) = self.given_before(ask) => Some(allowed(who)),
            Saying::Asked(_) => (!attended).then(unattended),
            Saying::Allowed(rule) => Some(allowed(format!("policy {rule}"))),
            Saying::Silent if ask.is_ordinary => Some(allowed(by_access())),
            Saying::Silent if self.access == Access::Unconfined => Some(allowed(by_access())),
            Saying::Silent if attended => None,
            Saying::Silent if is_guarded => Some(denied(by_access())),
            Saying::Silent => Some(unattended()),
        }
    }

    /// Who allowed its like for the rest of the run.
    fn given_before(&self, ask: &Ask) -> Option<String> {
        let allow = self.always.iter().map(|(rule, _)| rule.clone()).collect();
        let given = Policy { allow, ..Policy::default() };
        let Saying::Allowed(rule) = given.on(ask) else { return None };
        let (_, who) = self.always.iter().find(|(other, _)| other == rule)?;
        Some(format!("{who}, always {rule}"))
    }

    fn settle(&self, id: &str, ask: &Ask, ruling: Ruling, answer: Option<&Answer>) -> Vec<Step> {
        let Ruling { outcome, decision, responder } = ruling;
        let mut steps = vec![Step::Tell(Fact::InteractionResolved {
            interaction_id: id.to_owned(),
            outcome,
            decision: Some(decision.name().to_owned()),
            responder: responder.clone(),
        })];
        let words = ask.words();
        let message = answer.and_then(|answer| answer.message.clone());
        let verdict = match (decision, outcome) {
            (Decision::Allow | Decision::AllowAlways, _) => Verdict::Allow,
            (Decision::Answer, _) => {
                Verdict::Answer(answer.map(|answer| answer.answers.clone()).unwrap_or_default())
            }
            (Decision::Deny, InteractionOutcome::DeniedByPolicy) => {
                let who = responder.unwrap_or_default();
                let warning = format!("{words} was denied by {who}; the agent went on without it");
                steps.push(Step::Warn(Warning::new("permission_denied", warning)));
                Verdict::Deny(Some(format!("{words} is denied by {who}. Go on without it.")))
            }
            (Decision::Deny, InteractionOutcome::RejectedUnattended) => {
                let remedy = match ask.kind {
                    InteractionKind::Permission => "allow it by a rule (--allow), or be there",
                    InteractionKind::Question => "be there",
                };
                let what = format!(
                    "was rejected: nobody could answer it; {remedy} to answer (--attended)"
                );
                steps.push(Step::Refused(refusal(ask, &what)));
                let told = format!("Nobody is here to answer: {words}. Go on without it.");
                Verdict::Deny(Some(told))
            }
            (Decision::Deny, _) => {
                let who = responder.unwrap_or_else(|| "a responder".to_owned());
                steps.push(Step::Refused(refusal(ask, &format!("was denied by {who}"))));
                Verdict::Deny(message)
            }
            (Decision::Expired, _) => {
                steps.push(Step::Refused(refusal(ask, "got no answer in time (--attended=SEC)")));
                Verdict::Deny(Some(format!("Nobody answered in time: {words}. Go on without it.")))
            }
        };
        steps.push(Step::Reply(Reply { key: ask.key.clone(), verdict }));
        steps
    }
}

fn refusal(ask: &Ask, what: &str) -> String {
    match ask.kind {
        InteractionKind::Permission => format!("the permission {} {what}", ask.words()),
        InteractionKind::Question => format!("a question {what}"),
    }
}
