//! Numbers and times facts: the order in which they were seen.

use dcli_core::fact::{Fact, FactLine, SCHEMA_VERSION};
use jiff::Timestamp;

/// Gives each fact of a run its place and its time.
#[derive(Debug, Default)]
pub struct Stamp {
    last: u64,
}

impl Stamp {
    /// The next fact, at this moment.
    pub fn line(&mut self, fact: Fact) -> FactLine {
        self.last += 1;
        FactLine { schema_version: SCHEMA_VERSION, seq: self.last, at: now(), fact }
    }
}

/// This moment, RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn now() -> String {
    format!("{:.3}", Timestamp::now())
}
