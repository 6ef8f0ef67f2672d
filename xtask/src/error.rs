//! What can go wrong in a suite.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::bench::results::Fault;

/// Why a suite did not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program could not be started at all.
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: io::Error },
    /// A program ended with a failure.
    #[error("{program} ended with {status}")]
    Ended { program: String, status: ExitStatus },
    /// The output of a program could not be read.
    #[error("cannot read the output of {program}: {source}")]
    Output { program: String, source: io::Error },
    /// A file could not be read or written.
    #[error("cannot {operation} {}: {source}", path.display())]
    File { operation: &'static str, path: PathBuf, source: io::Error },
    /// What a program or a file says is not what was expected.
    #[error("cannot understand {what}: {source}")]
    Shape { what: String, source: serde_json::Error },
    /// Cargo.lock holds more packages than was agreed.
    #[error(
        "Cargo.lock holds {found} packages, the ceiling is {ceiling}: raise it on purpose, with a reason"
    )]
    OverCeiling { found: usize, ceiling: usize },
    /// A suite that exists ran no test: a filter matched nothing.
    #[error("no test ran")]
    NoTest,
    /// Tests were left out without a word.
    #[error("{0} tests were ignored, and an ignored test is a silent skip")]
    Ignored(u64),
    /// Some cells of the evidence table are not proven.
    #[error("{0} rows of the evidence table are missing, skipped, red or unproven")]
    Unproven(usize),
    /// The README has no command in a shell block.
    #[error("the README has no first command")]
    NoCommand,
    /// The demo's scenes did not come out as they have to.
    #[error("the scenes of the demo came out as: {0}")]
    Scenes(String),
    /// The page of results is not the bench's, or says that a target was missed.
    #[error(transparent)]
    Results(#[from] Fault),
    /// An earlier suite failed, and this one stands on it.
    #[error("not run, because {0} failed")]
    Blocked(&'static str),
}
