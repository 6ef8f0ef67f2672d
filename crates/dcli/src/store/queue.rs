//! Jobs that wait for a place, each with its turn.
//!
//! An entry counts as long as its job's lease is held: a worker that dies leaves the queue with it.

use std::fs;
use std::io;
use std::path::PathBuf;

use dcli_core::exit::FailureClass;
use dcli_core::job::id::{JobId, RepoKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::job_dir::JobDir;
use super::jobs::{JobsError, entries};
use super::lock::{Lock, LockError};
use super::record::{Durability, replace_in_place};
use super::root::{StateRoot, WritableRoot};
use super::{layout, regular};

/// Version of the shape of an entry.
const SCHEMA_VERSION: u32 = 1;

/// Why nothing can be said about places.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// The mutex was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The queue cannot be read.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// An entry or a slot cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl AdmissionError {
    /// The class that the exit code follows.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        FailureClass::Lock
    }
}

/// One waiting job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of this shape.
    pub schema_version: u32,
    /// Which job.
    pub job_id: JobId,
    /// Its repository.
    pub repo_key: RepoKey,
    /// Which backend is to run it.
    pub backend: String,
    /// Its turn: a smaller one comes first.
    pub order: u64,
}

impl Entry {
    /// Whether the job's worker lives. One that cannot be looked at does not hold others up.
    #[must_use]
    pub fn is_live(&self, root: &StateRoot) -> bool {
        let job = JobDir::of(root, self.repo_key.clone(), self.job_id.clone());
        job.is_held().unwrap_or(false)
    }
}

/// Puts a job at the end of the queue. One that is in it already keeps its turn.
///
/// # Errors
/// See [`AdmissionError`].
pub fn enter(root: &WritableRoot, job: &JobDir, backend: &str) -> Result<Entry, AdmissionError> {
    let path = layout::queue_entry(root.path(), job.id());
    let failed = |source| AdmissionError::Io { path: path.clone(), source };
    layout::make_private(&layout::queue(root.path())).map_err(failed)?;
    let _admission = Lock::take(&layout::admission_lock(root.path()))?;
    let waiting = waiting(root)?;
    if let Some(entry) = waiting.iter().find(|entry| entry.job_id == *job.id()) {
        return Ok(entry.clone());
    }
    let last = waiting.iter().map(|entry| entry.order).max().unwrap_or(0);
    let entry = Entry {
        schema_version: SCHEMA_VERSION,
        job_id: job.id().clone(),
        repo_key: job.repo().clone(),
        backend: backend.to_owned(),
        order: last + 1,
    };
    let bytes = serde_json::to_vec(&entry).map_err(|error| failed(error.into()))?;
    replace_in_place(&path, &bytes, Durability::Unsynced).map_err(failed)?;
    Ok(entry)
}

/// Takes a job out of the queue, if it is in it.
///
/// # Errors
/// It cannot be removed.
pub fn leave(root: &WritableRoot, id: &JobId) -> Result<(), AdmissionError> {
    let path = layout::queue_entry(root.path(), id);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| AdmissionError::Io { path, source }),
    }
}

/// All entries by turn, whether their workers live or not. One that cannot be read is none.
///
/// # Errors
/// The queue cannot be read.
pub fn waiting(root: &StateRoot) -> Result<Vec<Entry>, AdmissionError> {
    let files = entries(&layout::queue(root.path()))?;
    let read = |path: PathBuf| serde_json::from_slice(&regular::read(&path).ok()?).ok();
    let mut waiting: Vec<Entry> = files.into_iter().filter_map(|file| read(file.path())).collect();
    waiting.sort_by_key(|entry| entry.order);
    Ok(waiting)
}

/// The jobs whose entries are there, in no order.
///
/// # Errors
/// The queue cannot be read.
pub fn names(root: &StateRoot) -> Result<Vec<JobId>, AdmissionError> {
    let files = entries(&layout::queue(root.path()))?;
    let id = |name: &str| name.strip_suffix(".json")?.parse().ok();
    Ok(files.iter().filter_map(|file| id(file.file_name().to_str()?)).collect())
}
