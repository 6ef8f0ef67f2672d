//! Applies the rules of one record to the lines of one stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::failing::Failing;
use super::making::{self, Request};
use super::record::Record;
use super::rule::FactKind;
use super::scan::Scan;
use super::tally::Tally;
use crate::decode::{Projection, Record as Line};
use crate::fact::{Fact, InteractionOutcome, Warning};
use crate::failure::Failure;

/// The longest session id, in bytes: a longer one is none.
const LONGEST_SESSION: usize = 4096;

/// How many open calls and tasks are told apart; more are not remembered. A run with more open
/// tasks cannot be proven complete.
const REMEMBERED: usize = 4096;

/// The tool call that was announced last, for what is said about it afterwards.
#[derive(Debug, Default)]
struct LastCall {
    id: Option<String>,
    words: Option<String>,
}

/// What reads the lines of one stream.
#[derive(Debug)]
pub(super) struct Reader {
    record: Arc<Record>,
    failing: Failing,
    tally: Tally,
    open_calls: BTreeSet<String>,
    last_call: LastCall,
    pub(super) requests: Vec<Request>,
    /// A failure that was seen beside the stream.
    pub(super) beside: Option<Failure>,
    pub(super) scan: Scan,
}

impl Reader {
    pub(super) fn new(record: Arc<Record>) -> Self {
        let keys = record.output.metadata.iter().map(|rule| (rule.key.clone(), Value::Null));
        let scan = Scan { metadata: keys.collect(), ..Scan::default() };
        let failing = Failing::new(&record.output);
        let (open_calls, last_call) = (BTreeSet::new(), LastCall::default());
        let (tally, requests) = (Tally::default(), Vec::new());
        Self { record, failing, tally, open_calls, last_call, requests, beside: None, scan }
    }

    pub(super) fn line(&mut self, line: Line, broken: bool, each: &mut impl FnMut(Fact)) {
        match line {
            Line::Blank | Line::NotObject => {}
            Line::Malformed(_) => {
                self.scan.malformed += 1;
                if broken {
                    self.tally.void();
                    self.settle_usage();
                }
            }
            Line::Oversized { bytes } => {
                self.scan.oversized += 1;
                self.tally.void();
                self.settle_usage();
                let reason = format!("a line of {bytes} bytes is over the line cap");
                each(Fact::OutputTruncated { stream: "stdout".into(), reason });
            }
            Line::Object(value) => self.object(&value, each),
        }
    }

    pub(super) fn tail(&mut self, tail: Line, broken: bool, each: &mut impl FnMut(Fact)) {
        let whole = matches!(tail, Line::Object(_) | Line::Blank | Line::NotObject);
        if !whole && !self.scan.terminal {
            self.scan.cut = true;
        }
        self.line(tail, broken, each);
    }

    pub(super) fn whole(
        &mut self,
        bytes: &[u8],
        projection: &Projection,
        each: &mut impl FnMut(Fact),
    ) {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        match Line::read(bytes, projection) {
            Line::Malformed(_) => self.embedded(bytes, projection, each),
            line => self.line(line, true, each),
        }
    }

    /// The object among noise: the first whole one that begins a line, and none that lies inside
    /// another that is cut.
    fn embedded(&mut self, bytes: &[u8], projection: &Projection, each: &mut impl FnMut(Fact)) {
        let text = String::from_utf8_lossy(bytes);
        let starts = text.match_indices('{').map(|(at, _)| at);
        let mut starts = starts.filter(|at| text[..*at].ends_with('\n') || *at == 0);
        // No byte is read twice: time stays linear, whatever the noise.
        let mut read = 0;
        let found = starts.find_map(|at| {
            if at < read {
                return None;
            }
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            match values.next()? {
                Ok(value) => Some((at, at + values.byte_offset(), value)),
                Err(error) => {
                    read = at + read_until(&text[at..], &error);
                    None
                }
            }
        });
        let Some((start, end, value)) = found else {
            self.scan.cut = text.contains('{');
            return self.line(Line::Malformed(crate::decode::Malformed::NotJson), true, each);
        };
        let noise = text[..start].lines().chain(text[end..].lines());
        self.scan.malformed += noise.filter(|line| !line.trim().is_empty()).count() as u64;
        match projection.project(&value.to_string()) {
            Ok(value) => self.object(&value, each),
            Err(_) => self.scan.cut = true,
        }
    }

    fn object(&mut self, value: &Value, each: &mut impl FnMut(Fact)) {
        self.scan.records += 1;
        let record = Arc::clone(&self.record);
        self.take_facts(&record, value, each);
        self.take_sandbox_failure(&record, value);
        self.take_failure(&record, value, each);
        self.take_answer(&record, value);
        self.take_metadata(&record, value, each);
        self.take_usage(&record, value, each);
        self.take_denials(&record, value);
    }

    fn take_facts(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        let mut retrying = false;
        for rule in &record.facts {
            self.requests.extend(making::request(rule, value));
            making::make(rule, value, &mut |kind, fact| {
                retrying |= kind == FactKind::Retrying;
                self.note(&fact);
                each(fact);
            });
        }
        if !retrying {
            self.scan.activity += 1;
        }
    }

    /// Looks for the phrases of a sandbox that failed, in tool outputs which may be long: not once
    /// one was found, nor once a tool ended well and no phrase means anything any more.
    fn take_sandbox_failure(&mut self, record: &Record, value: &Value) {
        if self.scan.tools_ok > 0 || self.scan.sandbox_failure.is_some() {
            return;
        }
        let rules = record.output.sandbox_failure.iter().filter(|rule| rule.when.matches(value));
        let texts = rules.filter_map(|rule| Some((rule, rule.path.get(value)?.as_str()?)));
        let mut hits =
            texts.filter(|(rule, text)| rule.contains.iter().any(|phrase| holds(text, phrase)));
        self.scan.sandbox_failure = hits.next().map(|(_, text)| crate::envelope::summarise(text));
    }

    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::ToolInvoked { call_id, tool, summary } => {
                let named = tool.as_deref().unwrap_or("a tool");
                let words = match summary {
                    Some(summary) => format!("{named} ({summary})"),
                    None => named.to_owned(),
                };
                self.last_call = LastCall { id: call_id.clone(), words: Some(words) };
                if let Some(id) = call_id.as_ref().filter(|_| self.open_calls.len() < REMEMBERED) {
                    self.open_calls.insert(id.clone());
                }
            }
            Fact::ToolResult { call_id, ok, .. } => {
                if let Some(id) = call_id {
                    self.open_calls.remove(id);
                }
                self.scan.tools_ok += u64::from(*ok);
            }
            Fact::TaskStarted { task_id } if self.scan.open_tasks.len() < REMEMBERED => {
                self.scan.open_tasks.insert(task_id.clone());
            }
            // Whether one that is not remembered settles is never known: it counts as stopped.
            Fact::TaskStarted { task_id } if !self.scan.open_tasks.contains(task_id) => {
                self.scan.stopped_tasks += 1;
            }
            Fact::TaskSettled { task_id, outcome } => {
                let known = self.scan.open_tasks.remove(task_id);
                let settled =
                    matches!(outcome.as_deref(), Some("completed" | "success" | "failed"));
                self.scan.stopped_tasks += u64::from(known && !settled);
            }
            Fact::InteractionResolved { outcome, interaction_id, .. }
                if *outcome == InteractionOutcome::RejectedUnattended =>
            {
                let is_last = self.last_call.id.as_ref() == Some(interaction_id);
                let call = self.last_call.words.as_deref().filter(|_| is_last);
                let call = call.unwrap_or("a tool");
                let named = format!(
                    "the permission for {call} was rejected: its rules deny it, or nobody could give it"
                );
                self.scan.permission_denied.get_or_insert(named);
            }
            _ => {}
        }
        self.scan.open_tools = self.open_calls.len() as u64;
    }

    fn take_failure(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        let reported = self.failing.take(&record.output, self.scan.records, value);
        if reported.is_some() || self.failing.recovered() != self.scan.recovered {
            self.settle_failure();
        }
        if let Some(failure) = reported {
            each(Fact::BackendError {
                class_hint: Some(failure.class),
                payload: Value::String(failure.message),
                recovered: None,
            });
        }
    }

    fn take_answer(&mut self, record: &Record, value: &Value) {
        if let Some(terminal) = &record.output.terminal {
            if terminal.reopened_by.iter().any(|matcher| matcher.matches(value)) {
                self.scan.terminal = false;
            }
            self.scan.terminal |= terminal.success.matches(value);
        }
        let rule = &record.output.result;
        if rule.joined && rule.restart.iter().any(|matcher| matcher.matches(value)) {
            self.scan.result = None;
        }
        if !rule.when.matches(value) || rule.not_when.as_ref().is_some_and(|no| no.matches(value)) {
            return;
        }
        let text = rule.path.get(value).and_then(Value::as_str);
        match text.filter(|text| rule.joined || !text.trim().is_empty()) {
            Some(text) if rule.joined => {
                self.scan.result.get_or_insert_default().push_str(text);
            }
            Some(text) => self.scan.result = Some(text.to_owned()),
            None => {}
        }
        if record.output.terminal.is_none() {
            self.scan.terminal = text.is_some();
        }
    }

    fn take_metadata(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        for rule in &record.output.metadata {
            let found = rule.path.get(value).filter(|found| !found.is_null());
            let Some(found) = found.filter(|_| rule.when.matches(value)) else { continue };
            self.scan.metadata.insert(rule.key.clone(), found.clone());
            let fits = |id: &&str| rule.session && id.len() <= LONGEST_SESSION;
            let Some(id) = found.as_str().filter(fits) else { continue };
            if self.scan.session.as_deref() != Some(id) {
                self.scan.session = Some(id.to_owned());
                let session = Some(id.to_owned());
                each(Fact::Started { backend_pid: None, backend_session_id: session });
            }
        }
    }

    fn take_usage(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        let Some(usage) = &record.usage else { return };
        if self.tally.take(usage, value) {
            self.settle_usage();
            let (tokens, cost) = (self.tally.tokens(), self.tally.cost());
            each(Fact::UsageReported { tokens, cost });
        }
        let windows = usage.usage_windows.as_ref();
        if let Some(windows) = windows.and_then(|rule| self.tally.take_windows(rule, value)) {
            self.scan.windows = self.tally.windows().cloned();
            each(Fact::QuotaReported { windows });
        }
    }

    fn take_denials(&mut self, record: &Record, value: &Value) {
        let Some(rule) = record.output.denials.as_ref().filter(|rule| rule.when.matches(value))
        else {
            return;
        };
        let Some(Value::Array(denied)) = rule.path.get(value) else { return };
        for element in denied {
            let tool = rule.tool.get(element).and_then(Value::as_str).unwrap_or("a tool");
            let message = format!(
                "the backend was denied {tool}: by its access mode, by rules of its own, or by what \
                 it was answered"
            );
            let warning = Warning::new("permission_denied", message);
            if !self.scan.warnings.contains(&warning) {
                self.scan.warnings.push(warning);
            }
        }
    }

    pub(super) fn settle_failure(&mut self) {
        self.scan.failure = self.beside.as_ref().or(self.failing.first()).cloned();
        self.scan.recovered = self.failing.recovered();
    }

    fn settle_usage(&mut self) {
        self.scan.usage = self.tally.total();
        self.scan.tokens = self.tally.tokens();
        self.scan.cost = self.tally.cost();
    }
}

/// How much of `text` was read before `error`; its last byte may begin something else.
fn read_until(text: &str, error: &serde_json::Error) -> usize {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let line = std::iter::once(0).chain(newlines).nth(error.line().saturating_sub(1));
    (line.unwrap_or(text.len()) + error.column()).saturating_sub(1).min(text.len())
}

fn holds(text: &str, phrase: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), phrase.as_bytes()).is_some()
}
