//! One HTTP client for one server: every call has the job's password and the job's directory, goes
//! nowhere else, and ends in bounded time.

use std::io::Read;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use thiserror::Error;
use ureq::{Agent, Body, Error, http};

use super::operations::Operation;

/// The user that `opencode serve` knows.
const USER: &str = "opencode";
const CONNECT: Duration = Duration::from_secs(10);
/// The largest answer that is read: 256 MiB.
const BODY_CAP: u64 = 256 << 20;
/// How much of a refusal is shown, in characters.
const SHOWN: usize = 300;
/// The stream of events has a heartbeat every 10 s: after so long without one it is dead.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum CallError {
    /// No connection, or it broke.
    #[error("{operation}: {reason}")]
    Unreachable {
        /// Which call.
        operation: String,
        /// Why.
        reason: String,
    },
    /// No whole answer in time.
    #[error("{operation}: no answer within {sec} s")]
    TimedOut {
        /// Which call.
        operation: String,
        /// How long it was waited for, in seconds.
        sec: u64,
    },
    /// The server refused.
    #[error("{operation}: HTTP {status} {message}")]
    Status {
        /// Which call.
        operation: String,
        /// The status.
        status: u16,
        /// What the server said about it, cut.
        message: String,
    },
    /// What came is no JSON.
    #[error("{operation}: the answer is no JSON ({reason})")]
    NotJson {
        /// Which call.
        operation: String,
        /// Why.
        reason: String,
    },
    /// What came is too long.
    #[error("{operation}: the answer is longer than 256 MiB")]
    TooLong {
        /// Which call.
        operation: String,
    },
}

impl CallError {
    /// Whether the same call may well come through later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::NotJson { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            Self::TooLong { .. } => false,
        }
    }

    /// The status, where the server gave one.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// The client. It is never shown: the password is in it.
#[derive(Clone)]
pub(super) struct Client {
    agent: Agent,
    url: String,
    directory: String,
    authorization: String,
}

impl Client {
    /// For the server at `url`, working in `directory`.
    pub(super) fn new(url: &str, directory: &[u8], password: &str) -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT))
            .user_agent("dcli")
            .build();
        Self {
            agent: config.new_agent(),
            url: url.to_owned(),
            directory: encoded(directory),
            authorization: format!("Basic {}", STANDARD.encode(format!("{USER}:{password}"))),
        }
    }

    /// Where the server is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// One call; `id` fills the operation's path. An empty answer is `null`.
    pub(super) fn call(
        &self,
        operation: &Operation,
        id: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, CallError> {
        let name = operation.to_string();
        let url = self.target(operation, id);
        let failed = |error: Error| explained(&name, patience, error);
        let sent = match operation.method {
            "POST" => {
                let request = self.agent.post(&url).header("authorization", &self.authorization);
                let request = request.config().timeout_global(Some(patience)).build();
                match body {
                    Some(body) => request
                        .header("content-type", "application/json")
                        .send(body.to_string().as_str()),
                    None => request.send_empty(),
                }
            }
            _ => {
                let request = self.agent.get(&url).header("authorization", &self.authorization);
                request.config().timeout_global(Some(patience)).build().call()
            }
        };
        let (parts, body) = sent.map_err(failed)?.into_parts();
        let bytes = body.into_with_config().limit(BODY_CAP).read_to_vec().map_err(failed)?;
        if !parts.status.is_success() {
            let (status, message) = (parts.status.as_u16(), refusal(&bytes));
            return Err(CallError::Status { operation: name, status, message });
        }
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| CallError::NotJson { operation: name, reason: error.to_string() })
    }

    /// The status of a call that has no password.
    pub(super) fn without_password(
        &self,
        operation: &Operation,
        patience: Duration,
    ) -> Result<u16, CallError> {
        let request = self.agent.get(self.target(operation, ""));
        let answer = request.config().timeout_global(Some(patience)).build().call();
        let answer = answer.map_err(|error| explained(&operation.to_string(), patience, error))?;
        Ok(answer.status().as_u16())
    }

    /// The stream of events. A read that waits for longer than three heartbeats fails.
    pub(super) fn events(&self, operation: &Operation) -> Result<impl Read + use<>, CallError> {
        let request = self.agent.get(self.target(operation, ""));
        let request = request
            .header("authorization", &self.authorization)
            .header("accept", "text/event-stream")
            .config()
            .timeout_recv_response(Some(HEARTBEAT))
            .timeout_per_read(Some(HEARTBEAT))
            .build();
        let answer: http::Response<Body> =
            request.call().map_err(|error| explained(&operation.to_string(), HEARTBEAT, error))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(CallError::Status {
                operation: operation.to_string(),
                status: status.as_u16(),
                message: String::new(),
            });
        }
        Ok(answer.into_body().into_with_config().limit(u64::MAX).reader())
    }

    fn target(&self, operation: &Operation, id: &str) -> String {
        let path = operation.path_of(&encoded(id.as_bytes()));
        format!("{}{path}?directory={}", self.url, self.directory)
    }
}

fn explained(operation: &str, patience: Duration, error: Error) -> CallError {
    let operation = operation.to_owned();
    match error {
        Error::Timeout(_) => CallError::TimedOut { operation, sec: patience.as_secs() },
        Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            CallError::TimedOut { operation, sec: patience.as_secs() }
        }
        Error::BodyExceedsLimit(_) => CallError::TooLong { operation },
        other => CallError::Unreachable { operation, reason: other.to_string() },
    }
}

/// What a refusal says: its own message, or its beginning.
fn refusal(bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let said = value.pointer("/data/message").or(value.get("message")).and_then(Value::as_str);
    let text = said.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), str::to_owned);
    text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As one value of a query, or one part of a path (RFC 3986, unreserved characters alone).
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_travels_in_a_query_whatever_its_name() {
        assert_eq!(encoded("/a b/ü&x=1?#%".as_bytes()), "%2Fa%20b%2F%C3%BC%26x%3D1%3F%23%25");
        assert_eq!(encoded(b"ses_Az09-._~"), "ses_Az09-._~");
    }

    #[test]
    fn a_refusal_is_shown_by_its_own_words_and_cut() {
        let said = br#"{"name":"BadRequest","data":{"message":"Missing key\n  at [\"answers\"]"}}"#;
        assert_eq!(refusal(said), "Missing key   at [\"answers\"]");
        assert_eq!(refusal(&[b'x'; 1000]).len(), SHOWN);
        assert_eq!(refusal(b""), "");
    }
}
