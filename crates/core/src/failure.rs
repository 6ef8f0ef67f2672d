//! Failures: a class, where the knowledge came from, and what the vendor says about trying again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::FailureClass;

/// Where the class of a failure was read, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    /// dcli itself saw it: a deadline, a cut stream, a refusal.
    Dcli,
    /// A structured record of the backend.
    Record,
    /// A permission event.
    Permission,
    /// An HTTP status together with the provider's error type.
    Http,
    /// A recorded phrase on standard error.
    Stderr,
    /// The exit code alone.
    ExitCode,
    /// Nothing more was known.
    Unknown,
}

/// How sure the class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Read from a structured field, or seen by dcli.
    High,
    /// Read from a recorded phrase.
    Medium,
    /// Inferred from an exit code or from nothing.
    Low,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The class that the exit code follows.
    pub class: FailureClass,
    /// What was wrong, in words.
    pub message: String,
    /// Where the class was read.
    pub source: FailureSource,
    /// The recorded phrase that matched, where one did.
    pub matched_signal: Option<String>,
    /// How sure the class is.
    pub confidence: Confidence,
    /// The HTTP status of the provider, where the backend tells.
    pub http_code: Option<u16>,
    /// Whether trying again may help; `None` where nobody knows.
    pub retryable: Option<bool>,
    /// When, in the vendor's own form.
    pub retry_at: Option<Value>,
}

impl Failure {
    /// A failure that dcli itself saw.
    #[must_use]
    pub fn seen(class: FailureClass, message: String) -> Self {
        Self {
            class,
            message,
            source: FailureSource::Dcli,
            matched_signal: None,
            confidence: Confidence::High,
            http_code: None,
            retryable: None,
            retry_at: None,
        }
    }
}

/// What an HTTP status means where nothing better is known: (class, whether trying again may help).
///
/// A status is only asked about after the provider's own error type: credit exhaustion was seen as
/// 401 with a typed body, and is quota.
#[must_use]
pub fn class_of_http(status: u16) -> (FailureClass, bool) {
    match status {
        401 | 403 => (FailureClass::Auth, false),
        402 => (FailureClass::QuotaOrRateLimit, false),
        408 | 504 => (FailureClass::Network, true),
        429 => (FailureClass::QuotaOrRateLimit, true),
        500..=599 => (FailureClass::BackendExecutionFailed, true),
        _ => (FailureClass::BackendExecutionFailed, false),
    }
}

/// What a provider's error type means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// The class.
    pub class: FailureClass,
    /// Whether trying again may help; `None` where the type is used for both.
    pub retryable: Option<bool>,
    /// True where the type only says that it went wrong, so that anything else knows better.
    pub general: bool,
}

/// Types that say what happened: (class, whether trying again may help, names). They are those of the
/// Anthropic, OpenAI and Google APIs; what one CLI alone writes stands in that CLI's record.
const SPECIFIC: &[(FailureClass, Option<bool>, &[&str])] = &[
    (
        FailureClass::Auth,
        Some(false),
        &[
            "authentication_error",
            "authentication_failed",
            "invalid_api_key",
            "permission_error",
            "oauth_org_not_allowed",
            "token_expired",
            "UNAUTHENTICATED",
            "PERMISSION_DENIED",
            "API_KEY_INVALID",
        ],
    ),
    (
        FailureClass::QuotaOrRateLimit,
        Some(true),
        &["rate_limit_error", "rate_limit", "rate_limit_exceeded", "usage_limit_reached"],
    ),
    // Google's, for a rate as for spent credit.
    (FailureClass::QuotaOrRateLimit, None, &["RESOURCE_EXHAUSTED"]),
    (
        FailureClass::QuotaOrRateLimit,
        Some(false),
        &[
            "insufficient_quota",
            "insufficient_credits",
            "billing_error",
            "credit_balance_too_low",
            "usage_not_included",
        ],
    ),
    (
        FailureClass::BackendExecutionFailed,
        Some(true),
        &["overloaded_error", "server_overloaded", "server_is_overloaded", "UNAVAILABLE"],
    ),
    (
        FailureClass::BackendExecutionFailed,
        Some(false),
        &["model_not_found", "context_length_exceeded", "request_too_large"],
    ),
];

/// Types that only say whose fault it was: (whether trying again may help, names).
const GENERAL: &[(bool, &[&str])] = &[
    (true, &["api_error", "server_error", "INTERNAL"]),
    (
        false,
        &[
            "invalid_request_error",
            "invalid_request",
            "not_found_error",
            "INVALID_ARGUMENT",
            "FAILED_PRECONDITION",
            "NOT_FOUND",
        ],
    ),
];

/// What a provider's error type means, for the types that the large vendors document.
#[must_use]
pub fn meaning_of_error_type(name: &str) -> Option<Meaning> {
    let specific = SPECIFIC.iter().find(|(_, _, names)| names.contains(&name));
    let general = GENERAL.iter().find(|(_, names)| names.contains(&name));
    let specific =
        specific.map(|&(class, retryable, _)| Meaning { class, retryable, general: false });
    specific.or(general.map(|&(retryable, _)| Meaning {
        class: FailureClass::BackendExecutionFailed,
        retryable: Some(retryable),
        general: true,
    }))
}
