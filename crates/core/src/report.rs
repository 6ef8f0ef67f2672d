//! What commands print beside envelopes: each shape once, typed, with its schema version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capability::Standing;
use crate::envelope::ResultEnvelope;
use crate::executor::record::Verification;
use crate::exit::FailureClass;
use crate::fact::FactLine;

/// The version of every shape in this module.
pub const SCHEMA_VERSION: u32 = 1;

/// What every command but `exec` prints in place of its answer, where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The version of this shape.
    pub schema_version: u32,
    /// What was wrong.
    pub error: ErrorDetail,
}

/// One error, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// A word to match on; the class's name where nothing more precise is known.
    pub code: String,
    /// The failure class; `null` for the exit codes 3, 4 and 20, which belong to none.
    pub class: Option<FailureClass>,
    /// The exit code that the command ended with.
    pub exit_code: u8,
    /// What was wrong, in words.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    /// Whether a job exists now that did not before.
    pub job_created: bool,
}

impl ErrorReport {
    /// An error of this class, before any job was made.
    pub fn of_class(class: FailureClass, message: impl Into<String>) -> Self {
        Self::with(class.name(), Some(class), class.exit_code(), message.into())
    }

    /// An error with a code of its own that belongs to no class: not found, not terminal, active.
    pub fn of_code(code: &str, exit_code: u8, message: impl Into<String>) -> Self {
        Self::with(code, None, exit_code, message.into())
    }

    fn with(code: &str, class: Option<FailureClass>, exit_code: u8, message: String) -> Self {
        let code = code.to_owned();
        let error = ErrorDetail { code, class, exit_code, message, hint: None, job_created: false };
        Self { schema_version: SCHEMA_VERSION, error }
    }

    /// The same with a more precise word to match on than its class.
    #[must_use]
    pub fn coded(mut self, code: &str) -> Self {
        code.clone_into(&mut self.error.code);
        self
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error.hint = Some(hint.into());
        self
    }

    /// The same after a job was made.
    #[must_use]
    pub fn with_job(mut self) -> Self {
        self.error.job_created = true;
        self
    }
}

/// The envelope as the last line of `exec --events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeLine {
    /// The version of this shape.
    pub schema_version: u32,
    /// One more than the last fact's.
    pub seq: u64,
    /// When: RFC 3339, UTC, milliseconds.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub at: String,
    /// Always `envelope`.
    pub r#type: EnvelopeTag,
    /// What came of the run.
    pub envelope: ResultEnvelope,
}

/// The `type` of an [`EnvelopeLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeTag {
    /// The only one.
    Envelope,
}

/// One line of `exec --events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EventLine {
    /// The last line.
    Envelope(Box<EnvelopeLine>),
    /// Every other line.
    Fact(FactLine),
}

/// `backends --json`: every record, and what is found on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendsReport {
    /// The version of this shape.
    pub schema_version: u32,
    /// In the order of their ids.
    pub backends: Vec<BackendEntry>,
    /// The user's files that are no valid records: while one is there, nothing is run.
    pub refused: Vec<RefusedRecord>,
}

/// One backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendEntry {
    /// The id that `--backend` takes.
    pub id: String,
    /// For people.
    pub display_name: String,
    /// Other ids accepted on input.
    pub aliases: Vec<String>,
    /// Where the record comes from: `shipped`, `user` or `file`.
    pub source: String,
    /// The file that the record was read from, or a word for the shipped ones.
    pub origin: String,
    /// Whether the record was tested against the real binary.
    pub verification: Verification,
    /// The versions that it was tested with.
    pub tested_versions: Vec<String>,
    /// The program found; `null` where there is none.
    pub program: Option<String>,
    /// Why there is none.
    pub problem: Option<String>,
    /// The version that the program printed.
    pub version: Option<String>,
    /// How that version stands to the record.
    pub version_standing: Standing,
    /// How to get the program.
    pub install: String,
}

/// A file of the user's that is no valid record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedRecord {
    /// The file.
    pub origin: String,
    /// What is wrong with it.
    pub message: String,
}

/// `schema --json` without a name: the shapes that have a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemasReport {
    /// The version of this shape.
    pub schema_version: u32,
    /// In the order of their names.
    pub schemas: Vec<SchemaEntry>,
}

/// One shape that has a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaEntry {
    /// The name that `dcli schema` takes.
    pub name: String,
    /// What prints it.
    pub title: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_says_everything_and_null_where_nothing_is_known() {
        let report = ErrorReport::of_class(FailureClass::UsageError, "no such shape 'x'");
        assert_eq!(
            serde_json::to_value(&report).unwrap(),
            json!({"schema_version": 1, "error": {"code": "usage_error", "class": "usage_error",
                   "exit_code": 2, "message": "no such shape 'x'", "hint": null,
                   "job_created": false}})
        );
        let report = ErrorReport::of_code("job_not_found", crate::exit::NOT_FOUND, "no job");
        let report = report.hint("see 'dcli list'").with_job();
        assert_eq!((report.error.class, report.error.exit_code), (None, 3));
        assert_eq!(
            (report.error.hint.as_deref(), report.error.job_created),
            (Some("see 'dcli list'"), true)
        );
    }
}
