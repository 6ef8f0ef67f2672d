//! The hidden entry: how an executable offers to be re-run as init, guardian or probe, and the proof that it does.

use std::io;
use std::path::{Path, PathBuf};

/// Must be the first call in a host's `main`.
///
/// In a process that was started as init, guardian or probe it does that work and never returns.
/// Otherwise it marks this program as offering the entry, and returns at once.
pub fn entry() {}

/// An executable proven to offer [`entry`]. It is opened once and always run by descriptor, so an
/// upgrade on disk changes nothing.
#[derive(Debug)]
pub struct Entry {}

/// An executable that cannot be used as the init.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// This program did not call [`entry`] first in its `main`.
    #[error(
        "this program does not call dcli_contain::entry() first in its main, \
         so it cannot be run again as the containment init; call it, or name a dcli executable"
    )]
    NotCalled,
    /// The executable has no entry.
    #[error("{path} does not offer the containment entry", path = path.display())]
    NotOffered {
        /// The executable.
        path: PathBuf,
    },
    /// The executable speaks another version of the entry.
    #[error("{path} offers version {found} of the containment entry, not {wanted}", path = path.display())]
    OtherVersion {
        /// The executable.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        wanted: u32,
    },
    /// The executable cannot be opened or read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// The executable.
        path: PathBuf,
        /// What was wrong.
        source: io::Error,
    },
}

impl Entry {
    /// This very program.
    ///
    /// # Errors
    /// [`EntryError::NotCalled`] if its `main` did not call [`entry`]: it is then never run again.
    pub fn current() -> Result<Self, EntryError> {
        Err(EntryError::NotCalled)
    }

    /// A named executable, usually an installed dcli. It is read, not run, to prove that it offers the entry.
    ///
    /// # Errors
    /// If it cannot be read, offers no entry, or another version of it.
    pub fn at(path: &Path) -> Result<Self, EntryError> {
        Err(EntryError::NotOffered { path: path.to_owned() })
    }
}
