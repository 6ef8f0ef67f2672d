//! The truth about a job whose worker may be gone. Who gets its lease has proof of that, and writes
//! how the job ended, or starts a queued one again. Who may not write says the same and writes nothing.

use dcli_core::job::event::{Created, Event};
use dcli_core::job::machine::{Effect, FoldError, Input, Job, Stage};
use dcli_core::job::request::JobRequest;
use dcli_core::job::state::{Mode, Network, SessionStrategy};
use dcli_core::job::status::Status;
use dcli_core::job::verdict::Loss;

use super::engine::Engine;
use super::error::JobError;
use super::handoff::{Answer, Secrets, hand_over};
use super::salvage;
use crate::exec::descend;
use crate::exec::stamp::now;
use crate::store::job_dir::{Claim, JobDir};
use crate::store::job_writer::JobWriter;
use crate::store::record::Durability;
use crate::store::root::WritableRoot;
use crate::store::{groups, queue, servers, tree};

/// What a covered value in a kept request looks like.
const COVERED: &str = "«redacted:";

/// Where the job stands. Never "running" for a dead worker.
pub(super) fn status(engine: &Engine, dir: &JobDir) -> Result<Status, JobError> {
    let read = dir.status::<Status>();
    match read {
        Ok(status) if status.state.is_terminal() => {
            tidy(engine, dir);
            return Ok(status);
        }
        Ok(status) if is_held(dir)? => return Ok(status),
        Ok(_) => {}
        Err(error) if error.is_newer() => return Err(JobError::record(dir.id(), error)),
        // The journal has everything that a lost projection had.
        Err(_) if is_held(dir)? => return folded(dir).map(|job| job.status().clone()),
        Err(_) => {}
    }
    match engine.writing_if_possible() {
        Some(root) => conclude(engine, &root, dir),
        None => in_memory(dir),
    }
}

/// Removes what only a living job needs, where its worker died after it had written the ending.
fn tidy(engine: &Engine, dir: &JobDir) {
    let Ok(attempt) = dir.latest_attempt() else { return };
    if !attempt.capture().exists() && !attempt.tmp().exists() {
        return;
    }
    let Some(root) = engine.writing_if_possible() else { return };
    if let Ok(Claim::Owned(writer)) = dir.claim(&root, engine.redactor(&[])) {
        // What is left is for the next who looks.
        let _ = writer.remove_scratch();
    }
}

fn is_held(dir: &JobDir) -> Result<bool, JobError> {
    dir.is_held().map_err(|error| JobError::record(dir.id(), error))
}

/// What the journal says of a job that somebody holds at this moment.
fn folded(dir: &JobDir) -> Result<Job, JobError> {
    let journal = dir.journal().map_err(|error| JobError::record(dir.id(), error))?;
    Job::fold(&journal).map_err(|error| unreadable(dir, &error))
}

/// The same as [`conclude`], said and not written.
fn in_memory(dir: &JobDir) -> Result<Status, JobError> {
    let mut job = folded(dir)?;
    if job.stage() == Stage::Over || is_held(dir)? {
        return Ok(job.status().clone());
    }
    if dir.is_cancel_requested() {
        // Legal everywhere, as a dead worker is.
        let _ = job.step(&now(), wish());
    }
    if job.stage() != Stage::Over && job.stage() != Stage::Waiting {
        let loss = salvage::known(dir, &job, reason(job.stage()));
        let _ = job.step(&now(), Input::WorkerGone(Box::new(loss)));
    }
    Ok(job.status().clone())
}

/// Ends the job, or starts it again where it only waited.
fn conclude(engine: &Engine, root: &WritableRoot, dir: &JobDir) -> Result<Status, JobError> {
    let record = |error| JobError::record(dir.id(), error);
    let writer = match dir.claim(root, engine.redactor(&[])) {
        // Its worker lives after all, or somebody else does this at this moment.
        Ok(Claim::Held) => {
            return dir.status().or_else(|_| folded(dir).map(|job| job.status().clone()));
        }
        Ok(Claim::Owned(writer)) => writer,
        // What a newer dcli wrote is read here and never written.
        Err(error) if error.is_newer() => return in_memory(dir),
        Err(error) => return Err(record(error)),
    };
    let mut case = Case::open(*writer)?;
    if dir.is_cancel_requested() {
        // The wish was there before the death was seen, and comes before it.
        case.step(wish())?;
    }
    match case.job.stage() {
        Stage::Over => {}
        Stage::Waiting => match revive(engine, &case) {
            Ok(()) => return case.writer.dir().status().map_err(record),
            Err(why) => {
                let reason = format!("its worker died while it waited, and {why}");
                case.end(Loss { reason, ..Loss::default() })?;
            }
        },
        stage => {
            let loss = salvage::loss(&case.writer, &case.job, reason(stage));
            case.end(loss)?;
        }
    }
    case.settle(root)
}

/// A job whose worker is gone, in the hands of its only writer.
struct Case {
    writer: JobWriter,
    job: Job,
}

impl Case {
    fn open(mut writer: JobWriter) -> Result<Self, JobError> {
        let dir = writer.dir().clone();
        let journal = dir.journal().map_err(|error| JobError::record(dir.id(), error))?;
        let job = match Job::fold(&journal) {
            Ok(job) => job,
            Err(FoldError::Empty) => begin_again(&mut writer)?,
            Err(error) => return Err(unreadable(&dir, &error)),
        };
        Ok(Self { writer, job })
    }

    fn end(&mut self, loss: Loss) -> Result<(), JobError> {
        self.step(Input::WorkerGone(Box::new(loss)))
    }

    fn step(&mut self, input: Input) -> Result<(), JobError> {
        let at = now();
        let stepped = self.job.step(&at, input);
        for effect in stepped.map_err(|e| JobError::Internal { message: e.to_string() })? {
            if let Effect::Append(event) = effect {
                append(&mut self.writer, &at, event)?;
            }
        }
        Ok(())
    }

    fn settle(self, root: &WritableRoot) -> Result<Status, JobError> {
        let status = self.job.status().clone();
        // What is left of these is found by the clean-up. Without a projection the next reader comes
        // here again, and the journal has it all.
        let _ = self.writer.remove_scratch();
        self.writer.answers().keep_all();
        let _ = self.writer.write_status(&status, Durability::Synced);
        let _ = queue::leave(root, self.writer.dir().id());
        let _ = servers::forget(root, self.writer.dir().id());
        Ok(status)
    }
}

fn append(writer: &mut JobWriter, at: &str, event: Event) -> Result<(), JobError> {
    let id = writer.dir().id().clone();
    let appended = writer.append_event(at, &event).or_else(|_| {
        // No space, perhaps; what the captured output could tell has been read by now.
        let _ = writer.remove_scratch();
        writer.append_event(at, &event)
    });
    appended.map_err(|error| JobError::journal(&id, &error))
}

/// A journal whose very first line was torn: what was asked says how the job was made.
fn begin_again(writer: &mut JobWriter) -> Result<Job, JobError> {
    let dir = writer.dir().clone();
    let kept: JobRequest = dir.request().map_err(|error| JobError::record(dir.id(), error))?;
    let backend = kept.record.get("id").and_then(|id| id.as_str()).unwrap_or_default();
    let created = Created {
        job_id: dir.id().clone(),
        backend: backend.to_owned(),
        backend_version: None,
        adapter_version: env!("CARGO_PKG_VERSION").to_owned(),
        repo_key: dir.repo().clone(),
        repo_root: None,
        execution_root: kept.workspace,
        execution_owner: dir.id().clone(),
        mode: Mode::Run,
        access: kept.access,
        network: Network::Unknown,
        capabilities_snapshot: None,
        model: None,
        agent: None,
        parent_job_id: None,
        root_job_id: dir.id().clone(),
        session_strategy: SessionStrategy::New,
        group: kept.group,
        label: None,
        hard_timeout_sec: kept.hard_timeout_sec,
        warnings: Vec::new(),
    };
    let at = now();
    let (job, event) = Job::new(&at, created);
    append(writer, &at, event)?;
    Ok(job)
}

fn wish() -> Input {
    Input::CancelAsked { by: "user".to_owned() }
}

fn reason(stage: Stage) -> String {
    match stage {
        Stage::Made => "the process that made the job died before a worker had it".to_owned(),
        Stage::Claimed | Stage::Waiting | Stage::Admitted => {
            "the job's worker died before it started the backend".to_owned()
        }
        Stage::Launching => "the job's worker died while it started the backend".to_owned(),
        Stage::Working => {
            "the job's worker died while the backend ran, and the backend ended with it".to_owned()
        }
        Stage::Collecting | Stage::Over => {
            "the job's worker died before it had saved what the backend left".to_owned()
        }
    }
}

/// Starts a worker for a job that waits without one.
fn revive(engine: &Engine, case: &Case) -> Result<(), String> {
    let dir = case.writer.dir();
    let kept: JobRequest = dir.request().map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
    if !kept.env_names.is_empty() || text.contains(COVERED) {
        let names = kept.env_names.join(", ");
        return Err(format!("with it the values it was given ({names}); submit it again"));
    }
    let descent = descend(&engine.host).map_err(|refusal| refusal.message)?;
    match hand_over(engine, &case.writer, descent.as_ref(), &Secrets::default()) {
        Ok(Answer::Claimed { .. }) => Ok(()),
        Ok(Answer::Failed { reason }) => Err(format!("a new one could not take it: {reason}")),
        Err(error) => Err(error.to_string()),
    }
}

/// What became of a job that could not be handed over: where no worker ever had it, nothing is left.
/// One that waits has a new worker by now.
///
/// # Errors
/// No worker has it.
pub(super) fn abandon(
    engine: &Engine,
    root: &WritableRoot,
    dir: &JobDir,
    error: JobError,
) -> Result<Status, JobError> {
    let JobError::WorkerLaunch { message, .. } = error else { return Err(error) };
    let known = || JobError::WorkerLaunch { message: message.clone(), job: Some(dir.id().clone()) };
    let Ok(Claim::Owned(writer)) = dir.claim(root, engine.redactor(&[])) else {
        return Err(known());
    };
    let stage = writer.dir().journal().ok().and_then(|lines| Job::fold(&lines).ok());
    if stage.is_none_or(|job| job.stage() != Stage::Made) {
        drop(writer);
        let status = status(engine, dir)?;
        return if status.state.is_terminal() { Err(known()) } else { Ok(status) };
    }
    let _ = groups::forget(root, dir.id());
    Err(match tree::remove(dir.path()) {
        Ok(()) => JobError::WorkerLaunch { message, job: None },
        Err(_) => known(),
    })
}

fn unreadable(dir: &JobDir, error: &FoldError) -> JobError {
    JobError::Unreadable { id: dir.id().clone(), reason: error.to_string() }
}

/// Starts a worker for every job that waits without one, or records why there is none. Done by
/// every command that comes by; what one cannot see to, the next will.
pub(super) fn tend_queue(engine: &Engine) {
    let Some(root) = engine.writing_if_possible() else { return };
    for entry in queue::waiting(&root).unwrap_or_default() {
        if !entry.is_live(&root) {
            let dir = JobDir::of(&root, entry.repo_key, entry.job_id);
            match status(engine, &dir) {
                Ok(status) if status.state.is_terminal() => drop(queue::leave(&root, dir.id())),
                Err(JobError::NotFound { .. }) => drop(queue::leave(&root, dir.id())),
                Ok(_) | Err(_) => {}
            }
        }
    }
}
