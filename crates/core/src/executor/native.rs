//! The part of a record that says how access is expressed natively, and which state must be writable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::access;

/// Native arguments for each access, and the state the CLI must be able to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// For read-only, not enforced by dcli.
    pub read_only: Native,
    /// For workspace, not enforced by dcli.
    pub workspace: Native,
    /// For unconfined.
    pub unconfined: Native,
    /// For read-only inside dcli's own mounts.
    pub enforced_read_only: Option<Native>,
    /// For workspace inside dcli's own mounts.
    pub enforced_workspace: Option<Native>,
    /// Who enforces where dcli does not.
    #[serde(default)]
    pub enforcement: NativeEnforcement,
    /// What decides access: an extra argument that names one is refused. An entry that does not
    /// begin with `-` names a configuration key given behind `-c` or `--config`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Variables that decide access.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The accesses under which the vendor's sandbox was measured to keep tools off the network.
    #[serde(default)]
    pub network_blocked: Vec<access::Access>,
    /// How the vendor's sandbox is asked to start around a command that does nothing.
    pub sandbox_probe: Option<SandboxProbe>,
    /// An argument the CLI refuses for root unless a variable is set.
    pub root_guard: Option<RootGuard>,
    /// Directories it must be able to write; `$NAME` and a leading `~` are resolved.
    #[serde(default)]
    pub state_dirs: Vec<String>,
    /// What stays read-only inside them.
    #[serde(default)]
    pub state_protected: Vec<String>,
    /// Files replaced by rename: each gets a private copy.
    #[serde(default)]
    pub state_files: Vec<String>,
}

/// Arguments and variables that express an access natively.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// Arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Who enforces the access where dcli does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeEnforcement {
    /// The vendor's own sandbox.
    Backend,
    /// Nobody: permission rules are not a sandbox.
    #[default]
    None,
}

/// A command of the CLI that starts its own sandbox around something that does nothing. Where the
/// sandbox cannot start, some CLIs run no tool at all and still end with 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxProbe {
    /// Arguments of the program. It has to end with 0.
    pub args: Vec<String>,
    /// Texts on standard error that say it will not start in a run, whatever the exit code.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// An argument the CLI refuses for root unless a variable is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootGuard {
    /// The argument.
    pub argument: String,
    /// The variable.
    pub variable: String,
    /// Its exact value.
    pub value: String,
}
