//! HTTP errors as each vendor words them.

use serde_json::{Value, json};

use super::Wire;

/// An error answer.
#[derive(Clone, Debug)]
pub(in crate::model) struct Refusal {
    pub(in crate::model) status: u16,
    pub(in crate::model) message: String,
    /// Seconds.
    pub(in crate::model) retry_after: Option<u64>,
}

/// The body of the error.
pub(in crate::model) fn refusal(wire: Wire, refusal: &Refusal) -> Value {
    let message = &refusal.message;
    let kind = kind(refusal.status);
    match wire {
        Wire::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Wire::Responses | Wire::Chat => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
        }
        Wire::Gemini => gemini(refusal),
    }
}

fn gemini(refusal: &Refusal) -> Value {
    let delay = refusal.retry_after.map(|seconds| {
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        json!({"@type": kind, "retryDelay": format!("{seconds}s")})
    });
    let details: Vec<Value> = delay.into_iter().collect();
    json!({"error": {
        "code": refusal.status,
        "message": refusal.message,
        "status": gemini_status(refusal.status),
        "details": details,
    }})
}

/// Anthropic's error types (platform documentation, "Errors"); OpenAI's clients do not look at them.
fn kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

/// The names of google.rpc.Code for HTTP statuses.
fn gemini_status(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}
