//! What every suite here shares: a stage with an agent on it, the run of the built binary, what it
//! answered, and streams written from a record's own rules.

pub(crate) mod asking;
pub(crate) mod dialect;
pub(crate) mod golden;
pub(crate) mod jobs;
pub(crate) mod outcome;
pub(crate) mod protection;
pub(crate) mod running;
pub(crate) mod schema;
pub(crate) mod served;
pub(crate) mod shape;
pub(crate) mod stage;
pub(crate) mod tale;

pub(crate) use dialect::Dialect;
pub(crate) use golden::golden;
pub(crate) use outcome::{Envelope, Outcome};
pub(crate) use protection::{Protection, outlived, survived};
pub(crate) use running::Running;
pub(crate) use stage::{Exec, Stage, child, fake_agent, say};

use dcli_testkit::evidence::Row;

/// Keeps one row of evidence for a must-show line.
pub(crate) fn shown(line: &str, check: &str, observed: &str) {
    Row { observed: observed.to_owned(), ..Row::of(line, check) }.keep().unwrap();
}
