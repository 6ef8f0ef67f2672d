//! The scanner: standard output of a backend, read once, a line at a time, into facts and evidence.
//!
//! It judges nothing: what the evidence amounts to is decided by [`crate::outcome`].

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use super::making::Request;
use super::reader::Reader;
use super::record::{Format, Record};
use super::wanted::projection_of;
use crate::decode::{JsonlDecoder, Projection};
use crate::fact::{Fact, Tokens, Warning};
use crate::failure::Failure;

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
    /// The first sign that a tool could not even start; not looked for once one ended well.
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

    /// What was asked in the stream since the last call.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.reader.requests)
    }

    /// Takes in a failure that was seen beside the stream; it stands whatever the stream says.
    pub fn fail(&mut self, failure: Failure) {
        self.reader.beside.get_or_insert(failure);
        self.reader.settle_failure();
    }

    /// Takes in a warning from beside the stream.
    pub fn warn(&mut self, warning: Warning) {
        if !self.reader.scan.warnings.contains(&warning) {
            self.reader.scan.warnings.push(warning);
        }
    }

    /// Takes in what nobody gave: the reason, if the run comes to nothing.
    pub fn refused(&mut self, sentence: String) {
        self.reader.scan.permission_denied.get_or_insert(sentence);
    }

    /// Ends the stream.
    pub fn finish(mut self, mut each: impl FnMut(Fact)) -> Scan {
        let reader = &mut self.reader;
        match self.decoder {
            Decoder::Lines(lines) => {
                if let Some(tail) = lines.finish() {
                    let broken = tail.raw.first() == Some(&b'{');
                    reader.tail(tail.record, broken, &mut each);
                }
            }
            Decoder::Whole { bytes, projection, .. } => {
                reader.whole(&bytes, &projection, &mut each);
            }
        }
        self.reader.scan
    }

    /// What has been seen so far.
    #[must_use]
    pub fn scan(&self) -> &Scan {
        &self.reader.scan
    }
}
