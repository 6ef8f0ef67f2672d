//! `interactions`: what jobs ask, and what became of it.

use std::path::Path;

use dcli_core::job::answer::{InteractionListing, JobInteraction, SCHEMA_VERSION};
use dcli_core::job::id::JobId;
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;

use super::engine::Engine;
use super::error::JobError;
use super::list::{Filter, list};
use super::reconcile;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker<'a> {
    /// This job: all that it asked.
    Job(&'a JobId),
    /// The running jobs of the repository that this directory lies in, or of all: what is open.
    Running {
        /// The directory; `None`: all repositories.
        directory: Option<&'a Path>,
        /// With what is decided already.
        decided_too: bool,
    },
}

/// What was asked, and the jobs that may ask more and cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What was asked.
    pub listing: InteractionListing,
    /// What is wrong with the others, in words.
    pub unreadable: Vec<String>,
}

/// What jobs ask: of one job all of it, the open ones first; of several what is open.
///
/// ```no_run
/// use dcli::job::{Asker, Engine, interactions};
/// # fn example(engine: &Engine) -> Result<(), dcli::job::JobError> {
/// let open = Asker::Running { directory: None, decided_too: false };
/// for asked in interactions(engine, open)?.listing.interactions {
///     println!("{} {}: {}", asked.job_id, asked.interaction.interaction_id, asked.interaction.detail);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job does not exist, or its record cannot be read; the state root cannot be used.
pub fn interactions(engine: &Engine, asker: Asker<'_>) -> Result<Asked, JobError> {
    match asker {
        Asker::Job(id) => {
            let status = reconcile::status(engine, &engine.find(id)?)?;
            let (mut all, decided): (Vec<_>, Vec<_>) =
                of(status).partition(|asked| asked.interaction.is_open());
            all.extend(decided);
            Ok(Asked { listing: listing(Some(id.clone()), all), unreadable: Vec::new() })
        }
        Asker::Running { directory, decided_too } => {
            let filter = Filter { states: vec![JobState::Running], ..Filter::default() };
            let listed = list(engine, directory, &filter)?;
            let all = listed.listing.jobs.into_iter().flat_map(of);
            let wanted = all.filter(|asked| decided_too || asked.interaction.is_open());
            Ok(Asked { listing: listing(None, wanted.collect()), unreadable: listed.unreadable })
        }
    }
}

fn of(status: Status) -> impl Iterator<Item = JobInteraction> {
    let Status { job_id, interactions, .. } = status;
    let asked = move |interaction| JobInteraction { job_id: job_id.clone(), interaction };
    interactions.into_iter().map(asked)
}

fn listing(job_id: Option<JobId>, interactions: Vec<JobInteraction>) -> InteractionListing {
    InteractionListing { schema_version: SCHEMA_VERSION, job_id, interactions }
}
