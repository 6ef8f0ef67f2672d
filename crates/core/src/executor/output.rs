//! The part of a record that says what standard output means.

use serde::{Deserialize, Serialize};

use super::rule::{ErrorType, Matcher, NoteRule, Signal};
use crate::decode::Path;

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
    /// Recorded phrases of every failure's message, asked after those of the failure's own rule.
    #[serde(default)]
    pub signals: Vec<Signal>,
    /// Words of a failure's message behind which the provider's HTTP status stands.
    #[serde(default)]
    pub http_after: Vec<String>,
    /// This CLI's own names for errors.
    #[serde(default)]
    pub error_types: Vec<ErrorType>,
    /// Records that say more about a failure to come.
    #[serde(default)]
    pub notes: Vec<NoteRule>,
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
    /// Through a pipe. Refused when the record is loaded: no record needed it so far.
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
    /// The provider's error type, or this CLI's own name for the error. All are looked at.
    #[serde(default)]
    pub error_type_paths: Vec<Path>,
    /// The provider's answer, a JSON text. The message is searched for one too.
    pub body_path: Option<Path>,
    /// True or false there: whether trying again may help.
    pub retryable_path: Option<Path>,
    /// When to try again: the first that is there.
    #[serde(default)]
    pub retry_at_paths: Vec<Path>,
    /// The same inside the provider's answer.
    #[serde(default)]
    pub body_retry_at_paths: Vec<Path>,
    /// True where the record only tells of an attempt: it counts where no final record does.
    #[serde(default)]
    pub provisional: bool,
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
