//! Reading a file of numbered JSON lines that somebody may be appending to, or died while appending.
//!
//! Each line is an object with `schema_version` and `seq`, counted from 1 without gaps, and ends
//! with a newline. What follows the last newline is torn, whatever it holds, and so is a last line
//! with a NUL byte in it: JSON never holds one, and after a power failure blocks of a file that
//! were not yet on the disk read as NULs. Anything else that does not fit is damage.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use dcli_core::exit::FailureClass;
use dcli_core::fact::{self, Fact, FactLine};
use dcli_core::job::event::{self, JournalLine};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;
/// The longest line, in bytes.
const LONGEST: usize = 64 << 20;

/// One kind of line.
pub trait Line: serde::Serialize + DeserializeOwned {
    /// The newest version of its shape that this dcli knows.
    const SCHEMA_VERSION: u32;
    /// Its number, counted from 1.
    fn seq(&self) -> u64;
    /// The texts in it that are not dcli's own, where these are all there is to redact; `None`:
    /// there is more. A line whose texts hold no secret is written as it is.
    fn texts(&self) -> Option<[Option<&str>; 3]>;
}

impl Line for JournalLine {
    const SCHEMA_VERSION: u32 = event::SCHEMA_VERSION;

    fn seq(&self) -> u64 {
        self.seq
    }

    fn texts(&self) -> Option<[Option<&str>; 3]> {
        None
    }
}

impl Line for FactLine {
    const SCHEMA_VERSION: u32 = fact::SCHEMA_VERSION;

    fn seq(&self) -> u64 {
        self.seq
    }

    fn texts(&self) -> Option<[Option<&str>; 3]> {
        match &self.fact {
            Fact::AssistantText { message_id, text } => {
                Some([message_id.as_deref(), Some(text), None])
            }
            Fact::Reasoning { message_id } => Some([message_id.as_deref(), None, None]),
            Fact::ToolInvoked { call_id, tool, summary } => {
                Some([call_id.as_deref(), tool.as_deref(), summary.as_deref()])
            }
            Fact::ToolResult { call_id, ok: _, summary } => {
                Some([call_id.as_deref(), summary.as_deref(), None])
            }
            _ => None,
        }
    }
}

/// Why lines cannot be read or appended.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Something in it is not what was written.
    #[error("{} is damaged at line {line}: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer dcli wrote it.
    #[error("{} line {line} has schema_version {found}; this dcli knows {known}", .path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: u64,
        /// Its version.
        found: u32,
        /// The newest version that is known here.
        known: u32,
    },
    /// A line was to be appended out of turn.
    #[error("{}: line {found} appended where {expected} comes next", .path.display())]
    OutOfTurn {
        /// The file.
        path: PathBuf,
        /// What comes next.
        expected: u64,
        /// What was appended.
        found: u64,
    },
    /// An earlier append failed and could not be taken back.
    #[error("{} ends with a line that could not be taken back", .path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl JournalError {
    /// The class that the exit code follows.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            Self::NewerFormat { .. } => FailureClass::Environment,
            Self::OutOfTurn { .. } => FailureClass::Internal,
            Self::Damaged { .. } | Self::Closed { .. } | Self::Io { .. } => FailureClass::Lock,
        }
    }

    /// Whether the file is not there at all.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// What every line has.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) schema_version: u32,
    pub(super) seq: u64,
}

/// The whole lines of a file, as far as they are there; asked again later, those that came since.
#[derive(Debug)]
pub struct Lines<L> {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Where in the buffer the next line begins.
    begin: usize,
    /// Up to where the buffer is known to hold no newline after `begin`.
    searched: usize,
    /// Where in the file the next line begins, in bytes.
    offset: u64,
    seq: u64,
    newer: Option<u32>,
    line: PhantomData<L>,
}

impl<L: Line> Lines<L> {
    /// From the first line of the file at `path`.
    ///
    /// # Errors
    /// [`JournalError::Io`]: it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => Ok(Self::from_start(path, File::from(file))),
            Err(error) => Err(JournalError::Io { path: path.to_owned(), source: error.into() }),
        }
    }

    pub(super) fn from_start(path: &Path, file: File) -> Self {
        Self {
            path: path.to_owned(),
            file,
            buffer: Vec::new(),
            begin: 0,
            searched: 0,
            offset: 0,
            seq: 0,
            newer: None,
            line: PhantomData,
        }
    }

    /// The next whole line; `None`: there is none now.
    ///
    /// # Errors
    /// The line is damaged, or of a newer shape that says too little here; or reading failed.
    pub fn next_line(&mut self) -> Result<Option<L>, JournalError> {
        let parse = |lines: &Self, bytes: &[u8]| {
            serde_json::from_slice(bytes).map_err(|error| lines.misfit(&error.to_string()))
        };
        self.step(parse)
    }

    /// All whole lines that are there now.
    ///
    /// # Errors
    /// As [`Lines::next_line`].
    pub fn rest(&mut self) -> Result<Vec<L>, JournalError> {
        std::iter::from_fn(|| self.next_line().transpose()).collect()
    }

    /// The number of the last line that was read; 0 before the first.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    /// The version of the last line that is newer than this dcli.
    #[must_use]
    pub fn newer(&self) -> Option<u32> {
        self.newer
    }

    /// Where the next line begins, in bytes from the start of the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// As [`Lines::next_line`], of which only number and version are looked at.
    pub(super) fn skip_line(&mut self) -> Result<Option<()>, JournalError> {
        self.step(|_, _| Ok(()))
    }

    fn step<T>(
        &mut self,
        parse: impl FnOnce(&Self, &[u8]) -> Result<T, JournalError>,
    ) -> Result<Option<T>, JournalError> {
        let Some(end) = self.find_line().map_err(|source| self.io(source))? else {
            return Ok(None);
        };
        let line = self.buffer.get(self.begin..end).unwrap_or_default();
        if line.contains(&0) {
            return self.at_nul(end);
        }
        let head: Head =
            serde_json::from_slice(line).map_err(|error| self.damaged(&error.to_string()))?;
        if head.seq != self.seq + 1 {
            return Err(self.damaged(&format!("seq {} after {}", head.seq, self.seq)));
        }
        if head.schema_version > L::SCHEMA_VERSION {
            self.newer = Some(head.schema_version);
        }
        let line = self.buffer.get(self.begin..end).unwrap_or_default();
        let parsed = parse(self, line)?;
        self.advance(end + 1);
        self.seq = head.seq;
        Ok(Some(parsed))
    }

    /// The index of the newline that ends the next line.
    fn find_line(&mut self) -> io::Result<Option<usize>> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(index) = unsearched.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.searched + index));
            }
            self.searched = self.buffer.len();
            if self.searched - self.begin > LONGEST {
                return Err(io::Error::other(format!("a line longer than {} MiB", LONGEST >> 20)));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        let most = u64::try_from(CHUNK).map_err(io::Error::other)?;
        Ok((&self.file).take(most).read_to_end(&mut self.buffer)? > 0)
    }

    fn advance(&mut self, next: usize) {
        self.offset += u64::try_from(next - self.begin).unwrap_or(u64::MAX);
        self.begin = next;
        self.searched = next;
    }

    /// A line with a NUL in it is torn if it is the last, and damage if anything follows.
    fn at_nul<T>(&mut self, end: usize) -> Result<Option<T>, JournalError> {
        if end + 1 < self.buffer.len() || self.fill().map_err(|source| self.io(source))? {
            return Err(self.damaged("a NUL byte"));
        }
        // Whoever asks again sees the line anew.
        self.searched = self.begin;
        Ok(None)
    }

    fn misfit(&self, reason: &str) -> JournalError {
        let (path, line) = (self.path.clone(), self.seq + 1);
        match self.newer {
            Some(found) => {
                JournalError::NewerFormat { path, line, found, known: L::SCHEMA_VERSION }
            }
            None => JournalError::Damaged { path, line, reason: reason.to_owned() },
        }
    }

    fn damaged(&self, reason: &str) -> JournalError {
        let (path, line) = (self.path.clone(), self.seq + 1);
        JournalError::Damaged { path, line, reason: reason.to_owned() }
    }

    fn io(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }
}

/// All whole lines of the file at `path`. A torn tail is left out, and left where it is.
///
/// # Errors
/// As [`Lines::next_line`].
pub fn read<L: Line>(path: &Path) -> Result<Vec<L>, JournalError> {
    Lines::open(path)?.rest()
}

/// Where a file ends now.
pub(super) fn end_of(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}
