//! Which failing records still stand: the first one that nothing recovered.

use serde_json::Value;

use super::record::FailureRule;
use super::rule::Signal;
use crate::exit::FailureClass;
use crate::failure::{Confidence, Failure, FailureSource, class_of_error_type, class_of_http};

/// The memory of one failure rule. What recovers must come after the rule's last failing record,
/// and then recovers all of them.
#[derive(Debug, Clone, Default)]
struct Standing {
    first: Option<(u64, Failure)>,
    seen: Vec<bool>,
    count: u64,
}

impl Standing {
    fn fail(&mut self, index: u64, failure: &Failure, signs: usize) {
        self.seen = vec![false; signs];
        self.count += 1;
        self.first.get_or_insert_with(|| (index, failure.clone()));
    }

    /// Takes a sign of recovery in; answers with how many failing records it recovered.
    fn recover(&mut self, rule: &FailureRule, record: &Value) -> u64 {
        if self.first.is_none() || rule.recovered_by.is_empty() {
            return 0;
        }
        for (seen, matcher) in self.seen.iter_mut().zip(&rule.recovered_by) {
            *seen |= matcher.matches(record);
        }
        if !self.seen.iter().all(|seen| *seen) {
            return 0;
        }
        std::mem::take(self).count
    }
}

/// The memory of all failure rules of a record.
#[derive(Debug, Clone)]
pub(super) struct Failing {
    rules: Vec<Standing>,
    recovered: u64,
}

impl Failing {
    pub(super) fn new(rules: &[FailureRule]) -> Self {
        Self { rules: vec![Standing::default(); rules.len()], recovered: 0 }
    }

    /// Takes one record in; answers with the failure that it reports, if it does.
    pub(super) fn take(
        &mut self,
        rules: &[FailureRule],
        index: u64,
        record: &Value,
    ) -> Option<Failure> {
        let mut reported = None;
        for (rule, standing) in rules.iter().zip(&mut self.rules) {
            if fails(rule, record) {
                let failure = describe(rule, record);
                standing.fail(index, &failure, rule.recovered_by.len());
                reported = reported.or(Some(failure));
            } else {
                self.recovered += standing.recover(rule, record);
            }
        }
        reported
    }

    /// The first failing record that nothing recovered.
    pub(super) fn first(&self) -> Option<&Failure> {
        let standing = self.rules.iter().filter_map(|rule| rule.first.as_ref());
        standing.min_by_key(|(index, _)| *index).map(|(_, failure)| failure)
    }

    /// How many failing records were recovered from.
    pub(super) fn recovered(&self) -> u64 {
        self.recovered
    }
}

fn fails(rule: &FailureRule, record: &Value) -> bool {
    if !rule.when.matches(record) {
        return false;
    }
    let asked = rule.flag_path.is_some() || rule.status_path.is_some();
    let flagged = rule.flag_path.as_ref().and_then(|path| path.get(record));
    let status = rule.status_path.as_ref().and_then(|path| path.get(record));
    let named = status.and_then(Value::as_str).zip(rule.status_prefix.as_deref());
    !asked
        || flagged.and_then(Value::as_bool) == Some(true)
        || named.is_some_and(|(status, prefix)| status.starts_with(prefix))
}

fn describe(rule: &FailureRule, record: &Value) -> Failure {
    let message = message_of(rule, record);
    let http = rule.http_path.as_ref().and_then(|path| path.get(record)).and_then(Value::as_u64);
    let http = http.and_then(|status| u16::try_from(status).ok());
    let kind =
        rule.error_type_path.as_ref().and_then(|path| path.get(record)).and_then(Value::as_str);
    let named = kind.filter(|kind| !kind.starts_with('{')).map(str::to_owned);
    let named = named.or_else(|| embedded_type(kind.unwrap_or(&message)));
    let typed = named.as_deref().and_then(class_of_error_type);
    let signal = rule.signals.iter().find(|signal| message.contains(&signal.contains));
    classify(message, http, typed, signal)
}

/// The error type inside a message that is itself a provider's JSON body.
fn embedded_type(message: &str) -> Option<String> {
    let start = message.find('{')?;
    let body =
        serde_json::Deserializer::from_str(&message[start..]).into_iter::<Value>().next()?.ok()?;
    let error = body.get("error").unwrap_or(&body);
    error.get("type").and_then(Value::as_str).map(str::to_owned)
}

fn classify(
    message: String,
    http: Option<u16>,
    typed: Option<FailureClass>,
    signal: Option<&Signal>,
) -> Failure {
    let http = http.or(signal.and_then(|signal| signal.http_code));
    let by_status = http.map(class_of_http);
    let (class, source, confidence) = match (typed, signal, by_status) {
        (Some(class), _, _) => (class, FailureSource::Record, Confidence::High),
        (None, Some(signal), _) => (signal.class, FailureSource::Record, Confidence::Medium),
        (None, None, Some((class, _))) => (class, FailureSource::Http, Confidence::High),
        (None, None, None) => {
            (FailureClass::BackendExecutionFailed, FailureSource::Record, Confidence::Low)
        }
    };
    Failure {
        class,
        message,
        source,
        matched_signal: signal.map(|signal| signal.contains.clone()),
        confidence,
        http_code: http,
        retryable: signal.and_then(|signal| signal.retryable).or(by_status.map(|found| found.1)),
        retry_at: None,
    }
}

fn message_of(rule: &FailureRule, record: &Value) -> String {
    let found =
        rule.message_paths.iter().find_map(|path| path.get(record).filter(|v| !v.is_null()));
    match found {
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(Value::String(_)) | None => "the backend reported a failure without a message".into(),
        Some(other) => other.to_string(),
    }
}
