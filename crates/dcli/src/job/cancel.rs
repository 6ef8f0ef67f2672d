//! `cancel`: asks a job to end, and sees that it did.

use std::time::{Duration, Instant};

use dcli_contain::{Identity, Presence};
use dcli_core::executor::record::Record;
use dcli_core::job::answer::JobReport;
use dcli_core::job::id::JobId;
use dcli_core::job::request::JobRequest;
use dcli_core::job::status::{SCHEMA_VERSION, Status};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::json;

use super::engine::Engine;
use super::error::JobError;
use super::status::report;
use super::wait::{Until, Which, wait};
use super::{fault, reconcile};
use crate::exec::stamp::now;
use crate::store::job_dir::{JobDir, RecordError};

/// What a worker gets on top of its ladder to end a tree and to save what is left.
const MARGIN: Duration = Duration::from_secs(20);
/// What a killed worker's tree and record get.
const AFTER_KILL: Duration = Duration::from_secs(20);

/// Asks the job to end and waits until it has: for as long as the rungs of its backend may take. A
/// worker that does not answer is killed, which ends its tree. A job that has ended is left as it is.
///
/// ```no_run
/// use dcli::job::{Engine, cancel};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// let report = cancel(engine, id)?;
/// println!("{}; alive: {:?}", report.status.state, report.status.containment_survivors);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job does not exist, its record cannot be read or written, or it does not end.
pub fn cancel(engine: &Engine, id: &JobId) -> Result<JobReport, JobError> {
    let dir = engine.find(id)?;
    let status = reconcile::status(engine, &dir)?;
    if status.state.is_terminal() {
        return report(engine, &dir);
    }
    let root = engine.writing("a cancel")?;
    refuse_newer(&dir, &status)?;
    let wish = json!({"schema_version": 1, "at": now(), "by": "user"}).to_string();
    dir.request_cancel(&root, wish.as_bytes()).map_err(|error| JobError::record(id, error))?;
    let patience = ladder(&dir) + fault::cancel_margin(MARGIN);
    if !ends_within(engine, id, patience)? {
        kill_worker(&dir)?;
        if !ends_within(engine, id, AFTER_KILL)? {
            return Err(JobError::Unending { id: id.clone() });
        }
    }
    report(engine, &dir)
}

/// A job of a newer dcli is for that one to end, or to answer.
pub(super) fn refuse_newer(dir: &JobDir, status: &Status) -> Result<(), JobError> {
    if status.schema_version <= SCHEMA_VERSION {
        return Ok(());
    }
    let path = dir.status_path();
    let found = status.schema_version;
    Err(JobError::record(dir.id(), RecordError::NewerFormat { path, found }))
}

fn ends_within(engine: &Engine, id: &JobId, limit: Duration) -> Result<bool, JobError> {
    let began = Instant::now();
    let which = Which::Jobs(vec![id.clone()]);
    let waited = wait(engine, &which, Until::All, limit.saturating_sub(began.elapsed()), |_| {})?;
    Ok(waited.is_over)
}

/// How long the rungs of the job's backend may take.
fn ladder(dir: &JobDir) -> Duration {
    let record = dir.request::<JobRequest>().ok();
    let record = record.and_then(|kept| serde_json::from_value::<Record>(kept.record).ok());
    let rungs = record.map(|record| match record.server {
        Some(server) => server.cancel,
        None => record.cancel,
    });
    let rungs = rungs.unwrap_or_default();
    rungs.iter().map(|rung| Duration::from_secs(rung.wait_sec.into())).sum()
}

/// Kills a worker that does not answer: stopped, or stuck. Never by a pid alone: the process behind
/// a pidfd is the recorded one, in this boot and namespace.
fn kill_worker(dir: &JobDir) -> Result<(), JobError> {
    let status: Status = dir.status().map_err(|error| JobError::record(dir.id(), error))?;
    let Some(worker) = status.worker_identity else { return Ok(()) };
    let Ok(pid) = i32::try_from(worker.pid) else { return Ok(()) };
    let identity = Identity {
        pid,
        start_time: worker.start_time,
        boot_id: worker.boot_id,
        pid_namespace: worker.pid_namespace,
    };
    let Some(process) = Pid::from_raw(pid) else { return Ok(()) };
    // Opened first, checked then: what the descriptor means cannot change any more.
    let Ok(descriptor) = pidfd_open(process, PidfdFlags::empty()) else { return Ok(()) };
    if matches!(identity.presence(), Ok(Presence::Alive)) {
        // One that has ended by now is what is wanted.
        let _ = pidfd_send_signal(&descriptor, Signal::KILL);
    }
    Ok(())
}
