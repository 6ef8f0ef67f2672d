//! What the commands over jobs answer: each shape once, typed, with its schema version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{GroupName, JobId, Label};
use super::state::JobState;
use super::status::Status;
use crate::envelope::ResultEnvelope;
use crate::interaction::Interaction;

/// The version of every shape in this module.
pub const SCHEMA_VERSION: u32 = 1;

/// A job that was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The new job.
    pub job_id: JobId,
    /// `created`, `queued`, or what a short job has come to by now.
    pub state: JobState,
    /// Its group.
    pub group: Option<GroupName>,
    /// The caller's words for it.
    pub label: Option<Label>,
}

/// One job, and its envelope once it has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    /// All that is known of it; its keys stand beside `envelope`.
    #[serde(flatten)]
    pub status: Status,
    /// `null` until it has ended.
    pub envelope: Option<ResultEnvelope>,
}

/// Several jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `list`: newest first. `wait`: in order of creation.
    pub jobs: Vec<Status>,
}

/// One interaction, and the job that it is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobInteraction {
    /// The job.
    pub job_id: JobId,
    /// What it asks; its keys stand beside `job_id`.
    #[serde(flatten)]
    pub interaction: Interaction,
}

/// What jobs ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionListing {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The job that was named; `null`: the running jobs of a repository, or of all.
    pub job_id: Option<JobId>,
    /// Of one job: the open ones first, then those that are decided. Of several: by job, newest first.
    pub interactions: Vec<JobInteraction>,
}

/// An answer that a job's record has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Responded {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The job.
    pub job_id: JobId,
    /// What it asked, as it was decided.
    pub interaction: Interaction,
}

/// What a clean-up did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// True: nothing was removed.
    pub dry_run: bool,
    /// The jobs that were removed, or would be, oldest first.
    pub removed: Vec<RemovedJob>,
    /// What fits the age or count and was left, and why.
    pub skipped: Vec<SkippedJob>,
    /// What belongs to no job.
    pub orphans: Vec<Orphan>,
    /// What should have been removed and could not be, in words.
    pub problems: Vec<String>,
    /// Bytes of all that was removed, or would be.
    pub bytes: u64,
}

/// A job that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedJob {
    /// The job.
    pub job_id: JobId,
    /// How it ended.
    pub state: JobState,
    /// When.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub finished_at: Option<String>,
    /// What it took on the disk.
    pub bytes: u64,
}

/// A job that was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedJob {
    /// The job.
    pub job_id: JobId,
    /// Why.
    pub reason: String,
}

/// Something that belongs to no job: an unfinished creation or removal, a mark of a job that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Orphan {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub what: String,
    /// What it takes on the disk.
    pub bytes: u64,
}

/// Everything about one job in one value, redacted: to look into it, or to send it along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebugBundle {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The job.
    pub job_id: JobId,
    /// The version of dcli that made this bundle.
    pub dcli_version: String,
    /// The job's directory.
    pub directory: String,
    /// Its status, reconciled; `null` where it cannot be read.
    pub status: Option<Status>,
    /// Why a part cannot be read.
    pub problems: Vec<String>,
    /// `request.json`.
    pub request: Option<Value>,
    /// `command.json` of the last attempt: what was started, and with which names of variables.
    pub command: Option<Value>,
    /// The journal, whole.
    pub journal: Vec<Value>,
    /// The envelope without its result.
    pub envelope: Option<Value>,
    /// The last facts.
    pub facts: Vec<Value>,
    /// The ends of the logs.
    pub logs: Vec<LogEnd>,
    /// Every file of the job.
    pub files: Vec<FileEntry>,
    /// The machine, as far as it matters: system, kernel, containment, boot.
    pub machine: Value,
}

/// The end of one log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogEnd {
    /// Its file name.
    pub name: String,
    /// How long the whole of it is.
    pub bytes: u64,
    /// Its end, lossily decoded.
    pub end: String,
}

/// One file of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Its path in the job's directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}
