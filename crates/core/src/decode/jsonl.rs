//! Classifies each line of a stream that should hold one JSON object a line.
//!
//! A bad line never ends the stream: it is named for what it is and the next one is read.

use serde_json::Value;

use super::lines::{Line, LineDecoder, Unterminated};
use super::project::{ProjectError, Projection};

/// What one line turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Nothing but blanks.
    Blank,
    /// Not a JSON text.
    Malformed(Malformed),
    /// JSON, but no object.
    NotObject,
    /// An object, with the wanted parts only.
    Object(Value),
    /// Longer than the cap; never parsed.
    Oversized {
        /// Length of the content without its ending.
        bytes: u64,
    },
}

/// Why a line is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// UTF-8, but not exactly one JSON value (or one nested too deeply to be built).
    NotJson,
}

impl Record {
    /// Classifies the content of one line.
    #[must_use]
    pub fn read(content: &[u8], projection: &Projection) -> Self {
        if content.iter().all(u8::is_ascii_whitespace) {
            return Self::Blank;
        }
        let Ok(text) = std::str::from_utf8(content) else {
            return Self::Malformed(Malformed::NotUtf8);
        };
        match projection.project(text) {
            Ok(value) => Self::Object(value),
            Err(ProjectError::NotObject) => Self::NotObject,
            Err(ProjectError::NotJson) => Self::Malformed(Malformed::NotJson),
        }
    }
}

/// One terminated line and what it is.
#[derive(Debug, PartialEq)]
pub struct JsonlLine<'a> {
    /// The content as it came, without its ending; empty if it was oversized.
    pub raw: &'a [u8],
    /// What it turned out to be.
    pub record: Record,
}

/// What was left after the last line ending.
#[derive(Debug, PartialEq)]
pub struct JsonlTail {
    /// The bytes as they came; empty if they were oversized.
    pub raw: Vec<u8>,
    /// What they are taken by themselves: a whole object without a line ending is `Object`.
    pub record: Record,
}

/// Incremental JSONL decoder. Equal input gives equal records for any chunking.
#[derive(Debug)]
pub struct JsonlDecoder {
    lines: LineDecoder,
    projection: Projection,
}

impl JsonlDecoder {
    /// Keeps of each object what `projection` wants; `cap` as for [`LineDecoder::new`].
    #[must_use]
    pub fn new(projection: Projection, cap: usize) -> Self {
        Self { lines: LineDecoder::new(cap), projection }
    }

    /// Feeds one chunk and calls `each` for every line that it completes, in order.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(JsonlLine<'_>)) {
        let projection = &self.projection;
        self.lines.push(chunk, |line| {
            each(match line {
                Line::Whole(raw) => JsonlLine { raw, record: Record::read(raw, projection) },
                Line::Oversized { bytes } => {
                    JsonlLine { raw: &[], record: Record::Oversized { bytes } }
                }
            });
        });
    }

    /// Ends the stream; `None` if nothing came after the last line ending.
    #[must_use]
    pub fn finish(self) -> Option<JsonlTail> {
        Some(match self.lines.finish()? {
            Unterminated::Bytes(raw) => {
                let record = Record::read(&raw, &self.projection);
                JsonlTail { raw, record }
            }
            Unterminated::Oversized { bytes } => {
                JsonlTail { raw: Vec::new(), record: Record::Oversized { bytes } }
            }
        })
    }
}
