//! The one writer of a job's directory: it holds the lease, and everything it keeps is redacted.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use dcli_core::fact::FactLine;
use dcli_core::job::event::{Event, JournalLine, SCHEMA_VERSION};
use dcli_core::redact::Redactor;
use serde::Serialize;

use super::answers::{Answers, TakenAnswers};
use super::attempt::{AttemptDir, LogName};
use super::job_dir::{JobDir, RecordError};
use super::journal::Journal;
use super::lease::Lease;
use super::lines::JournalError;
use super::log::Log;
use super::record::{self, Durability};
use super::redacted::Redaction;
use super::root::WritableRoot;
use super::tree;

/// Who may write to one job.
#[derive(Debug)]
pub struct JobWriter {
    dir: JobDir,
    attempt: AttemptDir,
    lease: Lease,
    journal: Journal<JournalLine>,
    redaction: Redaction,
}

impl JobWriter {
    pub(super) fn open(
        _root: &WritableRoot,
        dir: JobDir,
        held: (AttemptDir, Lease),
        redactor: Redactor,
    ) -> Result<Self, RecordError> {
        let (attempt, lease) = held;
        let redaction = Redaction::new(redactor);
        let journal = Journal::open(&dir.journal_path(), &lease, redaction.clone())?;
        Ok(Self { dir, attempt, lease, journal, redaction })
    }

    /// Goes on where another process handed over its lease of the newest attempt.
    ///
    /// # Errors
    /// The job is not there, the descriptor is no lease of it, or its journal cannot be appended to.
    pub fn adopt(
        root: &WritableRoot,
        dir: JobDir,
        lease: OwnedFd,
        redactor: Redactor,
    ) -> Result<Self, RecordError> {
        let attempt = dir.latest_attempt()?;
        let path = attempt.lease();
        let lease = Lease::adopt(lease, &path)
            .map_err(|source| RecordError::Unreadable { path, source })?;
        Self::open(root, dir, (attempt, lease), redactor)
    }

    /// The job.
    #[must_use]
    pub fn dir(&self) -> &JobDir {
        &self.dir
    }

    /// The newest attempt, whose lease is held.
    #[must_use]
    pub fn attempt(&self) -> &AttemptDir {
        &self.attempt
    }

    /// The lease's descriptor: a copy of it in another process keeps the job held.
    #[must_use]
    pub fn lease(&self) -> BorrowedFd<'_> {
        self.lease.as_fd()
    }

    /// From here on, what is kept is redacted of these secrets; for those who learn them late.
    ///
    /// # Errors
    /// The journal cannot be opened again.
    pub fn redact_with(&mut self, redactor: Redactor) -> Result<(), JournalError> {
        self.redaction = Redaction::new(redactor);
        let path = self.dir.journal_path();
        self.journal = Journal::open(&path, &self.lease, self.redaction.clone())?;
        Ok(())
    }

    /// The number that the next line of the journal has to have.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.journal.next_seq()
    }

    /// Appends to the journal.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append(
        &mut self,
        line: &JournalLine,
        durability: Durability,
    ) -> Result<(), JournalError> {
        self.journal.append(line, durability)
    }

    /// Appends an event as the next line of the journal, synced where something follows from it.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_event(&mut self, at: &str, event: &Event) -> Result<(), JournalError> {
        let durability = match event.is_synced() {
            true => Durability::Synced,
            false => Durability::Unsynced,
        };
        let (seq, at, event) = (self.next_seq(), at.to_owned(), event.clone());
        self.append(&JournalLine { schema_version: SCHEMA_VERSION, seq, at, event }, durability)
    }

    /// Replaces the projection.
    ///
    /// # Errors
    /// The old one is still there.
    pub fn write_status(&self, status: &impl Serialize, durability: Durability) -> io::Result<()> {
        let mut bytes = self.redaction.json(status)?;
        bytes.push(b'\n');
        record::replace_in_place(&self.dir.status_path(), &bytes, durability)
    }

    /// Writes what was asked; its name is on the disk with the published job. Whether it was written as it is: where something had to be
    /// covered, it cannot be asked again from the record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_request(&self, request: &impl Serialize) -> io::Result<bool> {
        self.write_record(&self.dir.request_path(), request)
    }

    /// Writes what was started; see [`JobWriter::sync_names`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_command(&self, command: &impl Serialize) -> io::Result<()> {
        self.write_record(&self.attempt.command(), command).map(drop)
    }

    /// Writes the envelope; see [`JobWriter::sync_names`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_envelope(&self, envelope: &impl Serialize) -> io::Result<()> {
        self.write_record(&self.attempt.envelope(), envelope).map(drop)
    }

    /// The answers from outside, for whoever takes them in.
    #[must_use]
    pub fn answers(&self) -> TakenAnswers {
        let log = self.attempt.log(LogName::Worker);
        TakenAnswers::new(Answers::of(&self.dir), log, self.redaction.clone())
    }

    /// Writes the prompt, as it is; its name is on the disk with the published job.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_prompt(&self, prompt: &[u8]) -> io::Result<()> {
        record::replace_in_place(&self.attempt.prompt(), prompt, Durability::Nameless)
    }

    /// Writes the result, as it is; see [`JobWriter::sync_names`].
    ///
    /// # Errors
    /// It cannot be written; an earlier one is still there.
    pub fn write_result(&self, result: &[u8]) -> io::Result<()> {
        record::replace_in_place(&self.attempt.result(), result, Durability::Nameless)
    }

    /// Writes the findings, synced, as they are.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_findings(&self, findings: &[u8]) -> io::Result<()> {
        record::replace_in_place(&self.attempt.findings(), findings, Durability::Synced)
    }

    /// Makes the names of the attempt's files outlive a power failure: once for all that were
    /// written. Their bytes do already.
    ///
    /// # Errors
    /// What was written last may have no name then.
    pub fn sync_names(&self) -> io::Result<()> {
        record::sync_directory(self.attempt.path())
    }

    /// The facts of this attempt, to append to.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn facts(&self) -> Result<Journal<FactLine>, JournalError> {
        Journal::open(&self.attempt.facts(), &self.lease, self.redaction.clone())
    }

    /// A log of this attempt, to append to.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn log(&self, name: LogName) -> io::Result<Log> {
        Log::open(&self.attempt.log(name), self.redaction.stream())
    }

    /// A log of this attempt that takes so many bytes and no more.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn capped_log(&self, name: LogName, bytes: usize) -> io::Result<Log> {
        self.log(name).map(|log| log.capped(bytes))
    }

    /// Makes the directories that are there only while the attempt runs.
    ///
    /// # Errors
    /// One of them cannot be made, or is there already.
    pub fn make_scratch(&self) -> io::Result<()> {
        make_directory(&self.attempt.capture())?;
        make_directory(&self.attempt.tmp())
    }

    /// Removes the directories that are there only while the attempt runs. The logs have to be
    /// synced before.
    ///
    /// # Errors
    /// Something of them is left.
    pub fn remove_scratch(&self) -> io::Result<()> {
        let removed = tree::remove(&self.attempt.capture());
        let removed = removed.and(tree::remove(&self.attempt.tmp()));
        removed.and(
            [self.attempt.path(), self.dir.path()].into_iter().try_for_each(record::remove_staged),
        )
    }

    /// Makes the directory of one more attempt, whose lease is held from now on.
    ///
    /// # Errors
    /// It cannot be made; the old attempt goes on being the newest.
    pub fn next_attempt(self) -> io::Result<Self> {
        let attempt = self.dir.attempt(self.attempt.number() + 1);
        let lease = make_attempt(&attempt)?;
        Ok(Self { attempt, lease, ..self })
    }

    pub(super) fn moved_to(self, dir: JobDir) -> Self {
        let attempt = dir.attempt(self.attempt.number());
        let journal = self.journal.moved_to(dir.journal_path());
        Self { dir, attempt, journal, ..self }
    }

    fn write_record(&self, path: &Path, value: &impl Serialize) -> io::Result<bool> {
        let (bytes, is_covered) = self.redaction.pretty_json(value)?;
        record::replace_in_place(path, &bytes, Durability::Nameless)?;
        Ok(!is_covered)
    }
}

/// Whoever sees the attempt sees its lease, and sees it held: it is made under another name.
pub(super) fn make_attempt(attempt: &AttemptDir) -> io::Result<Lease> {
    let staged =
        attempt.path().with_file_name(format!("{}{}", super::layout::STAGED, attempt.number()));
    tree::remove(&staged)?;
    make_directory(&staged)?;
    let lease = Lease::create(&staged.join("lease"))?;
    fs::rename(&staged, attempt.path())?;
    Ok(lease)
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}
