//! `submit`: a job in the background. It outlives this process, its terminal and its group.

use dcli_core::job::answer::{SCHEMA_VERSION, Submitted};

use super::create::{Checked, Made, check, create, new_id};
use super::engine::Engine;
use super::error::JobError;
use super::handoff::{Answer, Secrets, hand_over};
use super::reconcile;
use super::spec::Spec;

/// Makes a job and hands it to a worker of its own. When this returns, the worker has it and runs
/// it or waits for a place.
///
/// ```no_run
/// use dcli::job::{Engine, Spec, submit};
/// # fn example(engine: &Engine, mut spec: Spec) -> Result<(), dcli::job::JobError> {
/// spec.label = "the slow parser".parse().ok();
/// let made = submit(engine, spec)?;
/// println!("{} is {}", made.job_id, made.state);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`JobError`]; but for [`JobError::WorkerLaunch`] with a job, none was made.
pub fn submit(engine: &Engine, mut spec: Spec) -> Result<Submitted, JobError> {
    let id = new_id()?;
    let root = engine.writing("a job")?;
    reconcile::tend_queue(engine);
    let Checked { prepared, descent } = check(engine, &mut spec, &id)?;
    let Made { writer, .. } = create(engine, &root, &id, &spec, &prepared)?;
    let secrets = Secrets { env: spec.request.env.clone() };
    let dir = writer.dir().clone();
    let handed = hand_over(engine, &writer, descent.as_ref(), &secrets);
    drop(writer);
    let state = match handed {
        Ok(Answer::Claimed { state }) => state,
        Ok(Answer::Failed { reason }) => {
            let status = reconcile::status(engine, &dir)?;
            let message =
                format!("the worker could not take job {id} ({}): {reason}", status.state);
            return Err(JobError::WorkerLaunch { message, job: Some(id) });
        }
        Err(error) => reconcile::abandon(engine, &root, &dir, error)?.state,
    };
    Ok(Submitted {
        schema_version: SCHEMA_VERSION,
        job_id: id,
        state,
        group: spec.group,
        label: spec.label,
    })
}
