//! The executor record: everything dcli knows about one coding CLI, as data.
//!
//! A record is TOML. It is read with [`Record::from_toml`], which also validates it; a record that
//! was not validated cannot be obtained. Facts come from the vendor's binary as measured, and each
//! shipped record says with which versions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::controls::Contract;
use super::rule::{FactRule, Matcher, Signal};
use crate::decode::Path;

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
    /// More fixed arguments for one-shot runs, which keep no session.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// One JSON object.
    SingleObject,
    /// One JSON object a line.
    Jsonl,
}

/// What the output means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// One object or one a line.
    pub format: Format,
    /// Where standard output goes. A file: several CLIs cut their own output on pipes.
    #[serde(default)]
    pub capture: Capture,
    /// The answer.
    pub result: ResultRule,
    /// Which records say that the run failed.
    #[serde(default)]
    pub failure: Vec<FailureRule>,
    /// Which record proves success.
    pub terminal: Option<Terminal>,
    /// Values handed to the caller under the record's own names.
    #[serde(default)]
    pub metadata: Vec<MetadataRule>,
    /// Signs that a tool could not even start: the sandbox did not come up.
    #[serde(default)]
    pub sandbox_failure: Vec<PhraseRule>,
    /// An array of denied permissions in a record: each is a warning.
    pub denials: Option<DenialsRule>,
    /// Phrases on standard error that are sure enough to classify a failure.
    #[serde(default)]
    pub stderr_signals: Vec<Signal>,
}

/// How standard output is captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// Into a regular file.
    #[default]
    File,
    /// Through a pipe.
    Pipe,
}

/// Where the answer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultRule {
    /// A string in the record. The last one that is not blank is the result.
    pub path: Path,
    /// Which records hold it.
    #[serde(default)]
    pub when: Matcher,
    /// Records that hold no final answer although they match `when`.
    pub not_when: Option<Matcher>,
    /// True where the record carries a piece of the answer: pieces are joined, and a record that
    /// `restart` matches begins anew.
    #[serde(default)]
    pub joined: bool,
    /// With `joined`: what begins a new answer.
    #[serde(default)]
    pub restart: Vec<Matcher>,
}

/// A record that says that the run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureRule {
    /// The gate: only these records are asked.
    #[serde(default)]
    pub when: Matcher,
    /// True there: failed.
    pub flag_path: Option<Path>,
    /// A string there that begins with `status_prefix`: failed.
    pub status_path: Option<Path>,
    /// See `status_path`.
    pub status_prefix: Option<String>,
    /// What was wrong. The first that is there; an object is kept as compact JSON.
    #[serde(default)]
    pub message_paths: Vec<Path>,
    /// The provider's HTTP status.
    pub http_path: Option<Path>,
    /// The provider's error type.
    pub error_type_path: Option<Path>,
    /// Records that show that it recovered: each must be seen afterwards. Empty: it never does.
    #[serde(default)]
    pub recovered_by: Vec<Matcher>,
    /// Recorded phrases of the message.
    #[serde(default)]
    pub signals: Vec<Signal>,
}

/// Which record proves success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// The proof.
    pub success: Matcher,
    /// Records after which an earlier proof no longer counts: the backend went on.
    #[serde(default)]
    pub reopened_by: Vec<Matcher>,
}

/// A value handed to the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataRule {
    /// The key in the envelope's data.
    pub key: String,
    /// Where it is; the last one seen is taken.
    pub path: Path,
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// True where it is the backend's own session id.
    #[serde(default)]
    pub session: bool,
}

/// A phrase at a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhraseRule {
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// The text to look in.
    pub path: Path,
    /// Any of these.
    pub contains: Vec<String>,
}

/// Denied permissions, listed in a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenialsRule {
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// The array.
    pub path: Path,
    /// The tool's name in an element.
    pub tool: Path,
}

/// How usage is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Which records are billed.
    pub usage_when: Matcher,
    /// What is summed in such a record: whole numbers.
    pub usage_paths: Vec<Path>,
    /// True where a record carries the total so far and not its own share.
    #[serde(default)]
    pub cumulative: bool,
    /// Taken where every path of a record is zero.
    pub when_zero: Option<ZeroRule>,
    /// The parts.
    #[serde(default)]
    pub breakdown: Breakdown,
    /// The vendor's own cost in US dollars, in the billed records.
    pub cost_path: Option<Path>,
    /// True where a record carries the cost so far.
    #[serde(default)]
    pub cost_cumulative: bool,
    /// Quota windows.
    pub usage_windows: Option<Windows>,
}

/// The second place to look when the first is all zero: an object of objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroRule {
    /// An object whose values are asked.
    pub path: Path,
    /// What is summed in each.
    pub keys: Vec<String>,
}

/// Where the parts of usage are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// Tokens sent.
    pub input: Option<Path>,
    /// Tokens produced.
    pub output: Option<Path>,
    /// Tokens of reasoning.
    pub reasoning: Option<Path>,
    /// Tokens read from the cache.
    pub cache_read: Option<Path>,
    /// Tokens written to the cache.
    pub cache_write: Option<Path>,
}

/// Quota windows: an object of objects, kept verbatim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// The object.
    pub path: Path,
    /// What each window must hold; only these keys are kept.
    pub keys: Vec<String>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungKind {
    /// The backend's server is told to abort the session.
    SessionAbort,
    /// SIGINT to the leader.
    Interrupt,
    /// The whole tree is ended.
    HardKill,
}
