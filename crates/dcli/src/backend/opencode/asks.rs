//! What the server asks, each once, and whether anybody but dcli answered.

use std::collections::{BTreeMap, BTreeSet};

use dcli_core::executor::access::Access;
use dcli_core::fact::InteractionKind;
use dcli_core::interaction::{Ask, Verdict};
use serde_json::{Map, Value, json};

use super::wire::{Call, Permission, Question};
use crate::backend::brief::brief;

/// What of a permission's own data is shown.
const TOLD: [&str; 7] = ["command", "filepath", "diff", "url", "parentDir", "directories", "tool"];
/// How often one that is pending may be absent from the list before it counts as gone.
const ABSENCES: u8 = 2;
/// The most that may be pending at once, and the most in all: a server that asks more is broken.
const MOST_OPEN: usize = 500;
const MOST: usize = 20_000;

/// Where an ask stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing was sent.
    None,
    /// Leave, or an answer.
    Given,
    /// A refusal.
    Refused,
    /// Nothing has to be sent any more.
    Gone,
}

#[derive(Debug, Clone)]
struct Asked {
    kind: InteractionKind,
    session: String,
    words: String,
    call: Option<Call>,
    answer: Answer,
    /// A refusal of ours takes with it what its session asks besides.
    is_swept: bool,
    absences: u8,
}

/// All asks of one server.
#[derive(Debug)]
pub(super) struct Asks {
    access: Access,
    all: BTreeMap<String, Asked>,
    /// Sessions in which something was refused.
    refusing: BTreeSet<String>,
    is_aborted: bool,
}

impl Asks {
    /// For a run with this access.
    pub(super) fn new(access: Access) -> Self {
        Self { access, all: BTreeMap::new(), refusing: BTreeSet::new(), is_aborted: false }
    }

    /// A permission that is pending; an ask where it is new.
    pub(super) fn permission(&mut self, asked: &Permission, root: &str) -> Option<Ask> {
        let permission = shared_name(&asked.permission).to_owned();
        let ask = Ask {
            key: asked.id.clone(),
            kind: InteractionKind::Permission,
            is_ordinary: is_ordinary(self.access, &permission),
            permission,
            patterns: asked.patterns.clone(),
            always: asked.always.clone(),
            is_opaque: is_opaque(asked),
            is_edit: asked.permission == "edit",
            detail: detail(asked, root),
        };
        self.note(&ask, &asked.session, asked.call.as_ref()).then_some(ask)
    }

    /// The same for a question.
    pub(super) fn question(&mut self, asked: &Question, root: &str) -> Option<Ask> {
        let questions = brief(&json!(asked.questions));
        let detail = json!({"questions": questions, "session": side(&asked.session, root)});
        let ask = Ask {
            key: asked.id.clone(),
            kind: InteractionKind::Question,
            permission: "question".to_owned(),
            detail,
            ..Ask::default()
        };
        self.note(&ask, &asked.session, asked.call.as_ref()).then_some(ask)
    }

    fn note(&mut self, ask: &Ask, session: &str, call: Option<&Call>) -> bool {
        if let Some(known) = self.all.get_mut(&ask.key) {
            known.absences = 0;
            return false;
        }
        let asked = Asked {
            kind: ask.kind,
            session: session.to_owned(),
            words: ask.words(),
            call: call.cloned(),
            answer: Answer::None,
            is_swept: self.is_aborted,
            absences: 0,
        };
        self.all.insert(ask.key.clone(), asked);
        true
    }

    /// What is about to be sent; what kind of ask it is, where it is still open.
    pub(super) fn tell(&mut self, key: &str, verdict: &Verdict) -> Option<InteractionKind> {
        let asked = self.all.get_mut(key).filter(|asked| asked.answer == Answer::None)?;
        let is_refusal = matches!(verdict, Verdict::Deny(_));
        asked.answer = if is_refusal { Answer::Refused } else { Answer::Given };
        let (kind, session) = (asked.kind, asked.session.clone());
        if is_refusal {
            for other in self.all.values_mut().filter(|other| other.session == session) {
                other.is_swept = true;
            }
            self.refusing.insert(session);
        }
        Some(kind)
    }

    /// Whether more is asked than any session asks.
    pub(super) fn is_flooded(&self) -> bool {
        let open = self.all.values().filter(|asked| asked.answer == Answer::None).count();
        open > MOST_OPEN || self.all.len() > MOST
    }

    /// The turn was told to stop: what is pending goes with it.
    pub(super) fn aborted(&mut self) {
        self.is_aborted = true;
        self.all.values_mut().for_each(|asked| asked.is_swept = true);
    }

    /// Whether anything is pending as far as is known.
    pub(super) fn are_open(&self) -> bool {
        self.all.values().any(|asked| asked.answer == Answer::None)
    }

    /// A permission that was refused in this session; of several a loop, which ends any turn.
    pub(super) fn refused(&self, session: &str) -> Option<&str> {
        let refused = self.all.values().filter(|asked| {
            asked.answer == Answer::Refused
                && asked.session == session
                && asked.kind == InteractionKind::Permission
        });
        let mut words: Vec<&str> = refused.map(|asked| &*asked.words).collect();
        words.sort_by_key(|words| !words.starts_with("doom_loop"));
        words.first().copied()
    }

    /// All that are pending of this kind. Answers with what is not asked any more.
    ///
    /// # Errors
    /// In words: one is gone that nobody here answered, while its session goes on.
    pub(super) fn listed(
        &mut self,
        kind: InteractionKind,
        pending: &BTreeSet<String>,
        is_idle: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, String> {
        let mut gone = Vec::new();
        let open = self.all.iter_mut().filter(|(key, asked)| {
            asked.kind == kind && asked.answer == Answer::None && !pending.contains(*key)
        });
        for (key, asked) in open {
            asked.absences = asked.absences.saturating_add(1);
            if asked.absences < ABSENCES {
                continue;
            }
            if !asked.is_swept && !is_idle(&asked.session) {
                return Err(format!("{} ({key}) is gone and was not answered here", asked.words));
            }
            asked.answer = Answer::Gone;
            gone.push(key.clone());
        }
        Ok(gone)
    }

    /// The server says that a permission was answered.
    ///
    /// # Errors
    /// In words: with something else than was sent from here.
    pub(super) fn replied(&self, session: &str, key: &str, reply: &str) -> Result<(), String> {
        let is_refusal = reply == "reject";
        let is_ours = match self.all.get(key) {
            Some(asked) => match asked.answer {
                Answer::Given => reply == "once" || (is_refusal && asked.is_swept),
                _ if !is_refusal => false,
                answer => answer == Answer::Refused || asked.is_swept,
            },
            None => is_refusal && (self.is_aborted || self.refusing.contains(session)),
        };
        let words = self.all.get(key).map_or("one that was not seen", |asked| &*asked.words);
        match is_ours {
            true => Ok(()),
            false => {
                Err(format!("{words} ({key}) was answered with {reply:?}, not sent from here"))
            }
        }
    }

    /// A call of a tool has ended well.
    ///
    /// # Errors
    /// In words: it was refused, or nobody here was asked to the end.
    pub(super) fn ran(&self, session: &str, message: &str, call: &str) -> Result<(), String> {
        let of_it = |asked: &&Asked| {
            asked.session == session
                && asked.kind == InteractionKind::Permission
                && asked.call.as_ref().is_some_and(|of| of.message == message && of.call == call)
        };
        let mut wrong = self.all.values().filter(of_it);
        match wrong.find(|asked| asked.answer != Answer::Given) {
            Some(asked) => Err(format!("{} was done and had no leave from here", asked.words)),
            None => Ok(()),
        }
    }
}

/// opencode asks for all that writes a file by one name; older versions had several.
fn shared_name(permission: &str) -> &str {
    match permission {
        "write" | "patch" | "multiedit" | "apply_patch" => "edit",
        other => other,
    }
}

/// Whether the access lets it through where nobody is asked.
fn is_ordinary(access: Access, permission: &str) -> bool {
    match permission {
        "external_directory" | "doom_loop" => access == Access::Unconfined,
        "bash" | "edit" => access != Access::ReadOnly,
        _ => true,
    }
}

fn side(session: &str, root: &str) -> &'static str {
    if session == root { "root" } else { "child" }
}

fn detail(asked: &Permission, root: &str) -> Value {
    let mut detail = Map::new();
    detail.insert("permission".to_owned(), shared_name(&asked.permission).into());
    detail.insert("patterns".to_owned(), asked.patterns.clone().into());
    detail.insert("always".to_owned(), asked.always.clone().into());
    let told = TOLD.iter().filter_map(|name| Some((name, asked.metadata.get(*name)?)));
    let told = told.filter(|(_, value)| value.is_string() || value.is_array());
    detail.extend(told.map(|(name, value)| ((*name).to_owned(), value.clone())));
    detail.insert("session".to_owned(), side(&asked.session, root).into());
    brief(&Value::Object(detail))
}

/// Whether a command does more than its patterns say: they leave out `cd` and what surrounds simple
/// commands, and hold redirections and substitutions that no pattern means to allow.
fn is_opaque(asked: &Permission) -> bool {
    let Some(command) = asked.metadata.get("command").and_then(Value::as_str) else { return false };
    if asked.permission != "bash" {
        return false;
    }
    let mut rest = command.to_owned();
    for pattern in &asked.patterns {
        rest = rest.replacen(&**pattern, "", 1);
    }
    let is_between = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|');
    command.contains(['>', '<', '`', '$', '\\']) || !rest.chars().all(is_between)
}

#[cfg(test)]
#[path = "asks_tests.rs"]
mod tests;
