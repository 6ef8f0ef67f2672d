//! `request.json`: what was asked, so that whoever has the job's lease can run it. The prompt is kept
//! apart, and no value of a variable is kept at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{GroupName, JobId, RepoKey};
use crate::executor::Source;
use crate::executor::access::Access;
use crate::executor::controls::{Configuration, Wish};
use crate::gate::Layer;
use crate::interaction::Terms;

/// Version of the shape of a [`JobRequest`].
pub const SCHEMA_VERSION: u32 = 1;

/// Which model, as it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ModelRequest {
    /// The backend's default.
    #[default]
    Default,
    /// By name, with options by theirs.
    Named {
        /// All that was said.
        wish: Wish,
    },
    /// With typed options.
    Configured {
        /// All of them.
        configuration: Box<Configuration>,
    },
}

/// Which of the caller's variables are passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InheritRequest {
    /// All.
    #[default]
    All,
    /// These.
    Named {
        /// Their names.
        names: Vec<String>,
    },
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRequest {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The job.
    pub job_id: JobId,
    /// The repository it belongs to.
    pub repo_key: RepoKey,
    /// The whole executor record: one that changes later does not change this job.
    pub record: Value,
    /// Where the record comes from.
    pub record_source: Source,
    /// Its file, or the word `shipped`.
    pub record_origin: String,
    /// Which layer chose the executor.
    pub chosen_by: Layer,
    /// The directory it works in.
    pub workspace: String,
    /// What it may change.
    pub access: Access,
    /// Whether it may run only where that is enforced and proven.
    #[serde(default)]
    pub require_enforcement: bool,
    /// Which model.
    pub model: ModelRequest,
    /// Seconds of the whole run.
    pub hard_timeout_sec: f64,
    /// Seconds to the first record.
    pub startup_timeout_sec: Option<f64>,
    /// Seconds without activity.
    pub idle_timeout_sec: Option<f64>,
    /// Which variables are inherited.
    pub inherit_env: InheritRequest,
    /// Names of the variables that were given a value. The values are with the worker alone.
    pub env_names: Vec<String>,
    /// Arguments passed on as they are.
    pub extra_args: Vec<String>,
    /// Another program for the record's command.
    pub command: Option<String>,
    /// The containment demanded, as on the command line; `None`: the best there is.
    pub containment: Option<String>,
    /// The most bytes of output that are read.
    pub output_cap: u64,
    /// Its group.
    pub group: Option<GroupName>,
    /// Whether nested jobs get a store of their own.
    pub delegate: bool,
    /// Who or what answers what the backend asks.
    #[serde(default)]
    pub terms: Terms,
    /// Whether the backend keeps its sessions in a database of this job's own.
    #[serde(default)]
    pub isolated_state: bool,
}
