//! Laws of the job machine, and its whole Stage × Input table as one snapshot.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use dcli_core::envelope::{AccessEnforcement, ContainmentReport, Status, SurvivorReport};
use dcli_core::executor::access::Access;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::job::event::{
    BackendEnded, BackendStarted, Created, Event, JournalLine, SCHEMA_VERSION, WorkerIdentity,
};
use dcli_core::job::id::{JobId, RepoKey};
use dcli_core::job::machine::{Effect, FoldError, Input, Job, Stage};
use dcli_core::job::state::{JobState, Mode, Network, SessionStrategy};
use dcli_core::job::verdict::{Conclusion, Loss};
use dcli_core::outcome::Limit;
use proptest::prelude::*;

const AT: &str = "2026-11-30T19:04:00.000Z";

fn created() -> Created {
    let job_id = JobId::new("20261130T190400Z", [1; 8]).unwrap();
    Created {
        job_id: job_id.clone(),
        backend: "codex".into(),
        backend_version: None,
        adapter_version: "0.1.0".into(),
        repo_key: RepoKey::from_digest([7; 32]),
        repo_root: None,
        execution_root: "/w".into(),
        execution_owner: job_id.clone(),
        mode: Mode::Run,
        access: Access::ReadOnly,
        network: Network::Unknown,
        capabilities_snapshot: None,
        model: None,
        agent: None,
        parent_job_id: None,
        root_job_id: job_id,
        session_strategy: SessionStrategy::New,
        group: None,
        label: None,
        hard_timeout_sec: 1800.0,
        warnings: Vec::new(),
    }
}

fn worker() -> Input {
    let boot_id = "b".to_owned();
    Input::WorkerStarted(WorkerIdentity { pid: 7, start_time: 1, boot_id, pid_namespace: 2 })
}

fn started() -> Input {
    Input::BackendStarted(Box::new(BackendStarted {
        backend_pid: Some(8),
        backend_version: Some("1.2.3".into()),
        containment: ContainmentReport { kind: "pid-namespace".into(), degraded: false },
        access_enforcement: AccessEnforcement { kind: "none".into(), verified: false },
    }))
}

fn conclusion(status: Status, failure: Option<FailureClass>, bytes: Option<u64>) -> Input {
    Input::Concluded(Box::new(Conclusion {
        status,
        failure: failure.map(|class| Failure::seen(class, "as seen".into())),
        result_bytes: bytes,
        unsaved: (status == Status::Ok && bytes.is_none()).then(|| "disk full".into()),
        tokens: dcli_core::fact::Tokens::default(),
        usage_windows: None,
        cost: None,
        warnings: Vec::new(),
    }))
}

fn gone(result_bytes: Option<u64>, alive: bool) -> Input {
    let survivor = || SurvivorReport { pid: 9, start_time: 1, comm: "sh".into() };
    let survivors = Some(alive.then(survivor).into_iter().collect());
    let reason = "the worker died".to_owned();
    let is_proven = result_bytes == Some(3);
    Input::WorkerGone(Box::new(Loss {
        reason,
        result_bytes,
        is_proven,
        survivors,
        ..Loss::default()
    }))
}

fn cancel() -> Input {
    Input::CancelAsked { by: "user".into() }
}

fn ended() -> Input {
    Input::BackendEnded(Box::default())
}

/// Ways through a job's life, by name.
fn ways() -> Vec<(&'static str, Vec<Input>)> {
    let made = || Input::AttemptMade { attempt_id: "a".into() };
    let launching = || vec![worker(), Input::PlaceTaken, made()];
    let working = || [launching(), vec![started()]].concat();
    let deadline = || Input::DeadlineReached(Limit::Hard);
    let with = |more: Vec<Input>| [working(), more].concat();
    let done = conclusion(Status::Ok, None, Some(3));
    vec![
        ("made", vec![]),
        ("claimed", vec![worker()]),
        ("waiting", vec![worker(), Input::PlaceRefused]),
        ("admitted", vec![worker(), Input::PlaceTaken]),
        ("launching", launching()),
        ("launching, cancel", [launching(), vec![cancel()]].concat()),
        ("working", working()),
        ("working, completion", with(vec![Input::Completed])),
        ("working, cancel", with(vec![cancel()])),
        ("working, deadline", with(vec![deadline()])),
        ("collecting", with(vec![ended()])),
        ("collecting, completion", with(vec![Input::Completed, ended()])),
        ("collecting, cancel", with(vec![cancel(), ended()])),
        ("collecting, deadline", with(vec![deadline(), ended()])),
        ("over", with(vec![Input::Completed, ended(), done])),
    ]
}

fn inputs() -> Vec<(&'static str, Input)> {
    let refused = Failure::seen(FailureClass::WorkerLaunch, "no init".into());
    vec![
        ("worker started", worker()),
        ("place refused", Input::PlaceRefused),
        ("place taken", Input::PlaceTaken),
        ("attempt made", Input::AttemptMade { attempt_id: "b".into() }),
        ("refused", Input::Refused(Box::new(refused))),
        ("backend started", started()),
        ("session named", Input::SessionNamed("s".into())),
        ("completed", Input::Completed),
        ("resumed", Input::Resumed),
        ("cancel asked", cancel()),
        ("deadline", Input::DeadlineReached(Limit::Idle)),
        ("backend ended", ended()),
        ("concluded ok", conclusion(Status::Ok, None, Some(3))),
        ("concluded ok, unsaved", conclusion(Status::Ok, None, None)),
        ("concluded failed", conclusion(Status::Failed, Some(FailureClass::Auth), None)),
        ("concluded late", conclusion(Status::Failed, Some(FailureClass::Timeout), None)),
        ("concluded cancelled", conclusion(Status::Cancelled, Some(FailureClass::Cancelled), None)),
        ("worker gone", gone(None, false)),
        ("worker gone, result there", gone(Some(3), false)),
        ("worker gone, a part there", gone(Some(1), false)),
        ("worker gone, tree alive", gone(None, true)),
    ]
}

fn job() -> (Job, Vec<JournalLine>) {
    let (job, event) = Job::new(AT, created());
    (job, vec![line(1, event)])
}

fn line(seq: u64, event: Event) -> JournalLine {
    JournalLine { schema_version: SCHEMA_VERSION, seq, at: AT.into(), event }
}

fn walk(inputs: &[Input]) -> (Job, Vec<JournalLine>) {
    let (mut job, mut journal) = job();
    for input in inputs {
        for effect in job.step(AT, input.clone()).unwrap_or_default() {
            keep(&mut journal, effect);
        }
    }
    (job, journal)
}

fn keep(journal: &mut Vec<JournalLine>, effect: Effect) {
    if let Effect::Append(event) = effect {
        journal.push(line(journal.len() as u64 + 1, event));
    }
}

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
