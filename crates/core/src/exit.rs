//! The exit codes of dcli: one table of failure classes, and the codes that belong to no class.
//!
//! Both directions, class to code and code to class, are read off [`FailureClass::TABLE`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Success.
pub const SUCCESS: u8 = 0;
/// A job id whose directory does not exist.
pub const NOT_FOUND: u8 = 3;
/// A job that has not reached a terminal state.
pub const NOT_TERMINAL: u8 = 4;
/// `wait` ran out; the job goes on.
pub const STILL_ACTIVE: u8 = 20;

macro_rules! failure_classes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Why something failed, in the words callers may match on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FailureClass { $($(#[$doc])* $variant,)* }

        impl FailureClass {
            /// Every class with its exit code and its name, in order of code.
            pub const TABLE: &'static [(FailureClass, u8, &'static str)] =
                &[$((FailureClass::$variant, $code, $name),)*];
        }
    };
}

failure_classes! {
    /// A bug or an unclassified error in dcli itself.
    Internal = 1, "internal";
    /// The request is malformed; nothing was started.
    UsageError = 2, "usage_error";
    /// A valid request that this backend cannot serve; nothing was started.
    UnsupportedCapability = 2, "unsupported_capability";
    /// The backend or its provider failed.
    BackendExecutionFailed = 10, "backend_execution_failed";
    /// No usable result, or it could not be saved.
    NoResult = 11, "no_result";
    /// Environment or version incompatible, or a demanded guarantee unmet.
    Environment = 12, "environment";
    /// The provider did not accept the credentials.
    Auth = 13, "auth";
    /// Quota, credit or rate limit.
    QuotaOrRateLimit = 14, "quota_or_rate_limit";
    /// Permission or sandbox denial, or a question nobody may answer.
    PermissionOrSandbox = 15, "permission_or_sandbox";
    /// The network between the backend and its provider.
    Network = 16, "network";
    /// A lock held elsewhere, local capacity, or an unreadable record.
    Lock = 17, "lock";
    /// Worker or backend never started; nothing was consumed.
    WorkerLaunch = 18, "worker_launch";
    /// Cancellation could not be confirmed; survivors are named.
    CancelUnconfirmed = 21, "cancel_unconfirmed";
    /// A session is missing, expired or unfit for the resume asked for.
    SessionExpired = 22, "session_expired";
    /// Preparing a repository or worktree failed.
    Repository = 23, "repository";
    /// A deadline ended the run.
    Timeout = 24, "timeout";
    /// A change conflicts; the repository was verified restored.
    ApplyConflict = 25, "apply_conflict";
    /// The backend's output broke its protocol, or was cut.
    Protocol = 26, "protocol";
    /// A change failed to apply; the repository could not be verified restored.
    RepositoryStateUnverified = 27, "repository_state_unverified";
    /// A cap refused the run before anything was started.
    CapExceeded = 28, "cap_exceeded";
    /// An operation's plan is spent, expired or no longer matches.
    OpPlanInvalid = 29, "op_plan_invalid";
    /// The run ended cancelled.
    Cancelled = 30, "cancelled";
    /// The worker of a job died.
    WorkerLost = 31, "worker_lost";
    /// An operation ended partial.
    OpPartial = 32, "op_partial";
    /// An operation ended indeterminate.
    OpIndeterminate = 33, "op_indeterminate";
}

impl FailureClass {
    /// The exit code of this class.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.0 == self).map_or(1, |row| row.1)
    }

    /// The class's name as it is written in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("internal", |row| row.2)
    }

    /// The classes that end with `code` (two for code 2, none for 0, 3, 4 and 20).
    pub fn of_code(code: u8) -> impl Iterator<Item = FailureClass> {
        Self::TABLE.iter().filter(move |row| row.1 == code).map(|row| row.0)
    }
}

impl std::fmt::Display for FailureClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_derive_from_one_table() {
        for (class, code, name) in FailureClass::TABLE {
            assert_eq!(class.exit_code(), *code);
            assert!(FailureClass::of_code(*code).any(|found| found == *class));
            assert_eq!(serde_json::to_value(class).unwrap(), *name);
        }
    }

    #[test]
    fn no_class_takes_a_code_that_means_something_else() {
        for code in [SUCCESS, NOT_FOUND, NOT_TERMINAL, STILL_ACTIVE] {
            assert_eq!(FailureClass::of_code(code).count(), 0);
        }
    }
}
