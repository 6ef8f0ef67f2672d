//! `status.json`, version 1: a projection of the journal, safe to read at any moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Created, WorkerIdentity};
use super::id::{GroupName, JobId, Label, RepoKey};
use super::state::{
    AttemptState, FindingsStatus, JobPhase, JobState, KillSkipped, Mode, Network, SessionStrategy,
};
use crate::envelope::{AccessEnforcement, ContainmentReport, ExitKind, SurvivorReport};
use crate::executor::access::Access;
use crate::executor::record::RungKind;
use crate::fact::{Tokens, Warning};
use crate::failure::Failure;
use crate::interaction::Interaction;

/// Version of the shape of a [`Status`].
pub const SCHEMA_VERSION: u32 = 1;

/// A checkout of a job's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    /// Where it is.
    pub path: String,
    /// The commit it was made from.
    pub base_commit: String,
    /// The commit that holds what the job made of it.
    pub result_commit: Option<String>,
    /// Paths that differ, relative to the root.
    pub changed_files: Vec<String>,
}

/// All that is known of a job. Missing data is `null` and never left out. Times are RFC 3339 in UTC
/// with milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The job.
    pub job_id: JobId,
    /// Which backend runs it.
    pub backend: String,
    /// Its version where it was asked.
    pub backend_version: Option<String>,
    /// The version of dcli that made the job.
    pub adapter_version: String,
    /// The repository it belongs to.
    pub repo_key: RepoKey,
    /// The root of the working tree; `null` outside a repository.
    pub repo_root: Option<String>,
    /// The directory it works in.
    pub execution_root: String,
    /// What it is for.
    pub mode: Mode,
    /// What it may change.
    pub access: Access,
    /// Who enforces that; `null` before the backend was started.
    pub access_enforcement: Option<AccessEnforcement>,
    /// What is known about its way to the network.
    pub network: Network,
    /// Where it stands.
    pub state: JobState,
    /// What it does now.
    pub phase: JobPhase,
    /// When it was made.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub created_at: String,
    /// When its backend was started.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub started_at: Option<String>,
    /// When this record last changed.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub updated_at: String,
    /// When it ended.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub finished_at: Option<String>,
    /// When its worker last said that it is alive.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub heartbeat_at: Option<String>,
    /// Its worker's pid.
    pub worker_pid: Option<u32>,
    /// Its worker, beyond the pid.
    pub worker_identity: Option<WorkerIdentity>,
    /// What holds the backend's tree together.
    pub containment: Option<ContainmentReport>,
    /// `null`: no tree kill ran; `[]`: one ran and nothing was left.
    pub containment_survivors: Option<Vec<SurvivorReport>>,
    /// Why no tree kill ran.
    pub kill_skipped: Option<KillSkipped>,
    /// The last rung of the cancel ladder that was climbed.
    pub cancel_rung_reached: Option<RungKind>,
    /// The backend's pid, as its supervisor sees it.
    pub backend_pid: Option<u32>,
    /// The backend's own session id.
    pub backend_session_id: Option<String>,
    /// What this backend alone has.
    pub backend_state: Option<Value>,
    /// What the backend could do when the job was made.
    pub capabilities_snapshot: Option<Value>,
    /// The job whose execution root this is.
    pub execution_owner: JobId,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The backend's own named agent.
    pub agent: Option<String>,
    /// The job that asked for this one.
    pub parent_job_id: Option<JobId>,
    /// The first job of that line.
    pub root_job_id: JobId,
    /// How its session came to be.
    pub session_strategy: SessionStrategy,
    /// Its group.
    pub group: Option<GroupName>,
    /// The caller's words for it.
    pub label: Option<Label>,
    /// The most seconds it may run.
    pub hard_timeout_sec: f64,
    /// When a cancel was journaled.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub cancel_requested_at: Option<String>,
    /// What a command that waited for it ends with.
    pub command_exit_code: Option<u8>,
    /// The backend's own exit code.
    pub backend_exit_code: Option<i32>,
    /// Why the backend ended.
    pub exit_kind: Option<ExitKind>,
    /// Bytes of the result; `null` where there is none.
    pub result_bytes: Option<u64>,
    /// The vendor's figures.
    pub tokens: Tokens,
    /// The vendor's quota windows, verbatim.
    pub usage_windows: Option<Value>,
    /// What the vendor says it costs; never computed.
    pub cost: Option<f64>,
    /// The first line of the failure's message.
    pub failure_reason: Option<String>,
    /// Why it did not do what was asked.
    pub failure: Option<Failure>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// What it asked, and what came of that.
    pub interactions: Vec<Interaction>,
    /// A checkout of its own.
    pub worktree: Option<Worktree>,
    /// Which attempt, counted from 1; 0 before the first.
    pub attempt: u32,
    /// A name for that attempt.
    pub attempt_id: Option<String>,
    /// Where it stands.
    pub attempt_state: Option<AttemptState>,
    /// Digest of what the worker was given to prove itself.
    pub execution_token_hash: Option<String>,
    /// What came of a request for findings.
    pub findings_status: Option<FindingsStatus>,
}

impl Status {
    /// What it asked under this name; `None`: nothing that is still kept here.
    #[must_use]
    pub fn interaction(&self, id: &str) -> Option<&Interaction> {
        self.interactions.iter().find(|one| one.interaction_id == id)
    }

    /// Whether that may still be answered.
    #[must_use]
    pub fn is_open(&self, id: &str) -> bool {
        self.interaction(id).is_some_and(Interaction::is_open)
    }

    /// A job that was just made.
    #[must_use]
    pub(super) fn new(created: &Created, at: &str) -> Self {
        let created = created.clone();
        Self {
            schema_version: SCHEMA_VERSION,
            job_id: created.job_id,
            backend: created.backend,
            backend_version: created.backend_version,
            adapter_version: created.adapter_version,
            repo_key: created.repo_key,
            repo_root: created.repo_root,
            execution_root: created.execution_root,
            mode: created.mode,
            access: created.access,
            access_enforcement: None,
            network: created.network,
            state: JobState::Created,
            phase: JobPhase::WorkerLaunching,
            created_at: at.to_owned(),
            started_at: None,
            updated_at: at.to_owned(),
            finished_at: None,
            heartbeat_at: None,
            worker_pid: None,
            worker_identity: None,
            containment: None,
            containment_survivors: None,
            kill_skipped: None,
            cancel_rung_reached: None,
            backend_pid: None,
            backend_session_id: None,
            backend_state: None,
            capabilities_snapshot: created.capabilities_snapshot,
            execution_owner: created.execution_owner,
            model: created.model,
            agent: created.agent,
            parent_job_id: created.parent_job_id,
            root_job_id: created.root_job_id,
            session_strategy: created.session_strategy,
            group: created.group,
            label: created.label,
            hard_timeout_sec: created.hard_timeout_sec,
            cancel_requested_at: None,
            command_exit_code: None,
            backend_exit_code: None,
            exit_kind: None,
            result_bytes: None,
            tokens: Tokens::default(),
            usage_windows: None,
            cost: None,
            failure_reason: None,
            failure: None,
            warnings: created.warnings,
            interactions: Vec::new(),
            worktree: None,
            attempt: 0,
            attempt_id: None,
            attempt_state: None,
            execution_token_hash: None,
            findings_status: None,
        }
    }
}
