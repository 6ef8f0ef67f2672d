//! What is kept in a record: everything in it redacted, but for the words and names that dcli itself put there.
//!
//! Every value given with `--env` is a secret, so `MODE=running` makes the word `running` one. A
//! record whose `state` reads `«redacted:MODE»` is lost, and hides nothing: the word is dcli's own.

use std::borrow::Cow;
use std::io;

use dcli_core::job::id::InteractionId;
use dcli_core::redact::{Redactor, Stream};
use serde::Serialize;
use serde_json::Value;

/// Keys at the top of a record whose values are dcli's own: ids, times, places, and how the worker
/// is to be recognised.
const OWN_KEYS: [&str; 33] = [
    "access",
    "adapter_version",
    "at",
    "attempt_id",
    "backend",
    "cancel_requested_at",
    "capabilities_snapshot",
    "created_at",
    "cwd",
    "execution_owner",
    "execution_root",
    "execution_token_hash",
    "executor",
    "finished_at",
    "group",
    "heartbeat_at",
    "job_id",
    "kind",
    "mode",
    "parent_job_id",
    "phase",
    "repo_key",
    "repo_root",
    "root_job_id",
    "session_strategy",
    "started_at",
    "state",
    "status",
    "type",
    "updated_at",
    "worker",
    "worker_identity",
    "worktree",
];

/// Words of closed vocabularies, and names of fields within fields. A text, or a key, that is one of
/// them as a whole is never a secret.
const OWN_WORDS: &str = "created queued running done failed timed_out cancelled interrupted \
    validating preparing worktree_creating worker_launching server_starting session_creating \
    agent_starting agent_running result_collecting snapshot_committing finalizing terminal \
    exited signalled ended_after_result deadline_startup deadline_idle deadline_hard lost \
    not_contained already_gone session_abort server_dispose interrupt hard_kill \
    containment_unavailable launching new continued forked ok absent malformed \
    pid-namespace guardian process-group job-object taskkill-tree none mount-namespace landlock \
    backend open blocked unknown run implement read-only workspace unconfined \
    dcli record permission http stderr exit_code high medium low startup idle hard \
    null true false \
    kind degraded verified class message source matched_signal confidence http_code retryable \
    retry_at code detail input output reasoning cache_read cache_write total schema_version \
    pre_authorized denied_by_policy awaiting_authorized_responder rejected_unattended \
    allow allow_always deny answer expired question questions patterns always header options label \
    description multiple answers \
    path base_commit result_commit changed_files interaction_id decision responder outcome \
    created_at resolved_at started_at comm type at seq data error model usage warnings";

/// Redacts what is written below a job's directory.
#[derive(Debug, Clone)]
pub struct Redaction {
    redactor: Redactor,
}

impl Redaction {
    /// With the secrets that `redactor` knows.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor }
    }

    /// A record as JSON on one line, redacted.
    ///
    /// # Errors
    /// The record has no JSON form.
    pub fn json(&self, record: &impl Serialize) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(&self.value(serde_json::to_value(record)?))?)
    }

    /// A record as JSON for people to look at, redacted, and whether anything in it was covered.
    ///
    /// # Errors
    /// The record has no JSON form.
    pub fn pretty_json(&self, record: &impl Serialize) -> io::Result<(Vec<u8>, bool)> {
        let plain = serde_json::to_value(record)?;
        let kept = self.value(plain.clone());
        let mut bytes = serde_json::to_vec_pretty(&kept)?;
        bytes.push(b'\n');
        Ok((bytes, kept != plain))
    }

    /// Whether nothing in a text is covered.
    #[must_use]
    pub fn is_free(&self, text: &str) -> bool {
        matches!(self.redactor.text(text), Cow::Borrowed(_))
    }

    /// Raw bytes as they come.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.redactor.stream()
    }

    /// The keys at the top of a record are dcli's own, whatever a secret looks like.
    fn value(&self, plain: Value) -> Value {
        let Value::Object(fields) = plain else { return self.covered(plain) };
        let field = |(key, plain): (String, Value)| {
            let is_own = OWN_KEYS.contains(&key.as_str());
            let kept = if is_own { plain } else { self.covered(plain) };
            (key, kept)
        };
        Value::Object(fields.into_iter().map(field).collect())
    }

    fn covered(&self, plain: Value) -> Value {
        // Most of what is kept is a text without a secret, or no text: nothing is copied for it.
        let is_plain = match &plain {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => self.is_free(text),
            Value::Array(_) | Value::Object(_) => false,
        };
        if is_plain {
            return plain;
        }
        let mut kept = plain.clone();
        self.redactor.value(&mut kept);
        if kept == plain { plain } else { with_own_words(kept, plain) }
    }
}

/// What was covered, with dcli's own words put back.
fn with_own_words(kept: Value, plain: Value) -> Value {
    match (kept, plain) {
        (Value::Object(kept), Value::Object(plain)) if kept.len() == plain.len() => {
            let fields = kept.into_iter().zip(plain);
            let field = |((kept_key, kept), (key, plain)): ((String, _), (String, _))| {
                let key = if is_own_word(&key) { key } else { kept_key };
                (key, with_own_words(kept, plain))
            };
            Value::Object(fields.map(field).collect())
        }
        (Value::Array(kept), Value::Array(plain)) => {
            let items = kept.into_iter().zip(plain);
            Value::Array(items.map(|(kept, plain)| with_own_words(kept, plain)).collect())
        }
        (_, Value::String(plain)) if is_own(&plain) => Value::String(plain),
        (kept, _) => kept,
    }
}

/// A word of dcli's own, or a name or a time that it gave: these stand within fields too.
fn is_own(text: &str) -> bool {
    is_own_word(text) || text.parse::<InteractionId>().is_ok() || is_time(text)
}

/// RFC 3339 in UTC with milliseconds.
fn is_time(text: &str) -> bool {
    let shape = "0000-00-00T00:00:00.000Z".bytes();
    let fits = |(shape, byte): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        shape => byte == shape,
    };
    text.len() == shape.len() && shape.zip(text.bytes()).all(fits)
}

fn is_own_word(text: &str) -> bool {
    let classes = dcli_core::exit::FailureClass::TABLE;
    OWN_WORDS.split_whitespace().any(|word| word == text)
        || classes.iter().any(|(_, _, name)| *name == text)
}
