//! How a job ends: from what decided it and what was seen, to its terminal state. First that fits:
//! completion, cancel, deadline, failure, a dead worker.

use serde_json::Value;

use super::event::Ended;
use super::machine::{Decided, Stage};
use super::state::JobState;
use crate::envelope::{Status, SurvivorReport};
use crate::exit::FailureClass;
use crate::fact::{Tokens, Warning};
use crate::failure::Failure;
use crate::outcome::Limit;

/// What the engine made of a run, and what of it was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The envelope's status.
    pub status: Status,
    /// Why it is not ok.
    pub failure: Option<Failure>,
    /// Bytes of the result that was saved; `None`: none was, or it could not be.
    pub result_bytes: Option<u64>,
    /// Why the result could not be saved.
    pub unsaved: Option<String>,
    /// What the vendor says it used.
    pub tokens: Tokens,
    /// The vendor's quota windows, verbatim.
    pub usage_windows: Option<Value>,
    /// What the vendor says it costs.
    pub cost: Option<f64>,
    /// All warnings of the run.
    pub warnings: Vec<Warning>,
}

/// What was found where a worker died.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// How it is known, in words.
    pub reason: String,
    /// Bytes of a result that is on the disk.
    pub result_bytes: Option<u64>,
    /// Whether the run was judged ok before the worker died, or its captured stream is complete.
    pub is_proven: bool,
    /// What is still alive of its tree; `None`: nobody could look.
    pub survivors: Option<Vec<SurvivorReport>>,
    /// Warnings known up to then.
    pub warnings: Vec<Warning>,
    /// What the vendor had reported.
    pub tokens: Tokens,
}

/// The ending of a run that was judged. Nothing is done without a result, and what was cancelled or
/// out of time never becomes done.
pub(super) fn concluded(decided: Option<Decided>, conclusion: Conclusion) -> Ended {
    let Conclusion { status, failure, result_bytes, unsaved, .. } = conclusion;
    let (state, failure) = match (decided, status, unsaved) {
        (Some(Decided::Cancel), Status::Ok, _) => (JobState::Cancelled, Some(cancelled())),
        (Some(Decided::Deadline(limit)), Status::Ok, _) => (JobState::TimedOut, Some(late(limit))),
        (_, Status::Ok, None) if result_bytes.is_some() => (JobState::Done, None),
        (_, Status::Ok, reason) => {
            let reason = reason.unwrap_or_else(|| "there is none".to_owned());
            let message = format!("the backend completed, but its result is not saved: {reason}");
            (JobState::Failed, Some(Failure::seen(FailureClass::NoResult, message)))
        }
        (_, Status::Cancelled, _) => (JobState::Cancelled, Some(failure.unwrap_or_else(cancelled))),
        (_, Status::Failed, _) => {
            let failure = failure.unwrap_or_else(|| {
                let message = "the run failed without a reason".to_owned();
                Failure::seen(FailureClass::BackendExecutionFailed, message)
            });
            (state_of(failure.class), Some(failure))
        }
    };
    Ended {
        result_bytes,
        tokens: conclusion.tokens,
        usage_windows: conclusion.usage_windows,
        cost: conclusion.cost,
        warnings: conclusion.warnings,
        ..ended(state, failure)
    }
}

/// The ending of a job whose backend was never started.
pub(super) fn refused(decided: Option<Decided>, failure: Failure) -> Ended {
    match decided {
        Some(Decided::Cancel) => cancelled_before_start(),
        _ => ended(state_of(failure.class), Some(failure)),
    }
}

/// The ending of a job that was cancelled before its backend was started.
pub(super) fn cancelled_before_start() -> Ended {
    let message = "the job was cancelled before its backend was started".to_owned();
    ended(JobState::Cancelled, Some(Failure::seen(FailureClass::Cancelled, message)))
}

/// The ending of a job whose worker died. What was journaled first still decides.
pub(super) fn lost(stage: Stage, decided: Option<Decided>, loss: Loss) -> Ended {
    let alive = loss.survivors.iter().flatten().map(|s| format!("{} ({})", s.comm, s.pid));
    let alive = alive.collect::<Vec<_>>().join(", ");
    let (state, failure) = match decided {
        Some(Decided::Completion) if loss.is_proven && loss.result_bytes.is_some() => {
            (JobState::Done, None)
        }
        Some(Decided::Cancel) if alive.is_empty() => (JobState::Cancelled, Some(cancelled())),
        Some(Decided::Cancel) => {
            let message = format!("the cancel could not be confirmed; alive: {alive}");
            let failure = Failure::seen(FailureClass::CancelUnconfirmed, message);
            (JobState::Failed, Some(failure))
        }
        Some(Decided::Deadline(limit)) => (JobState::TimedOut, Some(late(limit))),
        _ if stage == Stage::Made => {
            let message =
                format!("{}; no worker ever had the job; nothing was consumed", loss.reason);
            (JobState::Failed, Some(Failure::seen(FailureClass::WorkerLaunch, message)))
        }
        _ => {
            let failure = Failure::seen(FailureClass::WorkerLost, loss.reason.clone());
            (JobState::Interrupted, Some(failure))
        }
    };
    let mut warnings = loss.warnings;
    if state != JobState::Interrupted && stage != Stage::Made {
        warnings.push(Warning::new("worker_lost", loss.reason));
    }
    if !alive.is_empty() {
        let message = format!("processes of the job are still alive: {alive}");
        warnings.push(Warning::new("survivors", message));
    }
    Ended {
        result_bytes: loss.result_bytes,
        containment_survivors: loss.survivors,
        tokens: loss.tokens,
        warnings,
        ..ended(state, failure)
    }
}

fn state_of(class: FailureClass) -> JobState {
    match class {
        FailureClass::Timeout => JobState::TimedOut,
        FailureClass::Cancelled => JobState::Cancelled,
        FailureClass::WorkerLost => JobState::Interrupted,
        _ => JobState::Failed,
    }
}

fn cancelled() -> Failure {
    let message = "the job was cancelled before it completed".to_owned();
    Failure::seen(FailureClass::Cancelled, message)
}

fn late(limit: Limit) -> Failure {
    let name = match limit {
        Limit::Startup => "startup",
        Limit::Idle => "idle",
        Limit::Hard => "hard",
    };
    Failure::seen(FailureClass::Timeout, format!("the {name} deadline ended the job"))
}

fn ended(state: JobState, failure: Option<Failure>) -> Ended {
    Ended {
        state,
        command_exit_code: state.exit_code(failure.as_ref().map(|failure| failure.class)),
        failure,
        result_bytes: None,
        containment_survivors: None,
        tokens: Tokens::default(),
        usage_windows: None,
        cost: None,
        warnings: Vec::new(),
    }
}
