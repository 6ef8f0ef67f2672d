//! The life of a detached worker.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

use dcli_core::job::id::GroupName;
use dcli_core::job::machine::Job;
use dcli_core::job::request::JobRequest;

use super::engine::Engine;
use super::error::JobError;
use super::handoff::{Answer, Given};
use super::keeper::Keeper;
use super::spec::restored;
use super::worker::{Setting, Worker};
use crate::exec::Hooks;
use crate::store::attempt::LogName;
use crate::store::job_dir::JobDir;
use crate::store::job_writer::JobWriter;
use crate::store::root::StateRoot;

/// What an engine is made for.
#[derive(Debug, Clone)]
pub struct Occasion {
    /// The state root.
    pub root: std::path::PathBuf,
    /// The directory that the job works in.
    pub workspace: std::path::PathBuf,
    /// The job's group, whose caps count.
    pub group: Option<GroupName>,
}

/// What this process was started for, where it is a worker.
#[must_use]
pub fn started_for() -> Option<Vec<OsString>> {
    dcli_contain::detached_args()
}

/// Works on the job that this process was started for. `engine` makes what it works with, from the
/// same configuration as the command that made the job.
///
/// # Errors
/// The job was not taken, or its record could not be written. Its starter has been told.
pub fn serve(
    args: &[OsString],
    hooks: Hooks,
    engine: impl FnOnce(&Occasion) -> Result<Engine, JobError>,
) -> Result<(), JobError> {
    let given = Given::take(args).map_err(|source| JobError::io("/proc/self/fd/0", source))?;
    let answer = given.answer().map_err(|source| JobError::io("/proc/self/fd/0", source))?;
    let worked = take(given, engine, hooks, Box::new(answer));
    worked.map(drop)
}

type Tell = Box<dyn FnOnce(&Answer) + Send>;

fn take(
    given: Given,
    engine: impl FnOnce(&Occasion) -> Result<Engine, JobError>,
    hooks: Hooks,
    tell: Tell,
) -> Result<(), JobError> {
    match prepare(given, engine) {
        Ok(ready) => work(ready, hooks, tell),
        Err(error) => {
            tell(&Answer::Failed { reason: error.to_string() });
            Err(error)
        }
    }
}

struct Ready {
    engine: Engine,
    root: crate::store::root::WritableRoot,
    keeper: Keeper,
    request: crate::exec::Request,
    held: OwnedFd,
}

fn prepare(
    given: Given,
    engine: impl FnOnce(&Occasion) -> Result<Engine, JobError>,
) -> Result<Ready, JobError> {
    let id = given.id.clone();
    let root = StateRoot::writing(given.root.clone())?;
    let dir = JobDir::of(&root, given.repo, given.id);
    let record = |error| JobError::record(&id, error);
    let kept: JobRequest = dir.request().map_err(record)?;
    let occasion = Occasion {
        root: given.root,
        workspace: kept.workspace.clone().into(),
        group: kept.group.clone(),
    };
    let engine = engine(&occasion)?;
    let redactor = engine.redactor(&given.secrets.env);
    let writer = JobWriter::adopt(&root, dir, given.lease, redactor).map_err(record)?;
    let prompt = std::fs::read_to_string(writer.attempt().prompt())
        .map_err(|source| JobError::io(writer.attempt().prompt(), source))?;
    let journal = writer.dir().journal().map_err(record)?;
    let job = Job::fold(&journal)
        .map_err(|error| JobError::Unreadable { id: id.clone(), reason: error.to_string() })?;
    let stamp = engine.stamp(&id, kept.delegate);
    let mut request = restored(kept, prompt, given.secrets.env).map_err(|reason| {
        JobError::Unreadable { id: id.clone(), reason: format!("request.json: {reason}") }
    })?;
    request.job = Some(stamp);
    Ok(Ready { engine, root, keeper: Keeper::new(writer, job, None), request, held: given.held })
}

fn work(ready: Ready, hooks: Hooks, tell: Tell) -> Result<(), JobError> {
    let Ready { engine, root, keeper, request, held } = ready;
    let log = keeper.writer.log(LogName::Worker).ok();
    let setting = Setting {
        request,
        hooks,
        place: None,
        on_claimed: Some(Box::new(|claimed| {
            tell(&match claimed {
                Ok(status) => Answer::Claimed { state: status.state },
                Err(reason) => Answer::Failed { reason: reason.to_owned() },
            });
        })),
    };
    let worked = Worker::new(&engine, root, keeper, setting).work().map(drop);
    drop(held);
    if let (Err(error), Some(mut log)) = (&worked, log) {
        // The last place where anybody may look.
        let _ = log.push(format!("{error}\n").as_bytes()).and_then(|()| log.finish());
    }
    worked
}
