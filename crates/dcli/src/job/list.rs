//! `list`: jobs, newest first.

use std::path::Path;
use std::time::Duration;

use dcli_core::job::answer::{Listing, SCHEMA_VERSION};
use dcli_core::job::id::{GroupName, Label};
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;
use jiff::{SignedDuration, Timestamp};

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use super::repository::Repository;
use crate::store::jobs;

/// Which jobs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only in these states; empty: in all.
    pub states: Vec<JobState>,
    /// Only of this group.
    pub group: Option<GroupName>,
    /// Only with this label.
    pub label: Option<Label>,
    /// Only of this backend.
    pub backend: Option<String>,
    /// Only those made no longer ago.
    pub since: Option<Duration>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// A listing, and the jobs that should be in it and cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The jobs.
    pub listing: Listing,
    /// What is wrong with the others, in words.
    pub unreadable: Vec<String>,
}

/// The jobs of the repository that `directory` lies in, or of all repositories. Those that wait
/// without a worker get one.
///
/// ```no_run
/// use dcli::job::{Engine, Filter, list};
/// use dcli::model::job::state::JobState;
/// # fn example(engine: &Engine) -> Result<(), dcli::job::JobError> {
/// let failed = Filter { states: vec![JobState::Failed], ..Filter::default() };
/// for status in list(engine, None, &failed)?.listing.jobs {
///     println!("{}: {:?}", status.job_id, status.failure_reason);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The state root cannot be used.
pub fn list(
    engine: &Engine,
    directory: Option<&Path>,
    filter: &Filter,
) -> Result<Listed, JobError> {
    reconcile::tend_queue(engine);
    let root = engine.reading()?;
    let repo = directory.map(|directory| Repository::of(directory).key);
    let newest = jobs::list(&root, repo.as_ref()).map_err(JobError::jobs)?;
    let oldest = filter.since.and_then(|since| SignedDuration::try_from(since).ok());
    let oldest = oldest.map(|since| Timestamp::now() - since);
    let mut listed = Listed {
        listing: Listing { schema_version: SCHEMA_VERSION, jobs: Vec::new() },
        unreadable: Vec::new(),
    };
    let limit = filter.limit.unwrap_or(usize::MAX);
    // Ids begin with the second. Within one their order is chance: the last one is read whole.
    let mut last = None;
    for dir in newest {
        let second = dir.id().second().to_owned();
        if limit == 0 || last.as_ref().is_some_and(|last| *last != second) {
            break;
        }
        match reconcile::status(engine, &dir) {
            Ok(status) if oldest.is_some_and(|oldest| is_before(&status, oldest)) => {
                last = Some(second);
            }
            Ok(status) if filter.fits(&status) => {
                listed.listing.jobs.push(status);
                if listed.listing.jobs.len() >= limit {
                    last = Some(second);
                }
            }
            Ok(_) | Err(JobError::NotFound { .. }) => {}
            Err(error) => listed.unreadable.push(error.to_string()),
        }
    }
    listed.listing.jobs.sort_by(|one, other| {
        (&other.created_at, &other.job_id).cmp(&(&one.created_at, &one.job_id))
    });
    listed.listing.jobs.truncate(limit);
    Ok(listed)
}

fn is_before(status: &Status, oldest: Timestamp) -> bool {
    status.created_at.parse::<Timestamp>().is_ok_and(|created| created < oldest)
}

impl Filter {
    /// Whether a job is one of those.
    #[must_use]
    pub fn fits(&self, status: &Status) -> bool {
        (self.states.is_empty() || self.states.contains(&status.state))
            && self.group.as_ref().is_none_or(|group| status.group.as_ref() == Some(group))
            && self.label.as_ref().is_none_or(|label| status.label.as_ref() == Some(label))
            && self.backend.as_ref().is_none_or(|backend| status.backend == *backend)
    }
}
