//! Settings in force, each with what set it: what `dcli config` shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the shape of a [`ConfigReport`].
pub const SCHEMA_VERSION: u32 = 1;

/// What set something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SetBy {
    /// dcli itself.
    Default,
    /// The user's configuration.
    User,
    /// A policy of the project.
    Project,
    /// A variable of the environment.
    Environment,
}

impl SetBy {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
        }
    }
}

/// One setting in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its key, as in the user's file; a policy may have another word for it.
    pub key: String,
    /// What holds; `null` where nothing is set and there is no default.
    pub value: Value,
    /// Whose word decided.
    pub set_by: SetBy,
    /// The files or the variable that say so; empty for a default.
    pub set_in: Vec<String>,
}

/// One place that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// What it is.
    pub what: String,
    /// Where it is; `null` where no variable says.
    pub path: Option<String>,
    /// Whether something is there.
    pub exists: bool,
    /// What put it there.
    pub set_by: SetBy,
    /// The variable that says so.
    pub set_in: Option<String>,
}

/// The configuration in force in one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReport {
    /// The version of this shape.
    pub schema_version: u32,
    /// The directory it was asked for.
    pub directory: String,
    /// Files and directories.
    pub places: Vec<Place>,
    /// Settings, in the order of their keys.
    pub settings: Vec<Setting>,
}
