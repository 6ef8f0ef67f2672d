//! Facts: all that a backend may say about a run, whichever backend it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::FailureClass;

/// Version of the shape of a [`FactLine`].
pub const SCHEMA_VERSION: u32 = 1;

/// Tokens as the vendor reported them. A figure the vendor did not report is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Tokens sent to the model.
    pub input: Option<u64>,
    /// Tokens the model produced.
    pub output: Option<u64>,
    /// Tokens spent on reasoning (a share of output for some vendors).
    pub reasoning: Option<u64>,
    /// Tokens read from the vendor's cache.
    pub cache_read: Option<u64>,
    /// Tokens written to the vendor's cache.
    pub cache_write: Option<u64>,
    /// What the run is charged with; `None` where one billed record could not be read.
    pub total: Option<u64>,
}

/// What a backend is waiting for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionKind {
    /// Leave to use a tool.
    #[default]
    Permission,
    /// An answer in words.
    Question,
}

/// How an interaction was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionOutcome {
    /// A policy given with the run answered it.
    PreAuthorized,
    /// The run's own access or policy denies it.
    DeniedByPolicy,
    /// Somebody who may answer was asked.
    AwaitingAuthorizedResponder,
    /// Nobody may answer: it was rejected.
    RejectedUnattended,
}

/// What a backend does between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It works.
    Busy,
    /// It waits for nothing.
    Idle,
    /// It repeats a request to its provider. Not activity for the idle deadline.
    Retrying,
}

/// One thing a backend said or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// The process runs, or the backend named its session.
    Started { backend_pid: Option<u32>, backend_session_id: Option<String> },
    /// Text meant for the caller.
    AssistantText { message_id: Option<String>, text: String },
    /// The model reasoned. Its words are never carried.
    Reasoning { message_id: Option<String> },
    /// A tool was started.
    ToolInvoked { call_id: Option<String>, tool: Option<String>, summary: Option<String> },
    /// A tool ended.
    ToolResult { call_id: Option<String>, ok: bool, summary: Option<String> },
    /// Work was announced as running in the background.
    TaskStarted { task_id: String },
    /// Announced background work ended.
    TaskSettled { task_id: String, outcome: Option<String> },
    /// The backend waits for a permission or an answer.
    InteractionPending {
        interaction_id: String,
        kind: InteractionKind,
        detail: Value,
        /// `awaiting_authorized_responder` where it waits for somebody; `null` where the run itself
        /// deals with it at once.
        #[serde(default)]
        outcome: Option<InteractionOutcome>,
    },
    /// A permission or question was dealt with.
    InteractionResolved {
        interaction_id: String,
        outcome: InteractionOutcome,
        decision: Option<String>,
        responder: Option<String>,
    },
    /// The vendor's usage so far.
    UsageReported { tokens: Tokens, cost: Option<f64> },
    /// The vendor's quota windows, verbatim.
    QuotaReported { windows: Value },
    /// Busy, idle or retrying; the attempt is the vendor's count, the time in the vendor's form.
    BackendStatus { status: Activity, attempt: Option<u64>, next_at: Option<Value> },
    /// The backend reported an error.
    BackendError { class_hint: Option<FailureClass>, payload: Value, recovered: Option<bool> },
    /// A part of the output was not kept.
    OutputTruncated { stream: String, reason: String },
    /// The backend's process ended. Comes once and last.
    ProcessExited { code: Option<i32>, signal: Option<i32> },
    /// A stream ended without the process having ended.
    StreamClosed { reason: String },
}

/// A fact with its place and time, as it is written: one flat JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactLine {
    /// The version of this shape.
    pub schema_version: u32,
    /// Counts from 1 within a run, without gaps.
    pub seq: u64,
    /// RFC 3339 UTC with milliseconds.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub at: String,
    /// The fact's own fields, beside these.
    #[serde(flatten)]
    pub fact: Fact,
}

/// A warning: the run went on, but the caller should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A word to match on.
    pub code: String,
    /// A sentence to read.
    pub message: String,
}

impl Warning {
    /// A warning with its code and its sentence.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fact_line_is_flat_and_round_trips() {
        let line = FactLine {
            schema_version: SCHEMA_VERSION,
            seq: 3,
            at: "2026-01-02T03:04:05.678Z".into(),
            fact: Fact::BackendStatus {
                status: Activity::Retrying,
                attempt: Some(2),
                next_at: None,
            },
        };
        let value = serde_json::to_value(&line).unwrap();
        assert_eq!(
            value,
            json!({"schema_version": 1, "seq": 3, "at": "2026-01-02T03:04:05.678Z",
                   "type": "backend_status",
                   "status": "retrying", "attempt": 2, "next_at": null})
        );
        assert_eq!(serde_json::from_value::<FactLine>(value).unwrap(), line);
    }

    #[test]
    fn missing_data_is_null_and_never_left_out() {
        let fact = Fact::ToolInvoked { call_id: None, tool: None, summary: None };
        assert_eq!(
            serde_json::to_value(fact).unwrap(),
            json!({"type": "tool_invoked", "call_id": null, "tool": null, "summary": null})
        );
    }
}
