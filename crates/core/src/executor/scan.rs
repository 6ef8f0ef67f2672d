//! The scanner: standard output of a backend, read once, a line at a time, into facts and evidence.
//!
//! It judges nothing: what the evidence amounts to is decided by [`crate::outcome`].

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::failing::Failing;
use super::making;
use super::record::{Format, Record};
use super::rule::FactKind;
use super::tally::Tally;
use super::wanted::projection_of;
use crate::decode::{JsonlDecoder, Projection, Record as Line};
use crate::fact::{Fact, InteractionOutcome, Tokens, Warning};
use crate::failure::Failure;

/// How many open calls and tasks are told apart; more are not remembered.
const REMEMBERED: usize = 4096;

/// What a stream has shown so far.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Records of the backend: lines that are JSON objects.
    pub records: u64,
    /// Records other than the backend's own retry notices: what counts as activity.
    pub activity: u64,
    /// Lines that are not JSON or not UTF-8.
    pub malformed: u64,
    /// Lines longer than the line cap, which were not read.
    pub oversized: u64,
    /// The last usable answer.
    pub result: Option<String>,
    /// Whether the record that proves success was seen, and nothing reopened the run since.
    pub terminal: bool,
    /// The first failing record that nothing recovered.
    pub failure: Option<Failure>,
    /// Failing records that were recovered from.
    pub recovered: u64,
    /// Values under the record's own metadata keys.
    pub metadata: Map<String, Value>,
    /// The backend's own session id.
    pub session: Option<String>,
    /// What was charged.
    pub usage: Option<u64>,
    /// The parts of usage.
    pub tokens: Tokens,
    /// The vendor's own cost.
    pub cost: Option<f64>,
    /// Quota windows.
    pub windows: Option<Map<String, Value>>,
    /// Announced background work that has not settled.
    pub open_tasks: BTreeSet<String>,
    /// Announced background work that was stopped.
    pub stopped_tasks: u64,
    /// Tool calls that were announced and have not ended.
    pub open_tools: u64,
    /// Tools that ended well.
    pub tools_ok: u64,
    /// The first sign that a tool could not even start.
    pub sandbox_failure: Option<String>,
    /// The first permission that was rejected because nobody could give it.
    pub permission_denied: Option<String>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// The stream ended inside a line that is not one whole JSON value, before terminal evidence.
    pub cut: bool,
}

impl Scan {
    /// The answer, where it is not blank.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.result.as_deref().filter(|text| !text.trim().is_empty())
    }

    /// Success evidence with a usable result, nothing failing and nothing announced still open.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.terminal
            && self.answer().is_some()
            && self.failure.is_none()
            && self.open_tasks.is_empty()
            && self.stopped_tasks == 0
            && self.oversized == 0
    }
}

/// Reads one stream for one record. Equal bytes give equal facts, whatever the chunking.
#[derive(Debug)]
pub struct Scanner {
    decoder: Decoder,
    reader: Reader,
}

#[derive(Debug)]
enum Decoder {
    Lines(JsonlDecoder),
    Whole { bytes: Vec<u8>, cap: usize, projection: Projection },
}

impl Scanner {
    /// A scanner for one run. `line_cap`: the longest line (the whole output, for a single object)
    /// that is read, in bytes.
    #[must_use]
    pub fn new(record: Arc<Record>, line_cap: usize) -> Self {
        let projection = projection_of(&record);
        let decoder = match record.output.format {
            Format::Jsonl => Decoder::Lines(JsonlDecoder::new(projection, line_cap)),
            Format::SingleObject => Decoder::Whole { bytes: Vec::new(), cap: line_cap, projection },
        };
        Self { decoder, reader: Reader::new(record) }
    }

    /// Feeds bytes; `each` gets every fact they complete, in order.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Fact)) {
        let reader = &mut self.reader;
        match &mut self.decoder {
            Decoder::Lines(lines) => lines.push(chunk, |line| {
                let broken = line.raw.first() == Some(&b'{');
                reader.line(line.record, broken, &mut each);
            }),
            Decoder::Whole { bytes, cap, .. } => {
                let room = cap.saturating_sub(bytes.len()).min(chunk.len());
                bytes.extend_from_slice(&chunk[..room]);
                if room < chunk.len() {
                    reader.scan.oversized = 1;
                }
            }
        }
    }

    /// Ends the stream.
    pub fn finish(mut self, mut each: impl FnMut(Fact)) -> Scan {
        let reader = &mut self.reader;
        match self.decoder {
            Decoder::Lines(lines) => {
                if let Some(tail) = lines.finish() {
                    reader.tail(tail.record, &mut each);
                }
            }
            Decoder::Whole { bytes, projection, .. } => {
                reader.whole(&bytes, &projection, &mut each);
            }
        }
        self.reader.settle();
        self.reader.scan
    }

    /// What has been seen so far.
    #[must_use]
    pub fn scan(&self) -> &Scan {
        &self.reader.scan
    }
}

#[derive(Debug)]
struct Reader {
    record: Arc<Record>,
    failing: Failing,
    tally: Tally,
    open_calls: BTreeSet<String>,
    scan: Scan,
}

impl Reader {
    fn new(record: Arc<Record>) -> Self {
        let keys = record.output.metadata.iter().map(|rule| (rule.key.clone(), Value::Null));
        let scan = Scan { metadata: keys.collect(), ..Scan::default() };
        let failing = Failing::new(&record.output.failure);
        Self { record, failing, tally: Tally::default(), open_calls: BTreeSet::new(), scan }
    }

    fn line(&mut self, line: Line, broken: bool, each: &mut impl FnMut(Fact)) {
        match line {
            Line::Blank | Line::NotObject => {}
            Line::Malformed(_) => {
                self.scan.malformed += 1;
                if broken {
                    self.tally.void();
                    self.settle();
                }
            }
            Line::Oversized { bytes } => {
                self.scan.oversized += 1;
                self.tally.void();
                self.settle();
                let reason = format!("a line of {bytes} bytes is over the line cap");
                each(Fact::OutputTruncated { stream: "stdout".into(), reason });
            }
            Line::Object(value) => self.object(&value, each),
        }
    }

    fn tail(&mut self, tail: Line, each: &mut impl FnMut(Fact)) {
        let whole = matches!(tail, Line::Object(_) | Line::Blank | Line::NotObject);
        if !whole && !self.scan.terminal {
            self.scan.cut = true;
        }
        self.line(tail, true, each);
    }

    fn whole(&mut self, bytes: &[u8], projection: &Projection, each: &mut impl FnMut(Fact)) {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        match Line::read(bytes, projection) {
            Line::Malformed(_) => self.embedded(bytes, projection, each),
            line => self.line(line, true, each),
        }
    }

    /// The object among noise: it must begin a line and end one.
    fn embedded(&mut self, bytes: &[u8], projection: &Projection, each: &mut impl FnMut(Fact)) {
        let text = String::from_utf8_lossy(bytes);
        let starts = text.match_indices('{').map(|(at, _)| at);
        let mut starts = starts.filter(|at| text[..*at].ends_with('\n') || *at == 0);
        let found = starts.find_map(|at| {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            let value = values.next()?.ok()?;
            Some((at, at + values.byte_offset(), value))
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
        self.take_failure(&record, value, each);
        self.take_answer(&record, value);
        self.take_metadata(&record, value, each);
        self.take_usage(&record, value, each);
        self.take_denials(&record, value);
        self.settle();
    }

    fn take_facts(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        let mut retrying = false;
        for rule in &record.facts {
            making::make(rule, value, &mut |kind, fact| {
                retrying |= kind == FactKind::Retrying;
                self.note(&fact);
                each(fact);
            });
        }
        if !retrying {
            self.scan.activity += 1;
        }
        for rule in &record.output.sandbox_failure {
            let text =
                rule.path.get(value).and_then(Value::as_str).filter(|_| rule.when.matches(value));
            let hit = text.filter(|text| rule.contains.iter().any(|phrase| text.contains(phrase)));
            if let Some(text) = hit {
                self.scan.sandbox_failure.get_or_insert_with(|| crate::envelope::summarise(text));
            }
        }
    }

    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::ToolInvoked { call_id, .. } => {
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
            Fact::TaskSettled { task_id, outcome } => {
                let known = self.scan.open_tasks.remove(task_id);
                let settled =
                    matches!(outcome.as_deref(), Some("completed" | "success" | "failed"));
                self.scan.stopped_tasks += u64::from(known && !settled);
            }
            Fact::InteractionResolved { outcome, .. }
                if *outcome == InteractionOutcome::RejectedUnattended =>
            {
                let named = "a permission that nobody could give was rejected".to_owned();
                self.scan.permission_denied.get_or_insert(named);
            }
            _ => {}
        }
        self.scan.open_tools = self.open_calls.len() as u64;
    }

    fn take_failure(&mut self, record: &Record, value: &Value, each: &mut impl FnMut(Fact)) {
        if let Some(failure) = self.failing.take(&record.output.failure, self.scan.records, value) {
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
            let Some(id) = found.as_str().filter(|_| rule.session) else { continue };
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
            let (tokens, cost) = (self.tally.tokens(), self.tally.cost());
            each(Fact::UsageReported { tokens, cost });
        }
        let windows = usage.usage_windows.as_ref();
        if let Some(windows) = windows.and_then(|rule| self.tally.take_windows(rule, value)) {
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
            let message = format!("the backend was denied {tool} by its access mode");
            let warning = Warning::new("permission_denied", message);
            if !self.scan.warnings.contains(&warning) {
                self.scan.warnings.push(warning);
            }
        }
    }

    fn settle(&mut self) {
        self.scan.failure = self.failing.first().cloned();
        self.scan.recovered = self.failing.recovered();
        self.scan.usage = self.tally.total();
        self.scan.tokens = self.tally.tokens();
        self.scan.cost = self.tally.cost();
        if self.scan.windows.as_ref() != self.tally.windows() {
            self.scan.windows = self.tally.windows().cloned();
        }
    }
}
