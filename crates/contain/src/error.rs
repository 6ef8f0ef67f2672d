//! Why a start, a signal or a wait failed.

use std::io;
use std::path::PathBuf;

use crate::kind::Kind;

/// A contained start that did not happen. Nothing of the target is left running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program could not be executed: missing, not executable, arguments too long (`E2BIG`), …
    #[error("cannot execute {path}: {source}", path = path.display())]
    Program {
        /// The program as given.
        path: PathBuf,
        /// The error of the exec call, with its errno.
        source: io::Error,
    },
    /// The working directory could not be entered.
    #[error("cannot enter directory {path}: {source}", path = path.display())]
    Directory {
        /// The directory as given.
        path: PathBuf,
        /// The error of the call, with its errno.
        source: io::Error,
    },
    /// Standard input could not be opened or is not of a kind that may be passed on.
    #[error("cannot use {input} as standard input: {source}")]
    Stdin {
        /// The file, or the word `descriptor`.
        input: String,
        /// What was wrong.
        source: io::Error,
    },
    /// Standard output or error is of a kind that may not be passed on.
    #[error("cannot use the descriptor given for standard {stream}: {source}")]
    Output {
        /// `output` or `error`.
        stream: &'static str,
        /// What was wrong.
        source: io::Error,
    },
    /// An argument, a path or an environment entry that no program can receive.
    #[error("{what} cannot be passed to a program: it contains {fault}")]
    Argument {
        /// Which one: `program`, `argument 3`, `environment variable NAME`, …
        what: String,
        /// The offending byte.
        fault: &'static str,
    },
    /// Our own init could not be started or did not answer; the host may well give this kind.
    #[error("the containment init could not {operation}: {source}")]
    Init {
        /// The step that failed.
        operation: String,
        /// The error of that step.
        source: io::Error,
    },
    /// This host does not give the kind asked for.
    #[error("containment {kind} is not available: {reason}")]
    Unsupported {
        /// The kind asked for.
        kind: Kind,
        /// Why, as a sentence fragment.
        reason: String,
    },
}

/// A signal that was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// The leader has already ended.
    #[error("the leader has already ended")]
    Gone,
    /// The system refused.
    #[error("cannot signal the leader: {0}")]
    Refused(#[source] io::Error),
}

/// The init or guardian died, and with it the knowledge of how the leader ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the containment init died before it could report how the leader ended")]
pub struct Lost;
