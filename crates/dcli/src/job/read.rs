//! `read`: the result of a job, exact bytes.

use dcli_core::job::id::JobId;
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;

/// The result of a job that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How the job ended.
    pub status: Status,
    /// Its result.
    pub result: Vec<u8>,
}

/// The result of a job. With `partial`, also of one that failed, was cancelled or died, if it left
/// any.
///
/// ```no_run
/// use dcli::job::{Engine, read};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// let answer = read(engine, id, false)?;
/// println!("{}", String::from_utf8_lossy(&answer.result));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// It has not ended, ended otherwise, or has no result.
pub fn read(engine: &Engine, id: &JobId, partial: bool) -> Result<Answer, JobError> {
    let dir = engine.find(id)?;
    let status = reconcile::status(engine, &dir)?;
    if !status.state.is_terminal() {
        return Err(JobError::NotTerminal { id: id.clone(), state: status.state });
    }
    if status.state != JobState::Done && !partial {
        return Err(JobError::NotDone { status: Box::new(status) });
    }
    let record = |error| JobError::record(id, error);
    let attempt = dir.latest_attempt().map_err(record)?;
    match dir.result(&attempt).map_err(record)? {
        Some(result) => Ok(Answer { status, result }),
        None => Err(JobError::NoResult { id: id.clone(), state: status.state }),
    }
}
