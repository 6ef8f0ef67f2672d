//! One job's directory, as anybody may read it; whoever takes its lease may write.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dcli_core::exit::FailureClass;
use dcli_core::job::event::JournalLine;
use dcli_core::job::id::{JobId, RepoKey};
use dcli_core::redact::Redactor;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::attempt::{self, AttemptDir};
use super::job_writer::JobWriter;
use super::lease::Lease;
use super::lines::{self, JournalError};
use super::root::{StateRoot, WritableRoot};
use super::{layout, regular};

/// The longest result that is read, in bytes.
const LONGEST_RESULT: u64 = 1 << 30;
/// The longest record that is read, in bytes: a projection or an envelope has what a backend gave as
/// its session and as its failure, a line of its output each.
const LONGEST_RECORD: u64 = 512 << 20;

/// Why a record of a job cannot be used.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The job's directory is not there.
    #[error("job {0} does not exist")]
    Absent(JobId),
    /// A file of it cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of it is not what was written.
    #[error("{} is damaged: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer dcli wrote it, in a shape that says too little here.
    #[error("{} has schema_version {found}, which this dcli does not know", .path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl RecordError {
    /// Whether a newer dcli wrote it.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::NewerFormat { .. } | Self::Journal(JournalError::NewerFormat { .. }))
    }

    /// The class that the exit code follows; `None` for a job that does not exist, which has a code
    /// of its own.
    #[must_use]
    pub fn class(&self) -> Option<FailureClass> {
        match self {
            Self::Absent(_) => None,
            Self::Unreadable { .. } | Self::Damaged { .. } => Some(FailureClass::Lock),
            Self::NewerFormat { .. } => Some(FailureClass::Environment),
            Self::Journal(error) => Some(error.class()),
        }
    }
}

/// What became of a wish to write.
#[derive(Debug)]
pub enum Claim {
    /// Somebody else may: the job's worker, or whoever records its death at this moment.
    Held,
    /// Nobody else did, and now nobody else can.
    Owned(Box<JobWriter>),
}

/// One job's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDir {
    path: PathBuf,
    repo: RepoKey,
    id: JobId,
}

impl JobDir {
    /// Job `id` of repository `repo`; whether it is there is seen when it is read.
    #[must_use]
    pub fn of(root: &StateRoot, repo: RepoKey, id: JobId) -> Self {
        Self { path: layout::job(root.path(), &repo, &id), repo, id }
    }

    /// The same job in another place: before it is published, or while it is removed.
    pub(super) fn at(path: PathBuf, repo: RepoKey, id: JobId) -> Self {
        Self { path, repo, id }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its repository.
    #[must_use]
    pub fn repo(&self) -> &RepoKey {
        &self.repo
    }

    /// The job.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The journal's file.
    #[must_use]
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// The projection's file.
    #[must_use]
    pub fn status_path(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// The request's file.
    #[must_use]
    pub fn request_path(&self) -> PathBuf {
        self.path.join("request.json")
    }

    /// The file that asks the worker to end the job.
    #[must_use]
    pub fn cancel_path(&self) -> PathBuf {
        self.path.join("cancel.request")
    }

    /// Attempt `number`, counted from 1.
    #[must_use]
    pub fn attempt(&self, number: u32) -> AttemptDir {
        AttemptDir::of(&self.path, number)
    }

    /// The newest attempt.
    ///
    /// # Errors
    /// The job is not there, or has none, which is damage.
    pub fn latest_attempt(&self) -> Result<AttemptDir, RecordError> {
        let all = attempt::all(&self.path);
        let entries = fs::read_dir(&all).map_err(|source| self.unreadable(&all, source))?;
        let number =
            |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        match entries.filter_map(number).max() {
            Some(number) => Ok(self.attempt(number)),
            None => Err(RecordError::Damaged { path: all, reason: "no attempt in it".to_owned() }),
        }
    }

    /// The projection.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn status<T: DeserializeOwned>(&self) -> Result<T, RecordError> {
        self.record(&self.status_path())
    }

    /// What was asked.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn request<T: DeserializeOwned>(&self) -> Result<T, RecordError> {
        self.record(&self.request_path())
    }

    /// Any JSON file of this job, up to 512 MiB.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn record<T: DeserializeOwned>(&self, path: &Path) -> Result<T, RecordError> {
        let read = regular::read_up_to(path, LONGEST_RECORD);
        let bytes = read.map_err(|source| self.unreadable(path, source))?;
        serde_json::from_slice(&bytes).map_err(|error| misfit(path, &bytes, &error))
    }

    /// The journal's whole lines.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn journal(&self) -> Result<Vec<JournalLine>, RecordError> {
        match lines::read(&self.journal_path()) {
            Err(error) if error.is_absence() && !self.path.exists() => {
                Err(RecordError::Absent(self.id.clone()))
            }
            read => Ok(read?),
        }
    }

    /// The result of an attempt, exact bytes; `None` where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read, or is longer than 1 GiB.
    pub fn result(&self, attempt: &AttemptDir) -> Result<Option<Vec<u8>>, RecordError> {
        let path = attempt.result();
        match regular::read_up_to(&path, LONGEST_RESULT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RecordError::Unreadable { path, source }),
        }
    }

    /// Whether the worker of the newest attempt lives, or somebody records its death at this
    /// moment. It works on a read-only mount.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn is_held(&self) -> Result<bool, RecordError> {
        let lease = self.latest_attempt()?.lease();
        Lease::is_held(&lease).map_err(|source| self.unreadable(&lease, source))
    }

    /// Becomes the one who may write, if nobody is. The journal's torn tail is gone then.
    ///
    /// # Errors
    /// The job is not there, or its journal cannot be appended to.
    pub fn claim(&self, root: &WritableRoot, redactor: Redactor) -> Result<Claim, RecordError> {
        let attempt = self.latest_attempt()?;
        let lease = Lease::take(&attempt.lease());
        match lease.map_err(|source| self.unreadable(&attempt.lease(), source))? {
            None => Ok(Claim::Held),
            Some(lease) => {
                let writer = JobWriter::open(root, self.clone(), (attempt, lease), redactor)?;
                Ok(Claim::Owned(Box::new(writer)))
            }
        }
    }

    /// Asks the worker to end the job. Anybody may; asking again changes nothing.
    ///
    /// # Errors
    /// The wish cannot be written.
    pub fn request_cancel(&self, _root: &WritableRoot, wish: &[u8]) -> Result<(), RecordError> {
        let path = self.cancel_path();
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        match file.and_then(|mut file| file.write_all(wish)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            written => written.map_err(|source| self.unreadable(&path, source)),
        }
    }

    /// Whether somebody asked the worker to end the job.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.cancel_path().symlink_metadata().is_ok()
    }

    /// Absence is proven by the job's directory alone.
    fn unreadable(&self, path: &Path, source: io::Error) -> RecordError {
        let is_absent = source.kind() == io::ErrorKind::NotFound
            && matches!(self.path.symlink_metadata(), Err(e) if e.kind() == io::ErrorKind::NotFound);
        if is_absent {
            return RecordError::Absent(self.id.clone());
        }
        RecordError::Unreadable { path: path.to_owned(), source }
    }
}

#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

/// A record that does not fit: newer than this dcli, or damaged.
fn misfit(path: &Path, bytes: &[u8], error: &serde_json::Error) -> RecordError {
    let path = path.to_owned();
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(Versioned { schema_version: found }) if found > RECORD_VERSION => {
            RecordError::NewerFormat { path, found }
        }
        _ => RecordError::Damaged { path, reason: error.to_string() },
    }
}

/// The version of all records of a job.
const RECORD_VERSION: u32 = dcli_core::job::status::SCHEMA_VERSION;
