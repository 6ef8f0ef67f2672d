//! Laws of the desk: whatever is asked, answered or withdrawn, in whatever order.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::collections::BTreeMap;
use std::time::Duration;

use dcli_core::executor::access::Access;
use dcli_core::fact::{Fact, InteractionKind, InteractionOutcome};
use dcli_core::interaction::policy::Saying;
use dcli_core::interaction::{Answer, Ask, Decision, Desk, Policy, Rule, Step, Terms, Verdict};
use proptest::prelude::*;

const ACCESSES: [Access; 3] = [Access::ReadOnly, Access::Workspace, Access::Unconfined];
const PERMISSIONS: [&str; 5] = ["bash", "edit", "webfetch", "external_directory", "doom_loop"];
const PATTERNS: [&str; 6] = ["git status", "git push", "rm -rf x", "a.rs", "/etc/*", "*"];
const RULES: [&str; 9] = [
    "bash",
    "bash:git *",
    "bash:rm *",
    "edit",
    "edit:*.rs",
    "*",
    "e*",
    "external_directory",
    "w*:?",
];

/// What may happen at a desk.
#[derive(Debug, Clone)]
enum Event {
    Ask(Ask),
    /// To the nth interaction, whether or not it is there.
    Answer(usize, Decision),
    Withdraw(usize),
    Pass(u64),
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let patterns = prop::collection::vec(prop::sample::select(&PATTERNS[..]), 0..3);
    let always = prop::collection::vec(prop::sample::select(&RULES[..]), 0..2);
    (prop::sample::select(&PERMISSIONS[..]), patterns, always, any::<bool>(), 0..4_u8).prop_map(
        |(permission, patterns, always, is_opaque, kind)| Ask {
            kind: if kind == 0 { InteractionKind::Question } else { InteractionKind::Permission },
            permission: permission.into(),
            patterns: patterns.into_iter().map(Into::into).collect(),
            always: always.into_iter().map(Into::into).collect(),
            is_opaque,
            ..Ask::default()
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    let decisions = [
        Decision::Allow,
        Decision::AllowAlways,
        Decision::Deny,
        Decision::Answer,
        Decision::Expired,
    ];
    prop_oneof![
        4 => any_ask().prop_map(Event::Ask),
        3 => (1..12_usize, prop::sample::select(decisions.to_vec()))
            .prop_map(|(nth, decision)| Event::Answer(nth, decision)),
        1 => (1..12_usize).prop_map(Event::Withdraw),
        2 => (0..40_u64).prop_map(Event::Pass),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let rules = || {
        prop::collection::vec(prop::sample::select(&RULES[..]), 0..3)
            .prop_map(|texts| texts.iter().map(|text| text.parse::<Rule>().unwrap()).collect())
    };
    (rules(), rules(), rules()).prop_map(|(allow, ask, deny)| Policy { allow, ask, deny })
}

fn any_desk() -> impl Strategy<Value = (Access, Terms)> {
    let attended = prop::option::of((1..60_u64).prop_map(Duration::from_secs));
    (prop::sample::select(&ACCESSES[..]), any_policy(), attended)
        .prop_map(|(access, policy, attended)| (access, Terms { policy, attended }))
}

fn answer(id: &str, decision: Decision) -> Answer {
    Answer {
        schema_version: 1,
        interaction_id: id.into(),
        decision,
        message: None,
        answers: vec!["yes".into()],
        responder: Some("uid 7".into()),
        at: "2026-11-30T19:04:00.000Z".into(),
    }
}

/// Everything that came out, with the time at which it did.
#[derive(Debug, Default)]
struct Book {
    told: Vec<(Duration, Step)>,
    asks: BTreeMap<String, (Duration, Ask)>,
}

impl Book {
    fn take(&mut self, at: Duration, steps: Vec<Step>) {
        self.told.extend(steps.into_iter().map(|step| (at, step)));
    }

    fn pending(&self, id: &str) -> Vec<&Option<InteractionOutcome>> {
        self.facts(|fact| match fact {
            Fact::InteractionPending { interaction_id, outcome, .. } if interaction_id == id => {
                Some(outcome)
            }
            _ => None,
        })
    }

    fn resolved(&self, id: &str) -> Vec<&str> {
        self.facts(|fact| match fact {
            Fact::InteractionResolved { interaction_id, decision, .. } if interaction_id == id => {
                decision.as_deref()
            }
            _ => None,
        })
    }

    fn facts<'b, T>(&'b self, pick: impl Fn(&'b Fact) -> Option<T>) -> Vec<T> {
        let told = self.told.iter().filter_map(|(_, step)| match step {
            Step::Tell(fact) => Some(fact),
            _ => None,
        });
        told.filter_map(pick).collect()
    }

    /// Where each step stands of which this is said.
    fn places(&self, is: impl Fn(&Step) -> bool) -> Vec<usize> {
        let told = self.told.iter().enumerate();
        told.filter(|(_, (_, step))| is(step)).map(|(at, _)| at).collect()
    }

    fn replies(&self, key: &str) -> Vec<(usize, &Verdict)> {
        let told = self.told.iter().enumerate();
        told.filter_map(|(at, (_, step))| match step {
            Step::Reply(reply) if reply.key == key => Some((at, &reply.verdict)),
            _ => None,
        })
        .collect()
    }
}

fn key(nth: usize) -> String {
    format!("k{nth}")
}

/// What comes of these events. A desk that closes an interaction is told at once that nobody came.
fn run(access: Access, terms: &Terms, events: &[Event]) -> (Desk, Book) {
    let mut desk = Desk::new(access, terms.clone());
    let (mut book, mut at) = (Book::default(), Duration::ZERO);
    for event in events {
        let steps = match event {
            Event::Ask(ask) => {
                let nth = book.asks.len() + 1;
                let ask = Ask { key: key(nth), ..ask.clone() };
                book.asks.insert(format!("i{nth}"), (at, ask.clone()));
                desk.ask(at, ask)
            }
            Event::Answer(nth, decision) => desk.answer(&answer(&format!("i{nth}"), *decision)),
            Event::Withdraw(nth) => desk.withdraw(&key(*nth)),
            Event::Pass(seconds) => {
                at += Duration::from_secs(*seconds);
                expire_due(&mut desk, &mut book, at);
                Vec::new()
            }
        };
        book.take(at, steps);
    }
    (desk, book)
}

fn expire_due(desk: &mut Desk, book: &mut Book, at: Duration) {
    for step in desk.tick(at) {
        let Step::Close(id) = &step else { unreachable!("{step:?}") };
        let expired = desk.expire(id);
        book.take(at, vec![step]);
        book.take(at, expired);
    }
}

proptest! {
    #[test]
    fn each_ask_is_told_once_resolved_and_replied_to_at_most_once_and_told_before_it_is_replied(
        (access, terms) in any_desk(),
        events in prop::collection::vec(any_event(), 0..25),
    ) {
        let (desk, book) = run(access, &terms, &events);
        let mut open = 0;
        for (id, (_, ask)) in &book.asks {
            prop_assert_eq!(book.pending(id).len(), 1);
            let (resolved, replies) = (book.resolved(id), book.replies(&ask.key));
            prop_assert!(resolved.len() <= 1 && replies.len() <= resolved.len(), "{:?}", book);
            open += u64::from(resolved.is_empty());
            let is_told = |step: &Step| matches!(step, Step::Tell(
                Fact::InteractionPending { interaction_id, .. }
                | Fact::InteractionResolved { interaction_id, .. }) if interaction_id == id);
            let told = book.places(is_told);
            prop_assert!(replies.iter().all(|(at, _)| told.iter().all(|told| told < at)));
            if let [(_, verdict)] = replies[..] {
                let is_yes = matches!(verdict, Verdict::Allow | Verdict::Answer(_));
                let said = ["allow", "allow_always", "answer"].contains(&resolved[0]);
                prop_assert_eq!(is_yes, said, "{:?}", book);
            }
        }
        prop_assert_eq!(desk.open(), open);
        prop_assert_eq!(desk.next_deadline().is_some(), open > 0);
    }

    #[test]
    fn nobody_is_waited_for_unattended_and_attended_exactly_until_the_time(
        (access, terms) in any_desk(),
        asks in prop::collection::vec((any_ask(), 0..40_u64), 1..12),
    ) {
        let pairs = asks.into_iter().flat_map(|(ask, pause)| [Event::Ask(ask), Event::Pass(pause)]);
        let (mut desk, mut book) = run(access, &terms, &pairs.collect::<Vec<_>>());
        prop_assert!(terms.attended.is_some() || desk.open() == 0);
        while let Some(due) = desk.next_deadline() {
            prop_assert!(desk.tick(due - Duration::from_nanos(1)).is_empty());
            expire_due(&mut desk, &mut book, due);
            prop_assert!(desk.next_deadline() != Some(due));
        }
        prop_assert_eq!(desk.open(), 0);
        for (id, (asked, _)) in &book.asks {
            let closed = book.places(|step| *step == Step::Close(id.clone()));
            let waits = *book.pending(id)[0] == Some(InteractionOutcome::AwaitingAuthorizedResponder);
            prop_assert_eq!(closed.len(), usize::from(waits));
            for at in closed {
                prop_assert!(book.told[at].0 >= *asked + terms.attended.unwrap());
                prop_assert_eq!(book.resolved(id), ["expired"]);
            }
        }
    }

    #[test]
    fn an_answer_that_comes_too_late_or_twice_changes_nothing(
        (access, terms) in any_desk(),
        events in prop::collection::vec(any_event(), 0..25),
        late in prop::sample::select(&[Decision::Allow, Decision::AllowAlways, Decision::Answer][..]),
    ) {
        let (mut desk, mut book) = run(access, &terms, &events);
        while let Some(due) = desk.next_deadline() {
            expire_due(&mut desk, &mut book, due);
        }
        let before = desk.clone();
        for (id, (_, ask)) in &book.asks {
            prop_assert_eq!(desk.answer(&answer(id, late)), []);
            prop_assert_eq!(desk.expire(id), []);
            prop_assert_eq!(desk.withdraw(&ask.key), []);
        }
        prop_assert_eq!(desk, before);
    }

    #[test]
    fn an_answer_that_came_before_the_close_still_counts(ask in any_ask()) {
        let terms = Terms { attended: Some(Duration::from_secs(9)), ..Terms::default() };
        let mut desk = Desk::new(Access::Workspace, terms);
        desk.ask(Duration::ZERO, Ask { key: key(1), ..ask.clone() });
        prop_assert_eq!(desk.tick(Duration::from_secs(9)), [Step::Close("i1".into())]);
        prop_assert_eq!(desk.tick(Duration::from_secs(99)), []);
        let decision = match ask.kind {
            InteractionKind::Permission => Decision::Allow,
            InteractionKind::Question => Decision::Answer,
        };
        let last = desk.answer(&answer("i1", decision)).pop();
        let is_yes = |verdict: &Verdict| matches!(verdict, Verdict::Allow | Verdict::Answer(_));
        prop_assert!(matches!(last, Some(Step::Reply(reply)) if is_yes(&reply.verdict)));
    }

    #[test]
    fn deny_wins_over_ask_over_allow_in_whatever_order_the_rules_stand(
        policy in any_policy(),
        ask in any_ask(),
        turn in 0..3_usize,
    ) {
        let parts = if ask.patterns.is_empty() { vec![String::new()] } else { ask.patterns.clone() };
        let touches = |rules: &[Rule]| {
            let one = |rule: &Rule| parts.iter().any(|part| {
                let alone = Policy { deny: vec![rule.clone()], ..Policy::default() };
                let part = Ask { patterns: vec![part.clone()], ..ask.clone() };
                matches!(alone.on(&part), Saying::Denied(_))
            });
            rules.iter().any(one)
        };
        let said = policy.on(&ask);
        prop_assert_eq!(touches(&policy.deny), matches!(said, Saying::Denied(_)));
        let is_asked = touches(&policy.ask) && !touches(&policy.deny);
        prop_assert_eq!(is_asked, matches!(said, Saying::Asked(_)));
        let mut turned = policy.clone();
        for rules in [&mut turned.allow, &mut turned.ask, &mut turned.deny] {
            let by = turn.min(rules.len());
            rules.rotate_left(by);
        }
        prop_assert_eq!(std::mem::discriminant(&turned.on(&ask)), std::mem::discriminant(&said));
    }

    #[test]
    fn more_rules_of_denial_never_allow_and_more_asks_never_give_leave(
        policy in any_policy(),
        more in any_policy(),
        ask in any_ask(),
    ) {
        let allows = |policy: &Policy| matches!(policy.on(&ask), Saying::Allowed(_));
        let stricter = policy.clone().and(Policy { allow: Vec::new(), ..more });
        prop_assert!(!allows(&stricter) || allows(&policy));
    }

    #[test]
    fn under_read_only_no_rule_lets_anything_be_edited(
        policy in any_policy(),
        attended in any::<bool>(),
        asks in prop::collection::vec(any_ask(), 1..6),
    ) {
        let attended = attended.then_some(Duration::from_secs(5));
        let edits: Vec<_> = asks
            .into_iter()
            .flat_map(|ask| [ask.clone(), Ask { permission: "edit".into(), ..ask }])
            .map(Event::Ask)
            .flat_map(|ask| [ask, Event::Answer(1, Decision::AllowAlways)])
            .collect();
        let (_, book) = run(Access::ReadOnly, &Terms { policy, attended }, &edits);
        for (id, (_, ask)) in &book.asks {
            if ask.permission == "edit" && ask.kind == InteractionKind::Permission {
                prop_assert_eq!(book.resolved(id), ["deny"]);
            }
        }
    }

    #[test]
    fn what_policy_denies_is_never_allowed_by_an_always(
        (access, terms) in any_desk(),
        ask in any_ask(),
    ) {
        let attended = terms.attended.or(Some(Duration::from_secs(9)));
        let mut desk = Desk::new(access, Terms { attended, ..terms.clone() });
        desk.ask(Duration::ZERO, Ask { key: key(1), kind: InteractionKind::Permission, ..ask.clone() });
        desk.answer(&answer("i1", Decision::AllowAlways));
        let denied = Ask { key: key(2), kind: InteractionKind::Permission, ..ask };
        let is_denied = matches!(terms.policy.on(&denied), Saying::Denied(_));
        let last = desk.ask(Duration::ZERO, denied).pop();
        let is_allowed = matches!(last, Some(Step::Reply(reply)) if reply.verdict == Verdict::Allow);
        prop_assert!(!(is_denied && is_allowed));
    }
}

/// A path outside is asked for by another name, and is an edit all the same.
#[test]
fn under_read_only_no_rule_lets_a_file_outside_be_changed() {
    let policy = Policy { allow: vec!["*".parse().unwrap()], ..Policy::default() };
    let terms = Terms { policy, attended: Some(Duration::from_secs(1)) };
    let ask = |is_edit| Ask {
        permission: "external_directory".to_owned(),
        patterns: vec!["/etc/x".to_owned()],
        is_edit,
        ..Ask::default()
    };
    let allowed = |access, is_edit| {
        let steps = Desk::new(access, terms.clone()).ask(Duration::ZERO, ask(is_edit));
        let mut replies = steps.into_iter().filter_map(|step| match step {
            Step::Reply(reply) => Some(reply.verdict == Verdict::Allow),
            _ => None,
        });
        replies.next()
    };
    assert_eq!(allowed(Access::ReadOnly, true), Some(false));
    assert_eq!(allowed(Access::ReadOnly, false), Some(true));
    assert_eq!(allowed(Access::Workspace, true), Some(true));
}
