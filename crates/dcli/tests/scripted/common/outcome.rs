//! What `dcli exec` answered, and the contract's own tables to hold it to.

use std::fmt;
use std::process::ExitStatus;

use serde_json::Value;

use super::schema::fits;

/// Exit status and both outputs.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// The envelope.
#[derive(Debug)]
pub(crate) struct Envelope(pub(crate) Value);

/// docs/exit-codes.md: the code of each error of an envelope, where no better class was found.
const ERRORS: [(&str, i32); 12] = [
    ("executorNotFound", 2),
    ("executorInvalid", 2),
    ("requestInvalid", 2),
    ("executorPermissionDenied", 15),
    ("executorUnavailable", 12),
    ("executorTimedOut", 24),
    ("executorIncomplete", 10),
    ("executorOutputTruncated", 26),
    ("executorNoResult", 11),
    ("executorCancelled", 30),
    ("executorCapExceeded", 28),
    ("executorRunFailed", 10),
];

/// docs/exit-codes.md: the code of each failure class that a run can have.
const CLASSES: [(&str, i32); 14] = [
    ("internal", 1),
    ("backend_execution_failed", 10),
    ("no_result", 11),
    ("environment", 12),
    ("auth", 13),
    ("quota_or_rate_limit", 14),
    ("permission_or_sandbox", 15),
    ("network", 16),
    ("worker_launch", 18),
    ("cancel_unconfirmed", 21),
    ("session_expired", 22),
    ("repository", 23),
    ("timeout", 24),
    ("protocol", 26),
];

fn look_up(table: &[(&str, i32)], name: &str) -> Option<i32> {
    table.iter().find(|row| row.0 == name).map(|row| row.1)
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        let stdout: String = stdout.chars().take(4000).collect();
        write!(f, "{}\nstdout: {stdout}\nstderr: {}", self.status, self.stderr)
    }
}

impl Outcome {
    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("no exit code: {self:?}"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The one envelope that standard output must be, its exit code being the contract's.
    pub(crate) fn envelope(&self) -> Envelope {
        self.checked(Envelope(self.json("envelope")))
    }

    /// The one line of JSON that standard output must be, which fits the schema of this name.
    pub(crate) fn json(&self, shape: &str) -> Value {
        let text = self.text();
        let line = text.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {self:?}"));
        assert!(!line.contains('\n'), "more than one line: {self:?}");
        let value = serde_json::from_str(line).unwrap();
        fits(shape, &value);
        value
    }

    /// Every line of `--events`: the facts, and the envelope that comes last.
    pub(crate) fn events(&self) -> (Vec<Value>, Envelope) {
        let lines = self.text().lines().map(|line| serde_json::from_str(line).unwrap());
        let mut facts: Vec<Value> = lines.collect();
        facts.iter().for_each(|line| fits("event", line));
        let last = facts.pop().unwrap_or_else(|| panic!("nothing was printed: {self:?}"));
        assert_eq!(last["type"], "envelope", "{self:?}");
        (facts, self.checked(Envelope(last["envelope"].clone())))
    }

    fn checked(&self, envelope: Envelope) -> Envelope {
        assert_eq!(envelope.promised_code(), self.code(), "{self:?}");
        assert!(envelope.0["data"].is_object(), "data is always there: {self:?}");
        assert_eq!(envelope.status() != "ok", envelope.0["errors"].is_array(), "{self:?}");
        envelope
    }

    /// A refusal: this code, this exit code, no data, and the message on standard error too.
    pub(crate) fn refused(&self, code: &str, exit: i32) -> String {
        let envelope = self.envelope();
        assert_eq!((envelope.code(), self.code()), (code, exit), "{self:?}");
        assert_eq!(envelope.0["data"], serde_json::json!({}), "{self:?}");
        let message = envelope.message().to_owned();
        let first = message.split(';').next().unwrap();
        let first = first.lines().next().unwrap();
        assert!(self.stderr.contains(first), "standard error does not say it: {self:?}");
        message
    }
}

impl Envelope {
    pub(crate) fn status(&self) -> &str {
        self.0["status"].as_str().unwrap()
    }

    /// The code of the first error, or an empty text.
    pub(crate) fn code(&self) -> &str {
        self.0["errors"][0]["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.0["errors"][0]["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn data(&self) -> &Value {
        &self.0["data"]
    }

    pub(crate) fn result(&self) -> &Value {
        &self.0["data"]["result"]
    }

    pub(crate) fn run(&self) -> &Value {
        &self.0["data"]["run"]
    }

    pub(crate) fn exit_kind(&self) -> &str {
        self.run()["exit"]["kind"].as_str().unwrap_or_default()
    }

    /// The failure's class.
    pub(crate) fn class(&self) -> &str {
        self.run()["failure"]["class"].as_str().unwrap_or_default()
    }

    /// The message of the warning with this code.
    pub(crate) fn warning(&self, code: &str) -> Option<&str> {
        let warnings = self.run()["warnings"].as_array()?;
        warnings.iter().find(|warning| warning["code"] == code)?["message"].as_str()
    }

    /// Fails unless it is ok with this result.
    pub(crate) fn ok(&self, result: &str) -> &Self {
        assert_eq!((self.status(), self.result().as_str()), ("ok", Some(result)), "{self:#?}");
        self
    }

    /// Fails unless it failed with this code.
    pub(crate) fn failed(&self, code: &str) -> &Self {
        assert_eq!((self.status(), self.code()), ("failed", code), "{self:#?}");
        self
    }

    /// The exit code by the contract: the failure's class, else the error's code.
    fn promised_code(&self) -> i32 {
        if self.status() == "ok" {
            return 0;
        }
        look_up(&CLASSES, self.class())
            .or_else(|| look_up(&ERRORS, self.code()))
            .unwrap_or_else(|| panic!("no code for {self:#?}"))
    }
}
