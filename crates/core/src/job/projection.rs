//! The projection of a journal: what each event changes in the status of its job.

use super::event::{BackendEnded, BackendStarted, Ended, Event};
use super::state::{AttemptState, JobPhase, JobState};
use super::status::Status;
use crate::envelope::ExitKind;
use crate::fact::InteractionOutcome;
use crate::interaction::{Decision, Interaction};

impl Status {
    /// Takes one event in.
    pub(super) fn record(&mut self, at: &str, event: &Event) {
        let status = self;
        match event {
            Event::Created(_) => {}
            Event::WorkerStarted { worker } => {
                status.worker_pid = Some(worker.pid);
                status.worker_identity = Some(worker.clone());
                status.phase = JobPhase::Preparing;
            }
            Event::Queued => {
                (status.state, status.phase) = (JobState::Queued, JobPhase::Queued);
            }
            Event::Admitted => status.phase = JobPhase::Preparing,
            Event::AttemptCreated { attempt, attempt_id } => {
                status.attempt = *attempt;
                status.attempt_id = Some(attempt_id.clone());
                status.attempt_state = Some(AttemptState::Launching);
                status.phase = JobPhase::AgentStarting;
            }
            Event::BackendStarted(started) => record_start(status, at, started),
            Event::SessionNamed { backend_session_id } => {
                status.backend_session_id = Some(backend_session_id.clone());
                if matches!(status.phase, JobPhase::ServerStarting | JobPhase::SessionCreating) {
                    status.phase = JobPhase::AgentRunning;
                }
            }
            Event::BackendState { state } => {
                status.backend_state = Some(state.clone());
                if status.phase == JobPhase::ServerStarting {
                    status.phase = JobPhase::SessionCreating;
                }
            }
            Event::InteractionPending { interaction_id, kind, detail, outcome } => {
                status.interactions.push(Interaction {
                    interaction_id: interaction_id.clone(),
                    kind: *kind,
                    detail: detail.clone(),
                    outcome: *outcome,
                    decision: None,
                    responder: None,
                    created_at: at.to_owned(),
                    resolved_at: None,
                });
            }
            Event::InteractionResolved { .. } => record_resolution(status, at, event),
            Event::CompletionObserved => {
                status.phase = JobPhase::ResultCollecting;
            }
            Event::CompletionWithdrawn => {
                status.phase = JobPhase::AgentRunning;
            }
            Event::CancelRequested { .. } => {
                status.cancel_requested_at = Some(at.to_owned());
            }
            Event::DeadlineReached { .. } => {}
            Event::BackendEnded(ended) => record_tree(status, ended),
            Event::Ended(ended) => record_end(status, at, ended),
        }
    }
}

/// How many interactions that nobody had to be there for stay in the status: the newest. All of them
/// are in the journal.
const KEPT_DECIDED: usize = 200;

/// What a rule, the access or nobody decided goes when there is too much of it, the oldest first.
fn forget_decided(status: &mut Status) {
    let is_minor = |one: &Interaction| {
        !one.is_open() && one.outcome != Some(InteractionOutcome::AwaitingAuthorizedResponder)
    };
    if status.interactions.iter().filter(|one| is_minor(one)).count() > KEPT_DECIDED {
        let oldest = status.interactions.iter().position(is_minor);
        oldest.map(|at| status.interactions.remove(at));
    }
}

fn record_resolution(status: &mut Status, at: &str, event: &Event) {
    let Event::InteractionResolved { interaction_id, outcome, decision, responder } = event else {
        return;
    };
    let mut open = status.interactions.iter_mut();
    if let Some(interaction) = open.find(|one| one.interaction_id == *interaction_id) {
        interaction.outcome = Some(*outcome);
        interaction.decision = *decision;
        interaction.responder.clone_from(responder);
        interaction.resolved_at = Some(at.to_owned());
    }
    forget_decided(status);
}

fn record_start(status: &mut Status, at: &str, started: &BackendStarted) {
    let phase = if started.is_server { JobPhase::ServerStarting } else { JobPhase::AgentRunning };
    (status.state, status.phase) = (JobState::Running, phase);
    status.attempt_state = Some(AttemptState::Running);
    status.started_at = Some(at.to_owned());
    status.backend_pid = started.backend_pid;
    status.containment = Some(started.containment.clone());
    status.access_enforcement = Some(started.access_enforcement.clone());
    if started.backend_version.is_some() {
        status.backend_version.clone_from(&started.backend_version);
    }
}

fn record_tree(status: &mut Status, ended: &BackendEnded) {
    status.phase = JobPhase::ResultCollecting;
    status.backend_exit_code = ended.code;
    status.exit_kind = ended.exit_kind;
    status.cancel_rung_reached = ended.cancel_rung_reached;
    status.containment_survivors.clone_from(&ended.containment_survivors);
    status.kill_skipped = ended.kill_skipped;
    if ended.backend_session_id.is_some() {
        status.backend_session_id.clone_from(&ended.backend_session_id);
    }
}

fn record_end(status: &mut Status, at: &str, ended: &Ended) {
    (status.state, status.phase) = (ended.state, JobPhase::Terminal);
    status.finished_at = Some(at.to_owned());
    status.command_exit_code = Some(ended.command_exit_code);
    status.failure_reason = ended
        .failure
        .as_ref()
        .map(|failure| failure.message.lines().next().unwrap_or_default().to_owned());
    status.failure.clone_from(&ended.failure);
    status.result_bytes = ended.result_bytes;
    status.tokens = ended.tokens;
    status.usage_windows.clone_from(&ended.usage_windows);
    status.cost = ended.cost;
    // What the caller was to know before the run is true after it.
    for warning in &ended.warnings {
        if !status.warnings.contains(warning) {
            status.warnings.push(warning.clone());
        }
    }
    if status.attempt_state.is_some() {
        status.attempt_state = Some(AttemptState::Terminal);
    }
    if status.started_at.is_some() {
        // Nobody saw how the backend of a dead worker ended.
        status.exit_kind = status.exit_kind.or(Some(ExitKind::Lost));
    }
    for open in status.interactions.iter_mut().filter(|one| one.is_open()) {
        open.decision = Some(Decision::Expired);
        open.resolved_at = Some(at.to_owned());
    }
    if ended.containment_survivors.is_some() {
        status.containment_survivors.clone_from(&ended.containment_survivors);
    }
}
