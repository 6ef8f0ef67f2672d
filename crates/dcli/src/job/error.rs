//! Why a command over jobs has no answer, and the exit code that says so.

use std::path::PathBuf;

use dcli_core::envelope::ErrorCode;
use dcli_core::exit::{FailureClass, NOT_FOUND, NOT_TERMINAL};
use dcli_core::job::id::{InteractionId, JobId};
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;
use dcli_core::report::ErrorReport;
use thiserror::Error;

use crate::exec::Refusal;
use crate::store::job_dir::RecordError;
use crate::store::jobs::JobsError;
use crate::store::lines::JournalError;
use crate::store::lock::LockError;
use crate::store::queue::AdmissionError;
use crate::store::root::RootError;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum JobError {
    /// The job's directory is not there.
    #[error("job {id} does not exist")]
    NotFound {
        /// Which.
        id: JobId,
    },
    /// The job has not ended.
    #[error("job {id} is {state}")]
    NotTerminal {
        /// Which.
        id: JobId,
        /// Where it stands.
        state: JobState,
    },
    /// The job ended without a result.
    #[error("job {id} is {state} and has no result")]
    NoResult {
        /// Which.
        id: JobId,
        /// How it ended.
        state: JobState,
    },
    /// The job ended otherwise than done.
    #[error("job {} is {}: {}", .status.job_id, .status.state, .status.failure_reason.as_deref().unwrap_or("no reason is known"))]
    NotDone {
        /// How it ended.
        status: Box<Status>,
    },
    /// The job never asked that.
    #[error("job {id} has no interaction {interaction}")]
    NoInteraction {
        /// Which.
        id: JobId,
        /// What it is said to have asked.
        interaction: InteractionId,
    },
    /// Nobody can answer it, or not from here.
    #[error("{message}")]
    Unanswerable {
        /// Which job asked.
        id: JobId,
        /// Why not.
        message: String,
    },
    /// An answer is there, and the job's worker has not taken it yet.
    #[error("the answer to {interaction} of job {id} was handed over, and is not taken yet")]
    Untaken {
        /// Which.
        id: JobId,
        /// What it answers.
        interaction: String,
    },
    /// A group without jobs.
    #[error("{message}")]
    NoGroup {
        /// Which.
        message: String,
    },
    /// The job was asked to end, and its worker was killed, and still it is not over.
    #[error(
        "job {id} was asked to end and its worker was killed, but its end could not be confirmed"
    )]
    Unending {
        /// Which.
        id: JobId,
    },
    /// The job's record cannot be read.
    #[error("the record of job {id} cannot be read: {reason}")]
    Unreadable {
        /// Which.
        id: JobId,
        /// Why.
        reason: String,
    },
    /// A newer dcli wrote the job's record.
    #[error("the record of job {id} is newer than this dcli: {reason}")]
    Newer {
        /// Which.
        id: JobId,
        /// Which file, and its version.
        reason: String,
    },
    /// Which jobs there are cannot be seen, so that nothing is proven about any.
    #[error("{} cannot be read: {source}", .path.display())]
    Unlisted {
        /// Which directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The state root cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A lock was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The request was refused; no job was made.
    #[error("{message}")]
    Refused {
        /// The envelope's code for it.
        code: ErrorCode,
        /// What was wrong.
        message: String,
    },
    /// The request is valid, and this backend cannot serve it; no job was made.
    #[error("{message}")]
    Unsupported {
        /// What it does not have, and what to do.
        message: String,
    },
    /// All places are taken.
    #[error("{message}")]
    NoPlace {
        /// Which, and who is waiting.
        message: String,
    },
    /// No worker could be started.
    #[error("{message}")]
    WorkerLaunch {
        /// What was wrong.
        message: String,
        /// The job, where one was made.
        job: Option<JobId>,
    },
    /// What is asked is not for a process inside a job.
    #[error("{message}")]
    Inside {
        /// What is not done.
        message: String,
    },
    /// Something that was asked for is wrong; nothing was done.
    #[error("{message}")]
    Usage {
        /// What.
        message: String,
    },
    /// A file could not be written or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// dcli itself went wrong.
    #[error("{message}")]
    Internal {
        /// How.
        message: String,
    },
}

impl JobError {
    /// A request that is refused before there is a job.
    pub(super) fn refused(refusal: Refusal) -> Self {
        let Refusal { code, message, is_unsupported } = refusal;
        match is_unsupported {
            true => Self::Unsupported { message },
            false => Self::Refused { code, message },
        }
    }

    /// A file that could not be written or read.
    pub(super) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// A job's record that cannot be used.
    pub(super) fn record(id: &JobId, error: RecordError) -> Self {
        match error {
            RecordError::Absent(id) => Self::NotFound { id },
            error if error.is_newer() => Self::Newer { id: id.clone(), reason: error.to_string() },
            error => Self::Unreadable { id: id.clone(), reason: error.to_string() },
        }
    }

    /// Jobs that cannot be looked for.
    pub(super) fn jobs(error: JobsError) -> Self {
        match error {
            JobsError::Absent(id) => Self::NotFound { id },
            JobsError::Unreadable { path, source } => Self::Unlisted { path, source },
        }
    }

    /// Places that nothing can be said about.
    pub(super) fn admission(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Lock(error) => Self::Lock(error),
            AdmissionError::Jobs(error) => Self::jobs(error),
            AdmissionError::Io { path, source } => Self::Io { path, source },
        }
    }

    /// A journal that cannot be used.
    pub(super) fn journal(id: &JobId, error: &JournalError) -> Self {
        Self::Unreadable { id: id.clone(), reason: error.to_string() }
    }

    /// What the command prints in place of its answer.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let message = self.to_string();
        let class = |class| ErrorReport::of_class(class, message.clone());
        let coded = |code, exit_code| ErrorReport::of_code(code, exit_code, message.clone());
        match self {
            Self::NotFound { .. } | Self::NoGroup { .. } => {
                coded("not_found", NOT_FOUND).hint("see 'dcli list --all-repos'")
            }
            Self::NotTerminal { id, .. } => {
                let hint = format!("wait for it with 'dcli wait {id}'");
                coded("not_terminal", NOT_TERMINAL).hint(hint)
            }
            Self::NoInteraction { id, .. } => coded("not_found", NOT_FOUND).hint(asked_by(id)),
            Self::Unanswerable { id, .. } => {
                class(FailureClass::PermissionOrSandbox).coded("not_answerable").hint(asked_by(id))
            }
            Self::Untaken { id, .. } => coded("not_taken", NOT_TERMINAL).hint(asked_by(id)),
            Self::NoResult { id, .. } => class(FailureClass::NoResult).hint(format!(
                "see 'dcli status {id}', and what its backend did with 'dcli tail {id}'"
            )),
            Self::NotDone { status } => not_done(status, message),
            Self::Unending { id } => {
                class(FailureClass::CancelUnconfirmed).hint(format!("see 'dcli debug {id}'"))
            }
            Self::Unreadable { id, .. } => class(FailureClass::Lock)
                .coded("unreadable_record")
                .hint(format!("nothing was changed; see 'dcli debug {id}'")),
            Self::Newer { .. } => class(FailureClass::Environment)
                .coded("newer_format")
                .hint("nothing was changed; use the newer dcli"),
            Self::Unlisted { .. } => class(FailureClass::Lock)
                .coded("unreadable_record")
                .hint("nothing is known of what is in it, and nothing was changed"),
            Self::Root(error) => class(error.class()).coded("state_root").hint(error.remedy()),
            Self::Lock(error) => class(error.class()).hint("nothing was done; try again"),
            Self::Refused { code, .. } => {
                class(code.class()).coded(&code_name(*code)).hint("no job was created")
            }
            Self::Unsupported { .. } => class(FailureClass::UnsupportedCapability),
            Self::NoPlace { .. } => class(FailureClass::Lock)
                .coded("no_place")
                .hint("no job was created; wait for one to end, use 'dcli submit', or --queue"),
            Self::WorkerLaunch { job, .. } => {
                let report = class(FailureClass::WorkerLaunch);
                match job {
                    Some(id) => report.hint(format!("see 'dcli debug {id}'")).with_job(),
                    None => report.hint("no job was created"),
                }
            }
            Self::Inside { .. } => class(FailureClass::PermissionOrSandbox)
                .hint("nothing was done; --delegate gives a job a store of its own"),
            Self::Usage { .. } => class(FailureClass::UsageError).hint("nothing was done"),
            Self::Io { source, .. } if is_denial(source) => {
                class(FailureClass::PermissionOrSandbox).coded("state_root")
            }
            Self::Io { .. } => class(FailureClass::NoResult).coded("not_saved"),
            Self::Internal { .. } => class(FailureClass::Internal),
        }
    }
}

fn asked_by(id: &JobId) -> String {
    format!("see 'dcli interactions {id}'")
}

fn not_done(status: &Status, message: String) -> ErrorReport {
    let failed = status.failure.as_ref().map(|failure| failure.class);
    let report = match failed {
        Some(failed) => ErrorReport::of_class(failed, message).coded(status.state.name()),
        None => ErrorReport::of_code(status.state.name(), status.state.exit_code(failed), message),
    };
    let id = &status.job_id;
    report.hint(match status.result_bytes {
        Some(_) => format!("what it left is read with 'dcli read {id} --partial'"),
        None => format!("it left no result; see 'dcli status {id}'"),
    })
}

/// What a directory that may not be written answers.
fn is_denial(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
    )
}

fn code_name(code: ErrorCode) -> String {
    serde_json::to_value(code)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
