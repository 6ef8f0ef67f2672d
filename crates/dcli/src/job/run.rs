//! `run`: a job in the foreground. This process is its worker.

use dcli_core::job::answer::JobReport;

use super::create::{Checked, Made, check, create, new_id};
use super::engine::Engine;
use super::error::JobError;
use super::keeper::Keeper;
use super::output;
use super::places::take_ahead;
use super::reconcile;
use super::spec::Spec;
use super::worker::{Setting, Worker};
use crate::exec::Hooks;

/// What to do where all places are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Make no job.
    Refuse,
    /// Wait for a place, as long as it takes.
    Queue,
}

/// Runs a job and answers with how it ended. Facts go to `hooks` as they come.
///
/// ```no_run
/// use dcli::exec::Hooks;
/// use dcli::job::{Engine, Spec, WhenFull, run};
/// # fn example(engine: &Engine, spec: Spec) -> Result<(), dcli::job::JobError> {
/// let report = run(engine, spec, WhenFull::Queue, &Hooks::default())?;
/// println!("{} is {}", report.status.job_id, report.status.state);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`JobError`]; but for [`JobError::Io`] no job was made.
pub fn run(
    engine: &Engine,
    mut spec: Spec,
    when_full: WhenFull,
    hooks: &Hooks,
) -> Result<JobReport, JobError> {
    let id = new_id()?;
    let root = engine.writing("a job")?;
    reconcile::tend_queue(engine);
    let Checked { prepared, descent } = check(engine, &mut spec, &id)?;
    let backend = &spec.request.executor.record.id;
    let place = match (take_ahead(&root, &engine.limits, backend), when_full) {
        (Err(error), _) => return Err(JobError::admission(error)),
        (Ok(Ok(place)), _) => Some(place),
        (Ok(Err(_)), WhenFull::Queue) => None,
        (Ok(Err(message)), WhenFull::Refuse) => return Err(JobError::NoPlace { message }),
    };
    let Made { writer, job } = create(engine, &root, &id, &spec, &prepared)?;
    let keeper = Keeper::new(writer, job, hooks.on_fact.clone());
    let setting = Setting { request: spec.request, hooks: hooks.clone(), place, on_claimed: None };
    let (status, envelope) = Worker::new(engine, root, keeper, setting).work()?;
    drop(descent);
    // One that started nothing has none of its own.
    let envelope = match envelope {
        Some(envelope) => envelope,
        None => output::envelope_of(&engine.find(&status.job_id)?, &status),
    };
    Ok(JobReport { status, envelope: Some(envelope) })
}
