//! The ResultEnvelope: what one run hands back, and what callers parse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::executor::record::RungKind;
use crate::exit::FailureClass;
use crate::fact::{Tokens, Warning};
use crate::failure::Failure;

/// The longest summary, in characters.
pub const SUMMARY_CHARS: usize = 200;

/// Whether the run did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A terminal success record, a non-blank result and a complete stream were seen.
    Ok,
    /// Anything else that was not a cancel.
    Failed,
    /// A cancel came before completion.
    Cancelled,
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident => $class:ident;)*) => {
        /// The closed set of envelope error codes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum ErrorCode { $($(#[$doc])* $variant,)* }

        impl ErrorCode {
            /// Every error code with the class it maps to where nothing more is known.
            pub const TABLE: &'static [(ErrorCode, FailureClass)] =
                &[$((ErrorCode::$variant, FailureClass::$class),)*];
        }
    };
}

error_codes! {
    /// The catalogue does not hold this executor.
    ExecutorNotFound => UsageError;
    /// The executor's record is invalid.
    ExecutorInvalid => UsageError;
    /// The request is invalid; nothing was started.
    RequestInvalid => UsageError;
    /// A permission or a sandbox stopped the work.
    ExecutorPermissionDenied => PermissionOrSandbox;
    /// The program could not be started.
    ExecutorUnavailable => Environment;
    /// A deadline ended the run.
    ExecutorTimedOut => Timeout;
    /// Announced background work was stopped before it settled.
    ExecutorIncomplete => BackendExecutionFailed;
    /// The output was cut.
    ExecutorOutputTruncated => Protocol;
    /// The run ended without a usable result.
    ExecutorNoResult => NoResult;
    /// The run was cancelled.
    ExecutorCancelled => Cancelled;
    /// A cap refused the run.
    ExecutorCapExceeded => CapExceeded;
    /// The run failed; the failure's class says how.
    ExecutorRunFailed => BackendExecutionFailed;
}

impl ErrorCode {
    /// The class of this code where no better one was found.
    #[must_use]
    pub fn class(self) -> FailureClass {
        Self::TABLE
            .iter()
            .find(|row| row.0 == self)
            .map_or(FailureClass::BackendExecutionFailed, |row| row.1)
    }
}

/// One error of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeError {
    /// What was wrong, what was not done, and what to do.
    pub message: String,
    /// A code to match on.
    pub code: ErrorCode,
}

/// How the leading process ended, or why it did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitKind {
    /// It exited by itself.
    Exited,
    /// A signal from outside dcli ended it.
    Signalled,
    /// It lingered after a good terminal record and was ended.
    EndedAfterResult,
    /// No record came in time.
    DeadlineStartup,
    /// Nothing happened for too long.
    DeadlineIdle,
    /// The run took longer than allowed.
    DeadlineHard,
    /// It was ended by a cancel.
    Cancelled,
    /// Nobody saw how it ended.
    Lost,
}

/// Milliseconds measured by the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurationsMs {
    /// From the request to a started process.
    pub spawn_setup: u64,
    /// From the started process to the end of its tree.
    pub run: u64,
}

/// How the process ended. Exactly one of `code` and `signal` is set where it ran to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExitReport {
    /// The exit code, 0 to 255.
    pub code: Option<i32>,
    /// The signal's number.
    pub signal: Option<i32>,
    /// Why it ended.
    pub kind: Option<ExitKind>,
}

/// The rung the run was contained by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContainmentReport {
    /// `pid-namespace`, `guardian`, `process-group`, `job-object`, `taskkill-tree` or `none`.
    pub kind: String,
    /// True below the strongest rung of the platform.
    pub degraded: bool,
}

/// Who enforces the access asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessEnforcement {
    /// `mount-namespace`, `landlock`, `backend` (the vendor's own sandbox) or `none`.
    pub kind: String,
    /// True only where a probe proved it.
    pub verified: bool,
}

/// A process that could not be shown to have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SurvivorReport {
    /// The process id in dcli's namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot (proc(5), field 22 of stat).
    pub start_time: u64,
    /// The command name.
    pub comm: String,
}

/// Which record ran, and which layer chose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutorReport {
    /// The record's id.
    pub id: String,
    /// Where the record comes from: `shipped`, `user` or `file`.
    pub source: String,
    /// Which layer named it: `default`, `user`, `project` or `invocation`.
    pub chosen_by: String,
    /// The program that was run.
    pub program: Option<String>,
    /// The version found on this machine, where it was asked.
    pub version: Option<String>,
}

/// What the engine saw of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Milliseconds, rounded down.
    pub durations_ms: DurationsMs,
    /// How the process ended.
    pub exit: ExitReport,
    /// The rung of containment.
    pub containment: ContainmentReport,
    /// Who enforces the access.
    pub access_enforcement: AccessEnforcement,
    /// `null`: no tree kill ran; `[]`: one ran and nothing was left.
    pub survivors: Option<Vec<SurvivorReport>>,
    /// Processes that were alive when the leader had ended, and were ended.
    pub left_behind: u32,
    /// The last rung of the cancel ladder that was climbed; `null` where none was.
    pub cancel_rung_reached: Option<RungKind>,
    /// What the caller should know although the run went on.
    pub warnings: Vec<Warning>,
    /// The record that ran.
    pub executor: ExecutorReport,
    /// The vendor's own session or thread id.
    pub backend_session_id: Option<String>,
    /// The vendor's figures in parts.
    pub tokens: Tokens,
    /// What the vendor said that it costs, in US dollars; never computed.
    pub cost: Option<f64>,
    /// Why it failed; `null` where it did not.
    pub failure: Option<Failure>,
}

/// What a run that was started produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunData {
    /// The backend's final answer, exact.
    pub result: Option<String>,
    /// The record's metadata, under the record's own keys.
    #[serde(flatten)]
    pub metadata: Map<String, Value>,
    /// Tokens charged; `null` where the vendor reported none or one figure could not be read.
    pub usage: Option<u64>,
    /// Quota windows under the vendor's names, values verbatim.
    pub usage_windows: Option<Map<String, Value>>,
    /// Present, with its twin, only if either is true.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stdout_truncated: Option<bool>,
    /// Present, with its twin, only if either is true.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stderr_truncated: Option<bool>,
    /// Lines that were not JSON or not UTF-8; present only above 0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub malformed_stream_lines: Option<u64>,
    /// What the engine saw.
    pub run: RunReport,
}

/// Keys of [`RunData`] that no record may claim for its metadata.
pub const ENGINE_KEYS: [&str; 7] = [
    "result",
    "stdoutTruncated",
    "stderrTruncated",
    "usage",
    "usageWindows",
    "malformedStreamLines",
    "run",
];

/// The payload of an envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Data {
    /// Something was started.
    Run(Box<RunData>),
    /// Nothing was started: `{}`.
    #[schemars(extend("maxProperties" = 0))]
    Refused {},
}

/// The typed answer of one run. Its keys marked optional are the only ones ever left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultEnvelope {
    /// Whether it worked.
    pub status: Status,
    /// Always there.
    pub data: Data,
    /// The first non-blank line of the result (of the first error, where there is no result), at
    /// most [`SUMMARY_CHARS`] characters.
    pub summary: String,
    /// Paths that the run changed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub changed_paths: Option<Vec<String>>,
    /// At least one where the status is not ok.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub errors: Option<Vec<EnvelopeError>>,
}

impl ResultEnvelope {
    /// The envelope of a request that started nothing.
    #[must_use]
    pub fn refused(code: ErrorCode, message: String) -> Self {
        Self {
            status: Status::Failed,
            data: Data::Refused {},
            summary: summarise(&message),
            changed_paths: None,
            errors: Some(vec![EnvelopeError { message, code }]),
        }
    }

    /// What was started and came of it; `None` for a refusal.
    #[must_use]
    pub fn run(&self) -> Option<&RunData> {
        match &self.data {
            Data::Run(run) => Some(run),
            Data::Refused {} => None,
        }
    }

    /// The class of the failure; `None` where the run is ok.
    #[must_use]
    pub fn failure_class(&self) -> Option<FailureClass> {
        if self.status == Status::Ok {
            return None;
        }
        let found = self.run().and_then(|run| run.run.failure.as_ref()).map(|f| f.class);
        let coded = self.errors.iter().flatten().next().map(|error| error.code.class());
        Some(found.or(coded).unwrap_or(FailureClass::Internal))
    }

    /// The process exit code that tells the same as this envelope.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.failure_class().map_or(crate::exit::SUCCESS, FailureClass::exit_code)
    }
}

/// The first non-blank line, trimmed, at most [`SUMMARY_CHARS`] characters.
#[must_use]
pub fn summarise(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    line.chars().take(SUMMARY_CHARS).collect()
}
