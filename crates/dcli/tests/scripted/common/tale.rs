//! A tale: the records that an agent tells, as the record's own format has them on the wire.

use dcli_core::executor::record::Format;
use dcli_testkit::agent::Step;
use serde_json::{Value, json};

use super::shape::merged;

/// Records in order. A single object holds all of them at once.
#[derive(Clone, Debug)]
pub(crate) struct Tale {
    format: Format,
    records: Vec<Value>,
}

impl Tale {
    pub(crate) fn new(format: Format, records: impl IntoIterator<Item = Value>) -> Self {
        Self { format, records: records.into_iter().collect() }
    }

    /// These records, and then those.
    pub(crate) fn then(mut self, more: impl IntoIterator<Item = Value>) -> Self {
        self.records.extend(more);
        self
    }

    pub(crate) fn records(&self) -> &[Value] {
        &self.records
    }

    /// The lines, each with its line feed.
    pub(crate) fn text(&self) -> String {
        match self.format {
            Format::Jsonl => self.records.iter().map(|record| format!("{record}\n")).collect(),
            Format::SingleObject => {
                let both = |all: Value, one: &Value| {
                    merged(&all, one).unwrap_or_else(|| panic!("{all} and {one} are no one object"))
                };
                format!("{}\n", self.records.iter().fold(json!({}), both))
            }
        }
    }

    /// The step that prints it.
    pub(crate) fn told(&self) -> Step {
        Step::Stdout(self.text())
    }
}
