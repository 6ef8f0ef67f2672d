//! The executor record: everything dcli knows about one coding CLI, as data.
//!
//! A record is TOML. It is read with [`Record::from_toml`], which also validates it; a record that
//! was not validated cannot be obtained. Facts come from the vendor's binary as measured, and each
//! shipped record says with which versions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::controls::Contract;
use super::rule::FactRule;

pub use super::channel::{Dialogue, DialogueProtocol, Server, ServerProtocol};
pub use super::native::{Access, Native, NativeEnforcement, RootGuard, SandboxProbe};
pub use super::output::{
    Capture, DenialsRule, FailureRule, Format, MetadataRule, Output, PhraseRule, ResultRule,
    Terminal,
};
pub use super::usage::{Breakdown, Usage, Windows, ZeroRule};

/// The version of the record's shape.
pub const RECORD_SCHEMA: u32 = 1;

/// One coding CLI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`RECORD_SCHEMA`].
    pub schema_version: u32,
    /// The backend id: lower-case letters, digits, `-`, `_`, `.`.
    pub id: String,
    /// For people.
    pub display_name: String,
    /// The program: a bare name is looked for in PATH, a path with a slash is taken as it is.
    pub command: String,
    /// Fixed arguments, for exec and jobs alike.
    #[serde(default)]
    pub args: Vec<String>,
    /// More fixed arguments for one-shot runs, which keep no session; jobs keep theirs.
    #[serde(default)]
    pub exec_args: Vec<String>,
    /// Other ids accepted on input, never written.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Where access, model and extra arguments go among the fixed ones; at their end if absent.
    pub argument_index: Option<usize>,
    /// What to tell somebody who does not have the program.
    #[serde(default)]
    pub install: String,
    /// Whether the real binary was run against this record.
    #[serde(default)]
    pub verification: Verification,
    /// Where the real executable lies when `command` resolves to a script that only spawns it,
    /// relative to the package directory of that script; the first that exists is run instead.
    #[serde(default)]
    pub native_executable: Vec<String>,
    /// How the prompt is handed over.
    pub prompt: PromptRule,
    /// How the version is asked and which versions are known.
    #[serde(default)]
    pub version: VersionRule,
    /// Variables set and removed.
    #[serde(default)]
    pub environment: Environment,
    /// What the output means.
    pub output: Output,
    /// How records become facts.
    #[serde(default)]
    pub facts: Vec<FactRule>,
    /// How usage is read.
    pub usage: Option<Usage>,
    /// What silence means.
    #[serde(default)]
    pub liveness: Liveness,
    /// Native arguments for each access.
    pub access: Access,
    /// The model argument and the backend's own options.
    pub controls: Option<Contract>,
    /// How jobs drive it as a server of their own; without it they run the same command as exec.
    pub server: Option<Server>,
    /// How a running job is asked and answered on standard input and output.
    pub dialogue: Option<Dialogue>,
    /// How a session is continued.
    pub resume: Option<Resume>,
    /// Whether the CLI can be asked for output that follows a JSON Schema.
    #[serde(default)]
    pub schema_constrained_output: bool,
    /// The rungs of a cancel, in order. The tree is always ended after the last.
    #[serde(default)]
    pub cancel: Vec<CancelRung>,
    /// A prompt that any working installation answers at once.
    #[serde(default)]
    pub smoke: String,
}

/// Whether the real binary was run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// The record was tested against the real binary.
    Verified,
    /// It was not; capabilities say so.
    #[default]
    Unverified,
}

/// How the prompt reaches the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRule {
    /// Standard input or the last argument.
    pub delivery: Delivery,
    /// What stands before the prompt argument, so that it cannot become a flag.
    #[serde(default = "double_dash")]
    pub separator: String,
    /// A flag whose value is the prompt (written `flag=prompt`), for programs without a separator.
    pub joined_flag: Option<String>,
    /// The most bytes of one argument; a longer prompt is refused before anything is started.
    /// Linux: MAX_ARG_STRLEN is 32 pages, and the terminating NUL counts (execve(2)).
    #[serde(default = "linux_argument_bound")]
    pub argument_bound: usize,
}

fn double_dash() -> String {
    "--".to_owned()
}

fn linux_argument_bound() -> usize {
    131_071
}

/// Where the prompt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Standard input is the prompt, and ends with it.
    Stdin,
    /// The last argument is the prompt; standard input is empty.
    Argument,
}

/// Versions of the program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRule {
    /// Arguments that make it print its version.
    #[serde(default)]
    pub args: Vec<String>,
    /// A semver requirement; empty: any.
    #[serde(default)]
    pub supported: String,
    /// Versions that the record was tested with.
    #[serde(default)]
    pub tested: Vec<String>,
    /// Versions known not to work.
    #[serde(default)]
    pub known_bad: Vec<String>,
}

/// The child's environment, beyond what is inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Set unless the caller sets them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Removed: guards against nested sessions. The caller's explicit `--env` still sets them.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// What silence means.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Liveness {
    /// Whether records come while it works.
    #[serde(default)]
    pub signal: LivenessSignal,
    /// Whether the start of a tool is a record. Where not, a live descendant in a session of its
    /// own counts as an open tool call.
    #[serde(default)]
    pub tool_starts_announced: bool,
}

/// Whether records come while it works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LivenessSignal {
    /// They do: startup and idle deadlines apply.
    Records,
    /// They do not: no startup or idle deadline unless asked for.
    #[default]
    None,
}

/// How a session is continued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Arguments with `{session}` where the id goes.
    pub args: Vec<String>,
    /// Flags that a continued run does not have.
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// One rung of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelRung {
    /// What is done.
    pub rung: RungKind,
    /// How long its effect is waited for, in seconds.
    pub wait_sec: u32,
}

/// What is done on a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungKind {
    /// The backend's server is told to abort the session.
    SessionAbort,
    /// SIGINT to the leader.
    Interrupt,
    /// The whole tree is ended.
    HardKill,
}
