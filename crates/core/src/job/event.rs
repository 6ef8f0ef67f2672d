//! The journal of a job: what happened to it, in order, one event a line. All that is known of a
//! job follows from its journal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{GroupName, JobId, Label, RepoKey};
use super::state::{JobState, KillSkipped, Mode, Network, SessionStrategy};
use crate::envelope::{AccessEnforcement, ContainmentReport, ExitKind, SurvivorReport};
use crate::executor::access::Access;
use crate::executor::record::RungKind;
use crate::fact::{InteractionKind, InteractionOutcome, Tokens, Warning};
use crate::failure::Failure;
use crate::interaction::Decision;
use crate::outcome::Limit;

/// Version of the shape of a [`JournalLine`].
pub const SCHEMA_VERSION: u32 = 1;

/// Which process a worker is: a pid says nothing outside its boot and namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerIdentity {
    /// Process id in its own namespace.
    pub pid: u32,
    /// Clock ticks since boot (proc(5), field 22 of stat).
    pub start_time: u64,
    /// The kernel's boot id.
    pub boot_id: String,
    /// Inode of the pid namespace.
    pub pid_namespace: u64,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// Whose journal this is.
    pub job_id: JobId,
    /// Which backend runs it.
    pub backend: String,
    /// Its version where it was asked.
    pub backend_version: Option<String>,
    /// The version of dcli that made the job.
    pub adapter_version: String,
    /// The repository it belongs to.
    pub repo_key: RepoKey,
    /// The root of the working tree; `None` outside a repository.
    pub repo_root: Option<String>,
    /// The directory it works in.
    pub execution_root: String,
    /// The job whose execution root that is.
    pub execution_owner: JobId,
    /// What it is for.
    pub mode: Mode,
    /// What it may change.
    pub access: Access,
    /// What is known about its way to the network.
    pub network: Network,
    /// What the backend could do when the job was made.
    pub capabilities_snapshot: Option<Value>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The backend's own named agent.
    pub agent: Option<String>,
    /// The job that asked for this one.
    pub parent_job_id: Option<JobId>,
    /// The first job of that line; this one where there is none.
    pub root_job_id: JobId,
    /// How its session comes to be.
    pub session_strategy: SessionStrategy,
    /// Its group.
    pub group: Option<GroupName>,
    /// The caller's words for it.
    pub label: Option<Label>,
    /// The most seconds it may run.
    pub hard_timeout_sec: f64,
    /// What the caller should know already.
    pub warnings: Vec<Warning>,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackendStarted {
    /// The leader's pid, as the supervisor sees it.
    pub backend_pid: Option<u32>,
    /// Its version where it was asked.
    pub backend_version: Option<String>,
    /// What holds the tree together.
    pub containment: ContainmentReport,
    /// Who enforces the access.
    pub access_enforcement: AccessEnforcement,
    /// Whether it is a server, on which a session is still to be opened.
    #[serde(default)]
    pub is_server: bool,
}

/// How the backend's tree ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendEnded {
    /// The leader's exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it ended.
    pub exit_kind: Option<ExitKind>,
    /// The last rung of the cancel ladder that was climbed.
    pub cancel_rung_reached: Option<RungKind>,
    /// What could not be ended; `None`: no tree kill ran.
    pub containment_survivors: Option<Vec<SurvivorReport>>,
    /// Why no tree kill ran.
    pub kill_skipped: Option<KillSkipped>,
    /// The backend's own session id.
    pub backend_session_id: Option<String>,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// A terminal state.
    pub state: JobState,
    /// What a command that waited for it ends with.
    pub command_exit_code: u8,
    /// Why it did not do what was asked.
    pub failure: Option<Failure>,
    /// Bytes of `result.md`; `None` where there is none.
    pub result_bytes: Option<u64>,
    /// What is still alive of its tree, where that was found out after the worker's death.
    pub containment_survivors: Option<Vec<SurvivorReport>>,
    /// What the vendor says it used.
    pub tokens: Tokens,
    /// The vendor's quota windows, verbatim.
    pub usage_windows: Option<Value>,
    /// What the vendor says it costs.
    pub cost: Option<f64>,
    /// All warnings of the run.
    pub warnings: Vec<Warning>,
}

/// One thing that happened to a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// It was made.
    Created(Box<Created>),
    /// A worker has it.
    WorkerStarted {
        /// Who.
        worker: WorkerIdentity,
    },
    /// It waits for a place.
    Queued,
    /// It has one.
    Admitted,
    /// An attempt has its directory.
    AttemptCreated {
        /// Counts from 1.
        attempt: u32,
        /// A name for it that no other attempt has.
        attempt_id: String,
    },
    /// The backend runs.
    BackendStarted(Box<BackendStarted>),
    /// The backend named its session.
    SessionNamed {
        /// Its name.
        backend_session_id: String,
    },
    /// What this backend alone has, as far as it is known now.
    BackendState {
        /// In the backend's own form, with a schema_version.
        state: Value,
    },
    /// The backend asks something.
    InteractionPending {
        /// `i1`, `i2`, …
        interaction_id: String,
        /// Leave, or words.
        kind: InteractionKind,
        /// What.
        detail: Value,
        /// `awaiting_authorized_responder`, or `None` where it is decided at once.
        outcome: Option<InteractionOutcome>,
    },
    /// It was decided; the backend is told next.
    InteractionResolved {
        /// Which.
        interaction_id: String,
        /// How it was dealt with.
        outcome: InteractionOutcome,
        /// What was decided.
        decision: Option<Decision>,
        /// By whom or what.
        responder: Option<String>,
    },
    /// Success evidence with a usable result and nothing open, or an exit.
    CompletionObserved,
    /// More came: it is not complete after all.
    CompletionWithdrawn,
    /// Somebody wants it to end.
    CancelRequested {
        /// Who: `user`, or a signal's name.
        by: String,
    },
    /// A deadline ends it.
    DeadlineReached {
        /// Which.
        limit: Limit,
    },
    /// The backend's tree has ended.
    BackendEnded(Box<BackendEnded>),
    /// It is over.
    Ended(Box<Ended>),
}

impl Event {
    /// Whether it must be on the disk before anything follows from it. What is not is there with
    /// the next that must: of a journal only the end can be lost. After a power failure, a completion
    /// whose output was not saved comes to the same as none.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        !matches!(
            self,
            Self::WorkerStarted { .. }
                | Self::Admitted
                | Self::AttemptCreated { .. }
                | Self::SessionNamed { .. }
                | Self::BackendState { .. }
                | Self::CompletionObserved
                | Self::CompletionWithdrawn
                | Self::BackendEnded(_)
        )
    }
}

impl Event {
    /// Every name, in the order of the variants.
    pub const NAMES: [&str; 16] = [
        "created",
        "worker_started",
        "queued",
        "admitted",
        "attempt_created",
        "backend_started",
        "session_named",
        "backend_state",
        "interaction_pending",
        "interaction_resolved",
        "completion_observed",
        "completion_withdrawn",
        "cancel_requested",
        "deadline_reached",
        "backend_ended",
        "ended",
    ];

    /// Its name as it is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created(_) => Self::NAMES[0],
            Self::WorkerStarted { .. } => Self::NAMES[1],
            Self::Queued => Self::NAMES[2],
            Self::Admitted => Self::NAMES[3],
            Self::AttemptCreated { .. } => Self::NAMES[4],
            Self::BackendStarted(_) => Self::NAMES[5],
            Self::SessionNamed { .. } => Self::NAMES[6],
            Self::BackendState { .. } => Self::NAMES[7],
            Self::InteractionPending { .. } => Self::NAMES[8],
            Self::InteractionResolved { .. } => Self::NAMES[9],
            Self::CompletionObserved => Self::NAMES[10],
            Self::CompletionWithdrawn => Self::NAMES[11],
            Self::CancelRequested { .. } => Self::NAMES[12],
            Self::DeadlineReached { .. } => Self::NAMES[13],
            Self::BackendEnded(_) => Self::NAMES[14],
            Self::Ended(_) => Self::NAMES[15],
        }
    }
}

/// An event with its place and time: one flat JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Counts from 1 without gaps.
    pub seq: u64,
    /// RFC 3339 UTC with milliseconds.
    pub at: String,
    /// The event's own fields, beside these.
    #[serde(flatten)]
    pub event: Event,
}
