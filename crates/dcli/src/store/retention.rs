//! Which jobs may go, and their going: renamed first, so that what is half gone is never a job.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use dcli_core::job::id::RepoKey;
use dcli_core::job::state::JobState;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use thiserror::Error;

use super::job_dir::{JobDir, RecordError};
use super::jobs::{self, JobsError};
use super::lease::Lease;
use super::queue::AdmissionError;
use super::root::{StateRoot, WritableRoot};
use super::{groups, layout, queue, tree};

/// Which terminal jobs may go: those that are old, and those beyond a number. Without either, none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rule {
    /// Those that ended longer ago.
    pub older_than: Option<Duration>,
    /// Those that are not among so many of the newest terminal ones.
    pub beyond: Option<usize>,
}

/// A job that may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub job: JobDir,
    /// Its terminal state.
    pub state: JobState,
    /// When it ended, RFC 3339.
    pub finished_at: String,
    /// What it takes on the disk.
    pub bytes: u64,
}

/// What may go by a rule, newest first, and what cannot be judged.
#[derive(Debug, Default)]
pub struct Survey {
    /// These may go.
    pub candidates: Vec<Candidate>,
    /// These have no record that can be read, or one that does not say when they ended.
    pub damaged: Vec<(JobDir, RecordError)>,
}

/// Why a job stays.
#[derive(Debug, Error)]
pub enum RemovalError {
    /// Its worker lives.
    #[error("it is busy")]
    Busy,
    /// It has not ended.
    #[error("it is {0}")]
    NotTerminal(JobState),
    /// Its record cannot be used: it may hold what nobody has seen.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its entries elsewhere cannot be removed.
    #[error(transparent)]
    Groups(#[from] JobsError),
    /// Its place in the queue cannot be removed.
    #[error(transparent)]
    Queue(#[from] AdmissionError),
    /// Something of it is left.
    #[error("{} cannot be removed: {source}", .path.display())]
    Left {
        /// What.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

#[derive(Debug, Deserialize)]
struct Ending {
    state: JobState,
    finished_at: Option<String>,
}

/// Which jobs of one repository, or of all, may go at the moment `now`.
///
/// # Errors
/// The jobs cannot be listed.
pub fn survey(
    root: &StateRoot,
    repo: Option<&RepoKey>,
    rule: &Rule,
    now: Timestamp,
) -> Result<Survey, JobsError> {
    let mut survey = Survey::default();
    let mut seen = 0;
    for job in jobs::list(root, repo)? {
        let (state, finished_at, ended) = match ending(&job) {
            Ok(Some(ending)) => ending,
            Ok(None) | Err(RecordError::Absent(_)) => continue,
            Err(error) => {
                survey.damaged.push((job, error));
                continue;
            }
        };
        seen += 1;
        let age = SignedDuration::try_from(rule.older_than.unwrap_or_default());
        let is_old =
            rule.older_than.is_some() && age.is_ok_and(|age| now.duration_since(ended) > age);
        let is_beyond = rule.beyond.is_some_and(|most| seen > most);
        if is_old || is_beyond {
            let bytes = tree::bytes(job.path());
            survey.candidates.push(Candidate { job, state, finished_at, bytes });
        }
    }
    Ok(survey)
}

/// State and end of a terminal job.
fn ending(job: &JobDir) -> Result<Option<(JobState, String, Timestamp)>, RecordError> {
    let Ending { state, finished_at } = job.status()?;
    if !state.is_terminal() {
        return Ok(None);
    }
    let damaged = |reason: String| RecordError::Damaged { path: job.status_path(), reason };
    let finished_at =
        finished_at.ok_or_else(|| damaged("terminal, and no finished_at".to_owned()))?;
    let at = finished_at.parse().map_err(|error: jiff::Error| damaged(error.to_string()))?;
    Ok(Some((state, finished_at, at)))
}

/// Removes a terminal job with all that belongs to it.
///
/// # Errors
/// See [`RemovalError`]. Unless it is [`RemovalError::Left`], the job is there as it was.
pub fn remove(root: &WritableRoot, job: &JobDir) -> Result<(), RemovalError> {
    let path = job.latest_attempt()?.lease();
    let lease = Lease::take(&path)
        .map_err(|source| RemovalError::Record(RecordError::Unreadable { path, source }))?;
    let Some(_lease) = lease else { return Err(RemovalError::Busy) };
    let Ending { state, .. } = job.status()?;
    if !state.is_terminal() {
        return Err(RemovalError::NotTerminal(state));
    }
    job.journal()?;
    let discarded = layout::discarded_job(root.path(), job.repo(), job.id());
    let left = |path: PathBuf| move |source| RemovalError::Left { path, source };
    std::fs::rename(job.path(), &discarded).map_err(left(job.path().to_owned()))?;
    groups::forget(root, job.id())?;
    queue::leave(root, job.id())?;
    let own = [layout::descendants(root.path(), job.id()), layout::nested(root.path(), job.id())];
    for path in own.into_iter().chain([discarded]) {
        tree::remove(&path).map_err(left(path))?;
    }
    Ok(())
}
