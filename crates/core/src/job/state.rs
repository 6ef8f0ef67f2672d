//! Where a job stands, in the words that records and callers use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::{self, FailureClass};

/// The state of a job. Terminal states absorb.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It has a record and nothing else yet.
    Created,
    /// It waits for a free place.
    Queued,
    /// Its backend was started.
    Running,
    /// It did what was asked: there is a result, and evidence of success.
    Done,
    /// It did not.
    Failed,
    /// A deadline ended it.
    TimedOut,
    /// A cancel ended it.
    Cancelled,
    /// Its worker died.
    Interrupted,
}

impl JobState {
    /// Every state, in order of life.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Whether nothing can change it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Created | Self::Queued | Self::Running)
    }

    /// The word that records and callers use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code of a command that waited for this state; a failure's own class is better.
    #[must_use]
    pub fn exit_code(self, class: Option<FailureClass>) -> u8 {
        match (self, class) {
            (Self::Done, _) => exit::SUCCESS,
            (Self::Created | Self::Queued | Self::Running, _) => exit::NOT_TERMINAL,
            (_, Some(class)) => class.exit_code(),
            (Self::Failed, None) => FailureClass::BackendExecutionFailed.exit_code(),
            (Self::TimedOut, None) => FailureClass::Timeout.exit_code(),
            (Self::Cancelled, None) => FailureClass::Cancelled.exit_code(),
            (Self::Interrupted, None) => FailureClass::WorkerLost.exit_code(),
        }
    }
}

impl std::fmt::Display for JobState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

impl std::str::FromStr for JobState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} is not a state; states: {names}")
        })
    }
}

/// What a job is busy with. Progress only: no decision follows from a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobPhase {
    /// The request is checked.
    Validating,
    /// Its place on disk is made.
    Preparing,
    /// A checkout of its own is made.
    WorktreeCreating,
    /// Its worker is started.
    WorkerLaunching,
    /// The backend's server is started.
    ServerStarting,
    /// A session is opened on it.
    SessionCreating,
    /// The backend is started.
    AgentStarting,
    /// The backend works.
    AgentRunning,
    /// What it left is read and saved.
    ResultCollecting,
    /// Its changes are recorded.
    SnapshotCommitting,
    /// The ending is written.
    Finalizing,
    /// It waits for a free place.
    Queued,
    /// Over.
    Terminal,
}

impl JobPhase {
    /// The word that records and callers use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Preparing => "preparing",
            Self::WorktreeCreating => "worktree_creating",
            Self::WorkerLaunching => "worker_launching",
            Self::ServerStarting => "server_starting",
            Self::SessionCreating => "session_creating",
            Self::AgentStarting => "agent_starting",
            Self::AgentRunning => "agent_running",
            Self::ResultCollecting => "result_collecting",
            Self::SnapshotCommitting => "snapshot_committing",
            Self::Finalizing => "finalizing",
            Self::Queued => "queued",
            Self::Terminal => "terminal",
        }
    }
}

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// It has a directory.
    Created,
    /// Its backend is being started.
    Launching,
    /// Its backend runs.
    Running,
    /// Over.
    Terminal,
}

/// What a job is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// To answer.
    #[default]
    Run,
    /// To change a checkout of its own.
    Implement,
}

/// What is known about a job's way to the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nobody closes it.
    Open,
    /// It is closed.
    Blocked,
    /// Nobody knows.
    #[default]
    Unknown,
}

/// Why no tree was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KillSkipped {
    /// There was nothing that holds the tree together.
    NotContained,
    /// Nothing of it was left.
    AlreadyGone,
}

/// How a job's backend session came to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStrategy {
    /// A new one.
    #[default]
    New,
    /// An earlier one went on.
    Continued,
    /// A new one that starts from an earlier one.
    Forked,
}

/// What came of a request for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingsStatus {
    /// They are there and well-formed.
    Ok,
    /// There are none.
    Absent,
    /// They cannot be read.
    Malformed,
}
