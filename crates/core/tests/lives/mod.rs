//! Lives of a job: the inputs that may come, the ways through them, and what is kept of each.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use dcli_core::envelope::{AccessEnforcement, ContainmentReport, Status, SurvivorReport};
use dcli_core::executor::access::Access;
use dcli_core::exit::FailureClass;
use dcli_core::fact::{InteractionKind, InteractionOutcome};
use dcli_core::failure::Failure;
use dcli_core::interaction::Decision;
use dcli_core::job::event::{
    BackendStarted, Created, Event, JournalLine, SCHEMA_VERSION, WorkerIdentity,
};
use dcli_core::job::id::{JobId, RepoKey};
use dcli_core::job::machine::{Effect, Input, Job};
use dcli_core::job::state::{Mode, Network, SessionStrategy};
use dcli_core::job::verdict::{Conclusion, Loss};
use dcli_core::outcome::Limit;
use serde_json::json;

pub(crate) const AT: &str = "2026-11-30T19:04:00.000Z";

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

pub(crate) fn started() -> Input {
    begun(false)
}

pub(crate) fn begun(is_server: bool) -> Input {
    Input::BackendStarted(Box::new(BackendStarted {
        backend_pid: Some(8),
        backend_version: Some("1.2.3".into()),
        containment: ContainmentReport { kind: "pid-namespace".into(), degraded: false },
        access_enforcement: AccessEnforcement { kind: "none".into(), verified: false },
        is_server,
    }))
}

pub(crate) fn conclusion(
    status: Status,
    failure: Option<FailureClass>,
    bytes: Option<u64>,
) -> Input {
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

pub(crate) fn gone(result_bytes: Option<u64>, alive: bool) -> Input {
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

pub(crate) fn cancel() -> Input {
    Input::CancelAsked { by: "user".into() }
}

pub(crate) fn ended() -> Input {
    Input::BackendEnded(Box::default())
}

pub(crate) fn asked(id: &str) -> Input {
    let detail = json!({"permission": "bash", "patterns": ["git push"]});
    let outcome = Some(InteractionOutcome::AwaitingAuthorizedResponder);
    let kind = InteractionKind::Permission;
    Input::InteractionPending { interaction_id: id.into(), kind, detail, outcome }
}

pub(crate) fn resolved(id: &str, decision: Decision) -> Input {
    Input::InteractionResolved {
        interaction_id: id.into(),
        outcome: InteractionOutcome::AwaitingAuthorizedResponder,
        decision: Some(decision),
        responder: Some("uid 1000".into()),
    }
}

pub(crate) fn state() -> Input {
    Input::BackendState(json!({"schema_version": 1}))
}

/// Ways through a job's life, by name.
pub(crate) fn ways() -> Vec<(&'static str, Vec<Input>)> {
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
        ("working, asked", with(vec![asked("i1")])),
        ("working, answered", with(vec![asked("i1"), resolved("i1", Decision::Allow)])),
        ("starting a server", [launching(), vec![begun(true)]].concat()),
        ("opening a session", [launching(), vec![begun(true), state()]].concat()),
        ("working, cancel", with(vec![cancel()])),
        ("working, deadline", with(vec![deadline()])),
        ("collecting", with(vec![ended()])),
        ("collecting, completion", with(vec![Input::Completed, ended()])),
        ("collecting, cancel", with(vec![cancel(), ended()])),
        ("collecting, deadline", with(vec![deadline(), ended()])),
        ("over", with(vec![Input::Completed, ended(), done])),
    ]
}

pub(crate) fn inputs() -> Vec<(&'static str, Input)> {
    let refused = Failure::seen(FailureClass::WorkerLaunch, "no init".into());
    vec![
        ("worker started", worker()),
        ("place refused", Input::PlaceRefused),
        ("place taken", Input::PlaceTaken),
        ("attempt made", Input::AttemptMade { attempt_id: "b".into() }),
        ("refused", Input::Refused(Box::new(refused))),
        ("backend started", started()),
        ("session named", Input::SessionNamed("s".into())),
        ("backend state", state()),
        ("asked", asked("i1")),
        ("asked again", asked("i2")),
        ("allowed", resolved("i1", Decision::Allow)),
        ("expired", resolved("i1", Decision::Expired)),
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

pub(crate) fn job() -> (Job, Vec<JournalLine>) {
    let (job, event) = Job::new(AT, created());
    (job, vec![line(1, event)])
}

pub(crate) fn line(seq: u64, event: Event) -> JournalLine {
    JournalLine { schema_version: SCHEMA_VERSION, seq, at: AT.into(), event }
}

pub(crate) fn walk(inputs: &[Input]) -> (Job, Vec<JournalLine>) {
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
