//! `cleanup`: removes jobs that have ended, by age and by count, and what belongs to no job.

use std::path::Path;

use dcli_core::job::answer::{CleanupReport, Orphan, RemovedJob, SCHEMA_VERSION, SkippedJob};
use jiff::Timestamp;

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use super::repository::Repository;
use crate::store::orphans::{self, OrphanKind};
use crate::store::retention::{self, Rule};

/// What to do with what may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Only say it.
    DryRun,
    /// Remove it.
    Remove,
}

/// Removes, or names, the jobs of one repository or of all that `rule` lets go. What is busy,
/// damaged or not ended stays and is named.
///
/// ```no_run
/// use std::time::Duration;
///
/// use dcli::job::{CleanupMode, Engine, Rule, cleanup};
/// # fn example(engine: &Engine) -> Result<(), dcli::job::JobError> {
/// let week = Duration::from_secs(7 * 24 * 3600);
/// let rule = Rule { older_than: Some(week), beyond: None };
/// let report = cleanup(engine, None, &rule, CleanupMode::DryRun)?;
/// println!("{} jobs, {} bytes", report.removed.len(), report.bytes);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The state root cannot be used, or this process is inside one of its jobs.
pub fn cleanup(
    engine: &Engine,
    directory: Option<&Path>,
    rule: &Rule,
    mode: Mode,
) -> Result<CleanupReport, JobError> {
    let root = engine.writing("a clean-up")?;
    reconcile::tend_queue(engine);
    let repo = directory.map(|directory| Repository::of(directory).key);
    let survey = retention::survey(&root, repo.as_ref(), rule, Timestamp::now());
    let survey = survey.map_err(JobError::jobs)?;
    let is_dry = mode == Mode::DryRun;
    let mut report = CleanupReport {
        schema_version: SCHEMA_VERSION,
        dry_run: is_dry,
        ..CleanupReport::default()
    };
    for (job, error) in survey.damaged {
        report.skipped.push(SkippedJob { job_id: job.id().clone(), reason: error.to_string() });
    }
    let mut candidates = survey.candidates;
    // An id says the second of a job's creation; what ended first goes first.
    candidates.sort_by(|one, other| {
        (&one.finished_at, one.job.id()).cmp(&(&other.finished_at, other.job.id()))
    });
    for candidate in candidates {
        let job_id = candidate.job.id().clone();
        let removed = match mode {
            Mode::DryRun => Ok(()),
            Mode::Remove => retention::remove(&root, &candidate.job),
        };
        match removed {
            Ok(()) => {
                report.bytes += candidate.bytes;
                report.removed.push(RemovedJob {
                    job_id,
                    state: candidate.state,
                    finished_at: Some(candidate.finished_at),
                    bytes: candidate.bytes,
                });
            }
            Err(error) => report.skipped.push(SkippedJob { job_id, reason: error.to_string() }),
        }
    }
    for orphan in orphans::find(&root).map_err(JobError::jobs)? {
        if !is_dry && let Err(error) = orphans::remove(&root, &orphan) {
            report.problems.push(format!("{}: {error}", orphan.path.display()));
            continue;
        }
        report.bytes += orphan.bytes;
        let path = orphan.path.display().to_string();
        report.orphans.push(Orphan {
            path,
            what: what(orphan.kind).to_owned(),
            bytes: orphan.bytes,
        });
    }
    Ok(report)
}

fn what(kind: OrphanKind) -> &'static str {
    match kind {
        OrphanKind::Staged => "a job that was never finished being made",
        OrphanKind::Discarded => "a job whose removal did not end",
        OrphanKind::QueueEntry => "a place in the queue of no job",
        OrphanKind::GroupEntry => "a member of a group that is no job",
        OrphanKind::Descendants => "places for descendants of no job",
        OrphanKind::Nested => "a store of its own of no job",
        OrphanKind::Server => "the address of a server of no job",
    }
}
