//! Appending to a file of numbered JSON lines: each is whole or it is not there.
//!
//! A journal can be opened only by who holds the lease of its job. Opening drops a torn tail;
//! other damage is refused, and nothing is overwritten.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::lease::Lease;
use super::lines::{JournalError, Line, Lines, end_of};
use super::record::Durability;
use super::redacted::Redaction;

/// So many bytes of pushed lines are written at once, at the latest.
const MOST_PENDING: usize = 256 * 1024;

/// A file of lines, open for appending.
#[derive(Debug)]
pub struct Journal<L> {
    path: PathBuf,
    file: File,
    /// Up to where it is whole, in bytes.
    length: u64,
    seq: u64,
    closed: bool,
    /// Whole lines that were pushed and are not in the file yet.
    pending: Vec<u8>,
    redaction: Redaction,
    line: std::marker::PhantomData<L>,
}

impl<L: Line> Journal<L> {
    /// The journal at `path`, made where it is missing. A torn tail is cut off. The lease is that
    /// of the job: who holds it is the only writer.
    ///
    /// # Errors
    /// It is damaged, of a newer format, or cannot be opened.
    pub fn open(path: &Path, _lease: &Lease, redaction: Redaction) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        let file = open(path).map_err(failed)?;
        let mut lines = Lines::<L>::from_start(path, file);
        while lines.skip_line()?.is_some() {}
        if let Some(found) = lines.newer() {
            let (path, line) = (path.to_owned(), lines.last_seq());
            return Err(JournalError::NewerFormat { path, line, found, known: L::SCHEMA_VERSION });
        }
        let (length, seq) = (lines.offset(), lines.last_seq());
        let mut file = lines.into_file();
        if end_of(&mut file).map_err(failed)? > length {
            file.set_len(length).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        let (path, line) = (path.to_owned(), std::marker::PhantomData);
        Ok(Self { path, file, length, seq, closed: false, pending: Vec::new(), redaction, line })
    }

    /// The number that the next line has to have.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.seq + 1
    }

    /// Appends a line, redacted, with one write(2).
    ///
    /// # Errors
    /// The line is not there: it came out of turn, or could not be written or synced. After
    /// [`JournalError::Closed`] nothing can be appended any more.
    pub fn append(&mut self, line: &L, durability: Durability) -> Result<(), JournalError> {
        self.flush()?;
        let bytes = self.encoded(line)?;
        if let Err(source) = self.write(&bytes, durability) {
            self.closed = self.file.set_len(self.length).is_err();
            return Err(self.io(source));
        }
        self.seq += 1;
        self.length += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Takes a line, redacted, of which there may be very many: it is in the file after the next
    /// [`Journal::flush`], and is lost with this process before that.
    ///
    /// # Errors
    /// It came out of turn, or what was pushed before could not be written: then nothing can be
    /// appended any more.
    pub fn push(&mut self, line: &L) -> Result<(), JournalError> {
        let bytes = self.encoded(line)?;
        self.pending.extend_from_slice(&bytes);
        self.seq += 1;
        if self.pending.len() < MOST_PENDING { Ok(()) } else { self.flush() }
    }

    /// Writes what was pushed.
    ///
    /// # Errors
    /// Nothing of it is in the file, and nothing can be appended any more.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.pending);
        if let Err(source) = self.write(&bytes, Durability::Unsynced) {
            self.closed = true;
            // Whoever opens it next cuts a torn tail off, too.
            let _ = self.file.set_len(self.length);
            return Err(self.io(source));
        }
        self.length += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Puts all lines on the disk.
    ///
    /// # Errors
    /// What was not synced before may be lost.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        self.file.sync_data().map_err(|source| self.io(source))
    }

    /// The same file, whose directory was renamed.
    pub(super) fn moved_to(self, path: PathBuf) -> Self {
        Self { path, ..self }
    }

    /// A line as it is written, if it is its turn.
    fn encoded(&self, line: &L) -> Result<Vec<u8>, JournalError> {
        if self.closed {
            return Err(JournalError::Closed { path: self.path.clone() });
        }
        let (expected, found) = (self.next_seq(), line.seq());
        if expected != found {
            return Err(JournalError::OutOfTurn { path: self.path.clone(), expected, found });
        }
        let is_free = |texts: [Option<&str>; 3]| {
            texts.into_iter().flatten().all(|text| self.redaction.is_free(text))
        };
        let encoded = match line.texts().is_some_and(is_free) {
            true => serde_json::to_vec(line).map_err(io::Error::from),
            false => self.redaction.json(line),
        };
        let mut bytes = encoded.map_err(|source| self.io(source))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn write(&mut self, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let written = self.file.write(bytes)?;
        if written < bytes.len() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "only a part was written"));
        }
        match durability {
            Durability::Synced | Durability::Nameless => self.file.sync_data(),
            Durability::Unsynced => Ok(()),
        }
    }

    fn io(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
}
