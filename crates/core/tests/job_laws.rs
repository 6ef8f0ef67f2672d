//! Laws of the job machine, and its whole Stage × Input table as one snapshot.

mod lives;

use dcli_core::envelope::Status;
use dcli_core::exit::FailureClass;
use dcli_core::interaction::Decision;
use dcli_core::job::event::{BackendEnded, Event, JournalLine};
use dcli_core::job::machine::{Effect, FoldError, Input, Job, Stage};
use dcli_core::job::state::{JobPhase, JobState};
use proptest::prelude::*;

use lives::{
    AT, begun, cancel, conclusion, ended, gone, inputs, job, line, started, state, walk, ways,
};

fn shown(effect: &Effect) -> String {
    match effect {
        Effect::Append(Event::Ended(ended)) => {
            let class = ended.failure.as_ref().map_or("-", |failure| failure.class.name());
            format!("append ended {} {class} {}", ended.state, ended.command_exit_code)
        }
        Effect::Append(event) => format!("append {}", event.name()),
        other => format!("{other:?}"),
    }
}

fn table() -> String {
    let mut text = String::new();
    for (way, taken) in ways() {
        for (name, input) in inputs() {
            let (mut job, _) = walk(&taken);
            let stepped = job.step(AT, input);
            let effects = stepped.map_or("illegal".to_owned(), |effects| {
                effects.iter().map(shown).collect::<Vec<_>>().join(", ")
            });
            text += &format!("{way} + {name} -> {:?} [{effects}]\n", job.stage());
        }
    }
    text
}

#[test]
fn the_whole_table_is_as_recorded() {
    let recorded = include_str!("job_table.txt");
    let found = table();
    assert!(found == recorded, "the table changed; it is now:\n{found}");
}

#[test]
fn every_stage_is_in_the_table() {
    let seen: Vec<Stage> = ways().iter().map(|(_, taken)| walk(taken).0.stage()).collect();
    assert!(Stage::ALL.iter().all(|stage| seen.contains(stage)), "{seen:?}");
}

#[test]
fn a_journal_that_no_job_can_have_is_refused() {
    assert_eq!(Job::fold(&[]), Err(FoldError::Empty));
    assert_eq!(Job::fold(&[line(1, Event::Queued)]), Err(FoldError::NotCreated));
    let (_, mut journal) = job();
    journal.push(line(2, Event::Admitted));
    assert!(matches!(Job::fold(&journal), Err(FoldError::Illegal { seq: 2, .. })));
}

fn any_input() -> impl Strategy<Value = Input> {
    proptest::sample::select(inputs()).prop_map(|(_, input)| input)
}

/// Whatever happens, in any order, with the inputs that lead on mixed in so that every stage is reached.
fn any_life() -> impl Strategy<Value = Vec<Input>> {
    let way = proptest::sample::select(ways()).prop_map(|(_, taken)| taken);
    (way, proptest::collection::vec(any_input(), 0..12)).prop_map(|(mut way, more)| {
        way.extend(more);
        way
    })
}

proptest! {
    #[test]
    fn the_folded_journal_is_the_live_job(life in any_life()) {
        let (live, journal) = walk(&life);
        prop_assert_eq!(&Job::fold(&journal).unwrap(), &live);
        let texts = journal.iter().map(|line| serde_json::to_string(line).unwrap());
        let read: Vec<JournalLine> = texts.map(|t| serde_json::from_str(&t).unwrap()).collect();
        prop_assert_eq!(Job::fold(&read).unwrap(), live);
    }

    #[test]
    fn a_terminal_state_absorbs(life in any_life(), more in proptest::collection::vec(any_input(), 1..20)) {
        let (mut job, journal) = walk(&life);
        prop_assume!(job.stage() == Stage::Over);
        let ended = job.clone();
        for input in more {
            let effects = job.step(AT, input).unwrap_or_default();
            prop_assert!(effects.is_empty());
        }
        prop_assert_eq!(job, ended);
        let endings = journal.iter().filter(|line| line.event.name() == "ended");
        prop_assert_eq!(endings.count(), 1);
    }

    #[test]
    fn done_needs_a_result_and_is_never_what_was_cancelled_or_late(life in any_life()) {
        let (job, journal) = walk(&life);
        let place = |name: &str| journal.iter().rposition(|line| line.event.name() == name);
        if job.status().state == JobState::Done {
            prop_assert!(job.status().result_bytes.is_some());
            prop_assert_eq!(job.status().command_exit_code, Some(0));
            prop_assert!(place("cancel_requested").is_none() && place("deadline_reached").is_none());
        }
        if job.status().state.is_terminal() && job.status().state != JobState::Done {
            prop_assert!(job.status().failure.is_some());
            prop_assert!(job.status().command_exit_code != Some(0));
        }
    }

    #[test]
    fn the_journal_cut_after_any_line_is_a_job_that_a_dead_worker_ends(life in any_life(), keep in 1_usize..30) {
        let (_, mut journal) = walk(&life);
        journal.truncate(keep.min(journal.len()));
        let mut job = Job::fold(&journal).unwrap();
        job.step(AT, gone(None, false)).unwrap();
        prop_assert!(job.status().state.is_terminal());
        prop_assert!(job.status().state != JobState::Done || journal.iter().any(|l| l.event.name() == "ended"));
    }

    #[test]
    fn a_job_ends_from_wherever_it_stands_once_its_effects_are_answered(life in any_life()) {
        let (mut job, _) = walk(&life);
        let mut open = job.step(AT, cancel()).unwrap();
        if job.stage() == Stage::Launching {
            open = job.step(AT, started()).unwrap();
        }
        if job.stage() == Stage::Working {
            open = job.step(AT, ended()).unwrap();
        }
        if job.stage() == Stage::Collecting {
            open = job.step(AT, conclusion(Status::Ok, None, Some(1))).unwrap();
        }
        prop_assert!(job.stage() == Stage::Over);
        prop_assert!(open.is_empty() || open.last() == Some(&Effect::Settle));
    }
}

/// Which interactions were resolved, and with what, in a journal.
fn resolutions(journal: &[JournalLine]) -> Vec<(&str, Option<Decision>)> {
    let events = journal.iter().map(|line| &line.event);
    events
        .filter_map(|event| match event {
            Event::InteractionResolved { interaction_id, decision, .. } => {
                Some((interaction_id.as_str(), *decision))
            }
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn an_interaction_is_decided_once_and_none_outlives_its_job(life in any_life()) {
        let (job, journal) = walk(&life);
        let (resolutions, interactions) = (resolutions(&journal), &job.status().interactions);
        for interaction in interactions {
            let id = &interaction.interaction_id;
            prop_assert_eq!(interactions.iter().filter(|one| one.interaction_id == *id).count(), 1);
            let decisions: Vec<_> = resolutions.iter().filter(|(one, _)| one == id).collect();
            prop_assert!(decisions.len() <= 1, "{:?}", decisions);
            match decisions.first() {
                Some((_, decision)) => prop_assert_eq!(interaction.decision, *decision),
                None if job.stage() == Stage::Over => {
                    prop_assert_eq!(interaction.decision, Some(Decision::Expired));
                }
                None => prop_assert!(interaction.is_open() && interaction.decision.is_none()),
            }
            prop_assert_eq!(interaction.is_open(), interaction.resolved_at.is_none());
        }
        prop_assert!(resolutions.iter().all(|(id, _)| interactions.iter().any(|one| one.interaction_id == *id)));
        prop_assert!(job.stage() != Stage::Over || !interactions.iter().any(|one| one.is_open()));
    }
}

#[test]
fn a_server_is_started_then_a_session_opened_and_then_an_agent_runs() {
    let phase = |more: &[Input]| {
        let (mut job, _) = walk(&ways().into_iter().find(|way| way.0 == "launching").unwrap().1);
        more.iter().for_each(|input| drop(job.step(AT, input.clone()).unwrap()));
        job.status().phase
    };
    let named = Input::SessionNamed("s".into());
    assert_eq!(phase(&[begun(true)]), JobPhase::ServerStarting);
    assert_eq!(phase(&[begun(true), state()]), JobPhase::SessionCreating);
    assert_eq!(phase(&[begun(true), state(), named.clone()]), JobPhase::AgentRunning);
    assert_eq!(phase(&[begun(true), named.clone(), state()]), JobPhase::AgentRunning);
    assert_eq!(phase(&[begun(false), state()]), JobPhase::AgentRunning);
}

/// The keys of status v1: a promise, in its order.
const KEYS: &str = "schema_version job_id backend backend_version adapter_version repo_key repo_root \
    execution_root mode access access_enforcement network state phase created_at started_at \
    updated_at finished_at heartbeat_at worker_pid worker_identity containment \
    containment_survivors kill_skipped cancel_rung_reached backend_pid backend_session_id \
    backend_state capabilities_snapshot execution_owner model agent parent_job_id root_job_id \
    session_strategy group label hard_timeout_sec cancel_requested_at command_exit_code \
    backend_exit_code exit_kind result_bytes tokens usage_windows cost failure_reason failure \
    warnings interactions worktree attempt attempt_id attempt_state execution_token_hash \
    findings_status";

#[test]
fn statuses_round_trip_and_leave_nothing_out() {
    for (way, taken) in ways() {
        let (job, _) = walk(&taken);
        let value = serde_json::to_value(job.status()).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, KEYS.split_whitespace().collect::<Vec<_>>(), "{way}");
        let read = serde_json::from_value(value).unwrap();
        assert_eq!(job.status(), &read, "{way}");
    }
}

#[test]
fn the_backends_exit_is_kept_beside_the_commands() {
    let seen = BackendEnded { code: Some(3), ..BackendEnded::default() };
    let (mut job, _) = walk(&ways()[6].1);
    job.step(AT, Input::BackendEnded(Box::new(seen))).unwrap();
    job.step(AT, conclusion(Status::Failed, Some(FailureClass::Auth), None)).unwrap();
    assert_eq!(job.status().backend_exit_code, Some(3));
    assert_eq!(job.status().command_exit_code, Some(13));
}
