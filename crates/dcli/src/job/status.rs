//! `status`: where one job stands, reconciled: never "running" for a dead worker.

use dcli_core::job::answer::JobReport;
use dcli_core::job::id::JobId;

use super::engine::Engine;
use super::error::JobError;
use super::{output, reconcile};
use crate::store::job_dir::JobDir;

/// Where the job stands, with its envelope once it has ended.
///
/// ```no_run
/// use dcli::job::{Engine, status};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// let report = status(engine, id)?;
/// println!("{}, {:?} tokens", report.status.state, report.status.tokens.total);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// It does not exist, or its record cannot be read.
pub fn status(engine: &Engine, id: &JobId) -> Result<JobReport, JobError> {
    report(engine, &engine.find(id)?)
}

/// The same for a job that was found already.
pub(super) fn report(engine: &Engine, dir: &JobDir) -> Result<JobReport, JobError> {
    let status = reconcile::status(engine, dir)?;
    let envelope = match status.state.is_terminal() {
        true => Some(output::envelope_of(dir, &status)),
        false => None,
    };
    Ok(JobReport { status, envelope })
}
