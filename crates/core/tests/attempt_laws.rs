//! Laws of the attempt machine, and its whole Phase × Input table as one snapshot.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::time::Duration;

use dcli_core::attempt::{Attempt, Effect, Input, Limits, Phase, Progress};
use dcli_core::executor::record::RungKind;
use dcli_core::milestone::{Decision, Milestone};
use dcli_core::outcome::{Ending, Limit};
use proptest::prelude::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn limits() -> Limits {
    Limits {
        hard: s(100),
        startup: Some(s(10)),
        idle: Some(s(20)),
        grace: s(5),
        drain: s(5),
        ladder: vec![(RungKind::Interrupt, s(3)), (RungKind::HardKill, s(0))],
    }
}

fn progress(records: u64, complete: bool) -> Progress {
    Progress { records, activity: records, complete, ..Progress::default() }
}

fn exited(code: i32) -> Input {
    Input::LeaderEnded { code: Some(code), signal: None }
}

/// An attempt in the phase of that name, with the time at which it got there.
fn in_phase(name: &str) -> (Attempt, Duration) {
    let mut attempt = Attempt::new(limits());
    let steps: &[(u64, Input)] = &match name {
        "working" => vec![(1, Input::Read(progress(1, false)))],
        "lingering" => vec![(1, Input::Read(progress(1, true)))],
        "draining" => vec![(1, exited(0))],
        "climbing" => vec![(1, Input::CancelAsked)],
        "ending_tree" => vec![(1, Input::CancelAsked), (1, Input::CancelAsked)],
        "ended" => {
            vec![(1, Input::CancelAsked), (1, Input::CancelAsked), (1, Input::TreeEnded)]
        }
        other => unreachable!("{other}"),
    };
    for (at, input) in steps {
        attempt.step(s(*at), input.clone()).unwrap();
    }
    (attempt, s(2))
}

const PHASES: [&str; 6] = ["working", "lingering", "draining", "climbing", "ending_tree", "ended"];

fn inputs() -> Vec<(&'static str, Input)> {
    vec![
        ("read more", Input::Read(progress(2, false))),
        ("read completion", Input::Read(progress(2, true))),
        ("sampled busy", Input::Sampled { busy: true, tool_session: false }),
        ("sampled quiet", Input::Sampled { busy: false, tool_session: false }),
        ("leader exited 0", exited(0)),
        ("leader signalled", Input::LeaderEnded { code: None, signal: Some(9) }),
        ("tree empty", Input::TreeEmpty),
        ("settled", Input::Settled),
        ("cancel asked", Input::CancelAsked),
        ("broken", Input::Broken(Ending::Capped)),
        ("tree ended", Input::TreeEnded),
        ("ticked", Input::Ticked),
    ]
}

fn table() -> String {
    let mut text = String::new();
    for phase in PHASES {
        for (name, input) in inputs() {
            let (mut attempt, at) = in_phase(phase);
            let stepped = attempt.step(at, input);
            let effects = stepped.map_or("illegal".to_owned(), |effects| format!("{effects:?}"));
            let ending = attempt.ending().map_or("-".to_owned(), |ending| format!("{ending:?}"));
            text += &format!("{phase} + {name} -> {:?} {effects} {ending}\n", attempt.phase());
        }
    }
    text
}

#[test]
fn the_whole_table_is_as_recorded() {
    let recorded = include_str!("attempt_table.txt");
    let found = table();
    assert!(found == recorded, "the table changed; it is now:\n{found}");
}

#[test]
fn a_cancel_after_completion_is_no_cancel() {
    let (mut attempt, at) = in_phase("lingering");
    let noted = Effect::Note(Milestone::CancelRequested);
    assert_eq!(attempt.step(at, Input::CancelAsked).unwrap(), [noted, Effect::EndTree]);
    assert_eq!(attempt.ending(), Some(&Ending::AfterResult));
}

#[test]
fn a_completion_after_a_cancel_changes_nothing() {
    let (mut attempt, at) = in_phase("climbing");
    attempt.step(at, Input::Read(progress(9, true))).unwrap();
    attempt.step(at, exited(0)).unwrap();
    assert_eq!(attempt.ending(), Some(&Ending::Cancelled));
}

#[test]
fn an_open_tool_call_and_cpu_use_hold_the_idle_deadline_and_retries_do_not() {
    let mut attempt = Attempt::new(limits());
    let open = Progress { open_tools: 1, ..progress(1, false) };
    attempt.step(s(1), Input::Read(open)).unwrap();
    attempt.step(s(60), Input::Ticked).unwrap();
    assert_eq!(attempt.ending(), None, "a tool call is open");
    attempt.step(s(60), Input::Read(progress(2, false))).unwrap();
    attempt.step(s(75), Input::Sampled { busy: true, tool_session: false }).unwrap();
    attempt.step(s(94), Input::Ticked).unwrap();
    assert_eq!(attempt.ending(), None, "it used the CPU at 75 s");
    let retry = Progress { records: 3, activity: 2, ..Progress::default() };
    attempt.step(s(94), Input::Read(retry)).unwrap();
    attempt.step(s(95), Input::Ticked).unwrap();
    assert_eq!(attempt.ending(), Some(&Ending::Deadline(Limit::Idle)));
}

#[test]
fn the_startup_deadline_ends_with_the_first_record() {
    let mut silent = Attempt::new(limits());
    silent.step(s(10), Input::Ticked).unwrap();
    assert_eq!(silent.ending(), Some(&Ending::Deadline(Limit::Startup)));
    let mut speaking = Attempt::new(limits());
    speaking.step(s(9), Input::Read(progress(1, false))).unwrap();
    speaking.step(s(12), Input::Ticked).unwrap();
    assert_eq!(speaking.ending(), None);
}

#[test]
fn lingering_does_not_outlast_the_hard_deadline() {
    let mut attempt = Attempt::new(limits());
    attempt.step(s(98), Input::Read(progress(1, true))).unwrap();
    assert_eq!(attempt.next_deadline(), Some(s(100)));
    let effects = attempt.step(s(100), Input::Ticked).unwrap();
    assert_eq!((effects, attempt.ending()), (vec![Effect::EndTree], Some(&Ending::AfterResult)));
}

/// The milestones among what an attempt does, and whether each comes first in its step.
fn milestones(effects: &[Effect], seen: &mut Vec<Milestone>) -> bool {
    let is_note = |effect: &Effect| matches!(effect, Effect::Note(_));
    seen.extend(effects.iter().filter_map(|effect| match effect {
        Effect::Note(milestone) => Some(*milestone),
        _ => None,
    }));
    !effects.iter().skip_while(|effect| is_note(effect)).any(is_note)
}

fn decided(milestones: &[Milestone]) -> Decision {
    let mut decision = Decision::default();
    milestones.iter().for_each(|milestone| decision.take(*milestone));
    decision
}

/// The ending that milestones amount to, where nothing broke.
fn amounts_to(decision: Decision) -> Ending {
    match decision.by {
        None => Ending::AfterResult,
        Some(Milestone::CancelRequested) => Ending::Cancelled,
        Some(Milestone::DeadlineReached(limit)) => Ending::Deadline(limit),
        Some(Milestone::LeaderEnded { code: Some(code), .. }) => Ending::Exited(code),
        Some(Milestone::Settled) => Ending::Settled,
        Some(other) => unreachable!("{other:?} decides nothing"),
    }
}

#[test]
fn a_relapse_is_told_before_the_deadline_that_it_runs_into() {
    let mut attempt = Attempt::new(limits());
    let completed = Effect::Note(Milestone::Completed);
    assert_eq!(attempt.step(s(98), Input::Read(progress(1, true))).unwrap(), [completed]);
    let effects = attempt.step(s(101), Input::Read(progress(2, false))).unwrap();
    let notes = [Milestone::Resumed, Milestone::DeadlineReached(Limit::Hard)].map(Effect::Note);
    assert_eq!(effects, [&notes[..], &[Effect::Climb(RungKind::Interrupt)]].concat());
}

#[test]
fn a_second_cancel_and_one_that_meets_a_deadline_are_each_told_once() {
    let (mut attempt, at) = in_phase("climbing");
    assert_eq!(attempt.step(at, Input::CancelAsked).unwrap(), [Effect::EndTree]);
    let mut late = Attempt::new(limits());
    late.step(s(10), Input::Ticked).unwrap();
    let noted = Effect::Note(Milestone::CancelRequested);
    assert_eq!(late.step(s(10), Input::CancelAsked).unwrap(), [noted, Effect::EndTree]);
    assert_eq!(late.ending(), Some(&Ending::Deadline(Limit::Startup)));
}

fn any_input() -> impl Strategy<Value = Input> {
    let reads = (0..5_u64, any::<bool>(), any::<bool>(), 0..2_u64).prop_map(
        |(records, complete, failed, open_tools)| {
            Input::Read(Progress { open_tools, failed, ..progress(records, complete) })
        },
    );
    prop_oneof![
        4 => reads,
        2 => (any::<bool>(), any::<bool>())
            .prop_map(|(busy, tool_session)| Input::Sampled { busy, tool_session }),
        1 => (0..3_i32).prop_map(exited),
        1 => Just(Input::TreeEmpty),
        1 => Just(Input::Settled),
        1 => Just(Input::CancelAsked),
        4 => Just(Input::Ticked),
    ]
}

proptest! {
    #[test]
    fn a_run_ends_whatever_happens_and_stays_ended(
        inputs in prop::collection::vec((any_input(), 0..4000_u64), 0..60),
    ) {
        let mut attempt = Attempt::new(limits());
        let mut at = Duration::ZERO;
        for (input, pause) in inputs {
            at += Duration::from_millis(pause);
            let _ = attempt.step(at, input);
        }
        // Only time passes now: each deadline must be met by a step, and the tree be ended.
        for _ in 0..200 {
            let Some(deadline) = attempt.next_deadline() else { break };
            at = at.max(deadline);
            attempt.step(at, Input::Ticked).unwrap();
            prop_assert!(attempt.next_deadline() != Some(deadline), "time stands still at {at:?}");
        }
        prop_assert_eq!(attempt.phase(), Phase::EndingTree);
        prop_assert!(attempt.ending().is_some());
        let ending = attempt.ending().cloned();
        attempt.step(at, Input::TreeEnded).unwrap();
        prop_assert_eq!(attempt.phase(), Phase::Ended);
        for (_, input) in self::inputs() {
            prop_assert!(attempt.step(at, input).is_err());
        }
        prop_assert_eq!(attempt.ending().cloned(), ending);
    }

    #[test]
    fn the_order_of_the_milestones_is_the_ending(
        inputs in prop::collection::vec((any_input(), 0..4000_u64), 0..60),
    ) {
        let mut attempt = Attempt::new(limits());
        let (mut at, mut seen) = (Duration::ZERO, Vec::new());
        let wait = std::iter::repeat_n((Input::Ticked, 30_000), 20);
        for (input, pause) in inputs.into_iter().chain(wait) {
            at += Duration::from_millis(pause);
            let effects = attempt.step(at, input).unwrap();
            prop_assert!(milestones(&effects, &mut seen), "told too late: {effects:?}");
        }
        prop_assert_eq!(attempt.phase(), Phase::EndingTree);
        let decision = decided(&seen);
        let settled_after_it = decision.by.is_none() && attempt.ending() == Some(&Ending::Settled);
        let amount = if settled_after_it { Ending::Settled } else { amounts_to(decision) };
        prop_assert_eq!(attempt.ending(), Some(&amount), "{:?}", seen);
        prop_assert!(!settled_after_it || decision.completed, "{:?}", seen);
        let once = |is: fn(&Milestone) -> bool| seen.iter().filter(|one| is(one)).count() <= 1;
        prop_assert!(once(|m| *m == Milestone::CancelRequested), "{:?}", seen);
        prop_assert!(once(|m| matches!(m, Milestone::DeadlineReached(_))), "{:?}", seen);
        prop_assert!(once(|m| matches!(m, Milestone::LeaderEnded { .. })), "{:?}", seen);
        prop_assert!(once(|m| *m == Milestone::Settled), "{:?}", seen);
    }

    #[test]
    fn a_settled_session_ends_the_tree_at_once_and_takes_nothing_back(
        inputs in prop::collection::vec((any_input(), 0..4000_u64), 0..30),
    ) {
        let mut attempt = Attempt::new(limits());
        let mut at = Duration::ZERO;
        for (input, pause) in inputs {
            at += Duration::from_millis(pause);
            attempt.step(at, input).unwrap();
        }
        let (before, decided) = (attempt.phase(), attempt.ending().cloned());
        let effects = attempt.step(at, Input::Settled).unwrap();
        prop_assert_eq!(attempt.phase(), Phase::EndingTree);
        prop_assert_eq!(effects.contains(&Effect::EndTree), before != Phase::EndingTree);
        let is_undecided = matches!(before, Phase::Working | Phase::Lingering { .. });
        let ending = if is_undecided { Some(Ending::Settled) } else { decided };
        prop_assert_eq!(attempt.ending().cloned(), ending);
        prop_assert_eq!(attempt.step(at, Input::CancelAsked).unwrap(), []);
    }

    #[test]
    fn a_hard_deadline_is_overshot_by_less_than_a_second(cpu in any::<bool>()) {
        let mut attempt = Attempt::new(limits());
        let mut at = Duration::ZERO;
        while attempt.phase() != Phase::EndingTree {
            at = attempt.next_deadline().unwrap().max(at);
            let input = if at < s(100) && cpu {
                Input::Sampled { busy: true, tool_session: false }
            } else {
                Input::Ticked
            };
            attempt.step(at, Input::Read(progress(at.as_secs() + 1, false))).unwrap();
            if attempt.phase() != Phase::EndingTree {
                attempt.step(at, input).unwrap();
            }
        }
        prop_assert!(at <= s(101), "{at:?}");
    }
}
