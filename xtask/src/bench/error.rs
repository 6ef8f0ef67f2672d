//! Why a measurement gave no figure.

use std::io;
use std::process::ExitStatus;

use crate::error::Error as Suite;

/// Why a measurement gave no figure.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    /// A program could not be built or asked.
    #[error(transparent)]
    Suite(#[from] Suite),
    /// A file or a process could not be handled.
    #[error("{what}: {source}")]
    Io { what: &'static str, source: io::Error },
    /// A measured program did not do what it is measured at.
    #[error("{what} ended with {status}")]
    Ended { what: String, status: ExitStatus },
    /// It did something else.
    #[error("{0}")]
    Unexpected(String),
    /// Something took longer than the hang limit.
    #[error(transparent)]
    Hang(#[from] dcli_testkit::hang::Hang),
    /// The answer of a program has another shape.
    #[error("cannot read the answer of the scan example: {0}")]
    Answer(#[from] serde_json::Error),
}

pub(super) trait Named<T> {
    /// Says what was being done.
    fn named(self, what: &'static str) -> Result<T, BenchError>;
}

impl<T> Named<T> for io::Result<T> {
    fn named(self, what: &'static str) -> Result<T, BenchError> {
        self.map_err(|source| BenchError::Io { what, source })
    }
}
