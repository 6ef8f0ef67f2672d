//! What a failing record says about its cause: structured fields first, recorded phrases after them.
//!
//! A number classifies only where a field, or a vendor's own words before it, make it an HTTP status.

use serde_json::Value;

use super::record::{FailureRule, Output};
use super::rule::{ErrorType, NoteRule, Signal};
use crate::exit::FailureClass;
use crate::failure::{
    Confidence, Failure, FailureSource, Meaning, class_of_http, meaning_of_error_type,
};

/// The longest text that can say when to try again, in bytes.
const WHEN_BYTES: usize = 80;

/// What earlier records said about a failure to come, one entry for each rule.
#[derive(Debug, Clone)]
pub(super) struct Notes(Vec<Note>);

#[derive(Debug, Clone, Default)]
struct Note {
    error_type: Option<String>,
    retry_at: Option<Value>,
}

impl Notes {
    pub(super) fn new(rules: &[NoteRule]) -> Self {
        Self(vec![Note::default(); rules.len()])
    }

    /// Takes one record in.
    pub(super) fn take(&mut self, rules: &[NoteRule], record: &Value) {
        for (rule, note) in rules.iter().zip(&mut self.0) {
            if !rule.when.matches(record) {
                continue;
            }
            *note = Note::default();
            if rule.only_if.matches(record) {
                let name = rule.error_type_path.as_ref().and_then(|path| path.get(record));
                let when = rule.retry_at_path.as_ref().and_then(|path| path.get(record));
                note.error_type = name.and_then(Value::as_str).map(str::to_owned);
                note.retry_at = when.filter(|when| !when.is_null()).cloned();
            }
        }
    }
}

/// The failure that `record` reports under `rule`.
pub(super) fn diagnose(
    output: &Output,
    rule: &FailureRule,
    notes: &Notes,
    record: &Value,
) -> Failure {
    let message = message_of(rule, record);
    let answer = rule.body_path.as_ref().and_then(|path| path.get(record)).and_then(Value::as_str);
    let body = answer.and_then(body_in).or_else(|| body_in(&message));
    let signals: Vec<&Signal> = rule.signals.iter().chain(&output.signals).collect();
    let phrases = Phrases::of(&message, signals.iter().copied());
    let told = told_status(rule, record, body.as_ref());
    let status = told.map(Status::told).or_else(|| worded_status(&output.http_after, &message));
    let status = status.or(phrases.http.map(|signal| Status::worded(signal.0, &signal.1.contains)));
    let types = Types::of(output, &names(rule, notes, record, body.as_ref()));
    let flag = rule.retryable_path.as_ref().and_then(|path| path.get(record));
    let mut failure =
        classify(&types, &phrases, status.as_ref(), flag.and_then(Value::as_bool), message);
    let told = told_time(rule, record, body.as_ref());
    let noted = notes.0.iter().find_map(|note| note.retry_at.clone());
    let noted = noted.filter(|_| failure.class == FailureClass::QuotaOrRateLimit);
    failure.retry_at = told.or(noted).or(phrases.retry_at);
    failure
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

/// The error object of a provider's answer: in Anthropic's, OpenAI's and Google's APIs alike it is
/// the value of `error`. Google's may hold the text of another one as its message.
fn body_in(text: &str) -> Option<Value> {
    let read = |text: &str| {
        let start = text.find('{')?;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        values.next()?.ok()
    };
    let outer = read(text)?;
    let inner = outer.pointer("/error/message").and_then(Value::as_str).and_then(read);
    let error_of = |body: Value| match body.get("error") {
        Some(error) if error.is_object() => error.clone(),
        _ => body,
    };
    Some(error_of(inner.filter(|inner| inner.get("error").is_some()).unwrap_or(outer)))
}

/// Every name for the error, the nearest first.
fn names<'v>(
    rule: &FailureRule,
    notes: &'v Notes,
    record: &'v Value,
    body: Option<&'v Value>,
) -> Vec<&'v str> {
    let own = rule.error_type_paths.iter().filter_map(|path| path.get(record)?.as_str());
    let keys = ["code", "type", "status"].into_iter();
    let in_body = keys.filter_map(|key| body?.get(key)?.as_str());
    // Google's reasons stand in a list of details.
    let details = body.and_then(|body| body.get("details")?.as_array()).into_iter().flatten();
    let reasons = details.filter_map(|detail| detail.get("reason")?.as_str());
    let noted = notes.0.iter().filter_map(|note| note.error_type.as_deref());
    own.chain(in_body).chain(reasons).chain(noted).collect()
}

/// What the names for the error mean.
struct Types {
    specific: Option<Meaning>,
    general: Option<Meaning>,
}

impl Types {
    fn of(output: &Output, names: &[&str]) -> Self {
        let meanings = || names.iter().filter_map(|name| meaning(&output.error_types, name));
        Self {
            specific: meanings().find(|meaning| !meaning.general),
            general: meanings().find(|meaning| meaning.general),
        }
    }
}

fn meaning(own: &[ErrorType], name: &str) -> Option<Meaning> {
    let own = own.iter().find(|known| known.name == name).map(|known| Meaning {
        class: known.class,
        retryable: Some(known.retryable),
        general: false,
    });
    own.or_else(|| meaning_of_error_type(name))
}

/// The provider's HTTP status, and the words that made a number one.
struct Status {
    code: u16,
    words: Option<String>,
}

impl Status {
    fn told(code: u16) -> Self {
        Self { code, words: None }
    }

    fn worded(code: u16, words: &str) -> Self {
        Self { code, words: Some(words.to_owned()) }
    }
}

fn told_status(rule: &FailureRule, record: &Value, body: Option<&Value>) -> Option<u16> {
    let own = rule.http_path.as_ref().and_then(|path| path.get(record)).and_then(Value::as_u64);
    let in_body = body.and_then(|body| body.get("code")).and_then(Value::as_u64);
    let code = own.or(in_body).and_then(|code| u16::try_from(code).ok());
    code.filter(|code| (100..600).contains(code))
}

fn worded_status(http_after: &[String], message: &str) -> Option<Status> {
    http_after.iter().find_map(|words| {
        let rest = message.split_once(words.as_str())?.1;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let code = rest[..end].parse::<u16>().ok().filter(|code| (100..600).contains(code))?;
        Some(Status::worded(code, &format!("{words}{code}")))
    })
}

fn told_time(rule: &FailureRule, record: &Value, body: Option<&Value>) -> Option<Value> {
    let own = rule.retry_at_paths.iter().filter_map(|path| path.get(record));
    let in_body = rule.body_retry_at_paths.iter().filter_map(|path| path.get(body?));
    own.chain(in_body).find(|when| !when.is_null()).cloned()
}

/// What the recorded phrases of a text say.
pub(crate) struct Phrases<'s> {
    /// The first phrase that is there: the class.
    pub(crate) first: Option<&'s Signal>,
    /// The first HTTP status that a phrase stands for.
    pub(crate) http: Option<(u16, &'s Signal)>,
    /// When to try again, in the text's own words.
    pub(crate) retry_at: Option<Value>,
}

impl<'s> Phrases<'s> {
    /// Looks for each phrase in `text`.
    pub(crate) fn of(text: &str, signals: impl Iterator<Item = &'s Signal>) -> Self {
        let mut found = Self { first: None, http: None, retry_at: None };
        for signal in signals.filter(|signal| text.contains(&signal.contains)) {
            found.first = found.first.or(Some(signal));
            found.http = found.http.or(signal.http_code.map(|code| (code, signal)));
            let words = signal.retry_at_after.as_deref().filter(|_| found.retry_at.is_none());
            found.retry_at = found.retry_at.or_else(|| when_after(text, words?).map(Value::from));
        }
        found
    }
}

/// The words after `words`, to the end of the sentence or the line: a time has a digit.
fn when_after<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let line = text.split_once(words)?.1.lines().next()?;
    let end = [". ", "]"].iter().filter_map(|stop| line.find(stop)).min().unwrap_or(line.len());
    let when = line[..end].trim().trim_end_matches(['.', ',']);
    let is_time = when.len() <= WHEN_BYTES && when.contains(|c: char| c.is_ascii_digit());
    is_time.then_some(when)
}

/// The longest message of a failure, in bytes: it is kept in records that are read whole.
const LONGEST_MESSAGE: usize = 16 * 1024;

fn bounded(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push_str("… (cut)");
    }
    message
}

/// The first of these that is there: a type that says what happened, a recorded phrase, an HTTP
/// status, a type that only says whose fault it was.
fn classify(
    types: &Types,
    phrases: &Phrases<'_>,
    status: Option<&Status>,
    flag: Option<bool>,
    message: String,
) -> Failure {
    use FailureSource::{Http, Record};
    let by_status = status.map(|status| class_of_http(status.code));
    let status_says = flag.or(by_status.map(|found| found.1));
    let mut signal = None;
    let (class, source, confidence, retryable) = if let Some(meaning) = types.specific {
        let same = phrases.first.filter(|phrase| phrase.class == meaning.class);
        let phrase_says = same.and_then(|phrase| phrase.retryable);
        let retryable = meaning.retryable.or(phrase_says).or(status_says);
        (meaning.class, Record, Confidence::High, retryable)
    } else if let Some(phrase) = phrases.first {
        signal = Some(phrase.contains.clone());
        (phrase.class, Record, Confidence::Medium, phrase.retryable.or(status_says))
    } else if let (Some((class, _)), Some(status)) = (by_status, status) {
        signal.clone_from(&status.words);
        let confidence = if signal.is_some() { Confidence::Medium } else { Confidence::High };
        (class, Http, confidence, status_says)
    } else if let Some(meaning) = types.general {
        (meaning.class, Record, Confidence::Medium, flag.or(meaning.retryable))
    } else {
        (FailureClass::BackendExecutionFailed, Record, Confidence::Low, flag)
    };
    Failure {
        class,
        message: bounded(message),
        source,
        matched_signal: signal,
        confidence,
        http_code: status.map(|status| status.code),
        retryable,
        retry_at: None,
    }
}
