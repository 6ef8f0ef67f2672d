//! Incremental decoders of foreign bytes: whatever the chunking, the same events come out.
//!
//! [`lines`] splits, [`jsonl`] classifies each line and keeps only the wanted parts of it
//! ([`path`], [`project`]), [`sse`] reads server-sent events. None of them judges what a record
//! means; that is the scanner's.

pub mod jsonl;
pub mod lines;
pub mod path;
pub mod project;
pub mod sse;
mod surrogate;

pub use jsonl::{JsonlDecoder, JsonlLine, JsonlTail, Malformed, Record};
pub use lines::{DEFAULT_LINE_CAP, Line, LineDecoder, Unterminated};
pub use path::{Path, PathError};
pub use project::{ProjectError, Projection};
pub use sse::{SseDecoder, SseEvent};
