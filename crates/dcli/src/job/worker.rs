//! The worker of a job: takes what the machine wants done, does it, and answers with what happened.
//! The same for `run` and for a detached process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::job::event::BackendEnded;
use dcli_core::job::machine::{Effect, Input, Stage};
use dcli_core::job::state::KillSkipped;
use dcli_core::job::status::Status;

use super::engine::{Engine, own_identity};
use super::error::JobError;
use super::keeper::{HEARTBEAT, Keeper};
use super::places::Places;
use super::watch::Watch;
use super::{fault, output, secret};
use crate::exec::{self, Hooks, Keep, Keeping, Request, prepare};
use crate::store::record::Durability;
use crate::store::root::WritableRoot;
use crate::store::servers;
use crate::store::slots::SlotGuard;

/// Told once: whether the worker has a place for the job or waits for one.
pub(super) type OnClaimed = Box<dyn FnOnce(Result<&Status, &str>) + Send>;

/// What a worker works with besides the job.
pub(super) struct Setting {
    pub request: Request,
    pub hooks: Hooks,
    /// A place that was taken before the job was made.
    pub place: Option<SlotGuard>,
    pub on_claimed: Option<OnClaimed>,
}

/// The worker of one job.
pub(super) struct Worker<'e> {
    engine: &'e Engine,
    root: WritableRoot,
    keeper: Arc<Mutex<Keeper>>,
    setting: Setting,
    envelope: Option<ResultEnvelope>,
}

impl<'e> Worker<'e> {
    pub(super) fn new(
        engine: &'e Engine,
        root: WritableRoot,
        mut keeper: Keeper,
        setting: Setting,
    ) -> Self {
        keeper.root = Some(root.clone());
        Self { engine, root, keeper: Arc::new(Mutex::new(keeper)), setting, envelope: None }
    }

    /// Works until the job is over, and gives its last status and its envelope.
    ///
    /// # Errors
    /// Its record could not be written. The job is for whoever looks next to conclude.
    pub(super) fn work(mut self) -> Result<(Status, Option<ResultEnvelope>), JobError> {
        let is_attended = self.setting.request.terms.attended.is_some();
        let hooks = &self.setting.hooks;
        let watch = Watch::new(&self.keeper().writer, &self.root, hooks, is_attended);
        let worked = self.follow();
        drop(watch);
        match worked {
            Ok(()) => {
                // One that was cancelled at once never looked for a place.
                self.claimed();
                let status = self.keeper().status();
                Ok((status, self.envelope))
            }
            Err(reason) => {
                if let Some(on_claimed) = self.setting.on_claimed.take() {
                    on_claimed(Err(&reason));
                }
                let path = self.keeper().writer.dir().path().to_owned();
                Err(JobError::io(path, std::io::Error::other(reason)))
            }
        }
    }

    fn follow(&mut self) -> Result<(), String> {
        let identity = own_identity().map_err(|error| error.to_string())?;
        let mut open = VecDeque::from(self.keeper().step(Input::WorkerStarted(identity))?);
        while let Some(effect) = open.pop_front() {
            let answers = self.perform(&effect)?;
            fault::point(&fault::job_name(&effect));
            for input in answers {
                open.extend(self.keeper().step(input)?);
            }
        }
        Ok(())
    }

    /// Nothing but a panic in a caller's hook leaves the lock poisoned, and the record is whole then.
    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        lock(&self.keeper)
    }

    fn perform(&mut self, effect: &Effect) -> Result<Vec<Input>, String> {
        match effect {
            // The keeper writes before it hands anything out.
            Effect::Append(_) => Ok(Vec::new()),
            Effect::TakePlace => self.take_place(),
            Effect::AwaitPlace => self.await_place(),
            Effect::MakeAttempt => Ok(vec![self.make_attempt()]),
            Effect::StartBackend => self.start_backend(),
            Effect::SaveOutput => Ok(vec![self.save_output()]),
            Effect::Settle => self.settle().map(|()| Vec::new()),
        }
    }

    fn take_place(&mut self) -> Result<Vec<Input>, String> {
        if self.setting.hooks.cancel.asked() > 0 {
            return Ok(vec![self.cancelled()]);
        }
        let taken = match self.setting.place.take() {
            Some(place) => Some(place),
            None => self.places()?.take_now().map_err(|error| error.to_string())?,
        };
        let answer = match taken {
            Some(place) => {
                self.setting.place = Some(place);
                self.claimed();
                Input::PlaceTaken
            }
            None => Input::PlaceRefused,
        };
        Ok(vec![answer])
    }

    /// Waits for as long as it takes: a queued job has no deadline of its own.
    fn await_place(&mut self) -> Result<Vec<Input>, String> {
        self.claimed();
        let cancel = self.setting.hooks.cancel.clone();
        let waiting = std::thread::current();
        cancel.listen(move || {
            waiting.unpark();
            true
        });
        let mut places = self.places()?;
        let mut beaten = Instant::now();
        loop {
            if cancel.asked() > 0 {
                places.leave().map_err(|error| error.to_string())?;
                return Ok(vec![self.cancelled()]);
            }
            match places.take_in_turn().map_err(|error| error.to_string())? {
                Ok(place) => {
                    self.setting.place = Some(place);
                    return Ok(vec![Input::PlaceTaken]);
                }
                Err(wait) => std::thread::park_timeout(wait),
            }
            if beaten.elapsed() > HEARTBEAT {
                beaten = Instant::now();
                let _ = self.keeper().project(Durability::Unsynced);
            }
        }
    }

    fn places(&self) -> Result<Places, String> {
        let (dir, backend) = {
            let keeper = self.keeper();
            (keeper.writer.dir().clone(), keeper.job.status().backend.clone())
        };
        Ok(Places::new(self.root.clone(), &self.engine.limits, dir, &backend))
    }

    fn cancelled(&self) -> Input {
        Input::CancelAsked { by: "user".to_owned() }
    }

    /// Tells whoever started this worker that the job is in good hands.
    fn claimed(&mut self) {
        if let Some(on_claimed) = self.setting.on_claimed.take() {
            on_claimed(Ok(&self.keeper().status()));
        }
    }

    fn make_attempt(&mut self) -> Input {
        let is_server = match self.equip() {
            Ok(is_server) => is_server,
            Err(reason) => return Input::Refused(Box::new(unmade(&reason))),
        };
        let mut keeper = self.keeper();
        let attempt_id =
            format!("{}.{}", keeper.job.status().job_id, keeper.job.status().attempt + 1);
        let native = &self.setting.request.executor.record.access;
        match keeper.open(native.unenforced_report(self.setting.request.access), is_server) {
            Ok(()) => Input::AttemptMade { attempt_id },
            Err(reason) => Input::Refused(Box::new(unmade(&reason))),
        }
    }

    /// What a server needs of its own: a password that only this process and the server know, and a
    /// database where that is wanted. Whether it is one.
    fn equip(&mut self) -> Result<bool, String> {
        let Some(server) = self.setting.request.server().cloned() else { return Ok(false) };
        let password = secret::password().map_err(|error| error.to_string())?;
        self.setting.request.env.push((server.admission, password));
        let redactor = self.engine.redactor(&self.setting.request.env);
        let mut keeper = lock(&self.keeper);
        keeper.writer.redact_with(redactor).map_err(|error| error.to_string())?;
        if let (true, Some(variable)) = (self.setting.request.isolated_state, server.private_state)
        {
            let database = keeper.writer.attempt().tmp().join("state.db");
            let database = database.display().to_string();
            self.setting.request.env.push((variable, database));
        }
        Ok(true)
    }

    fn start_backend(&mut self) -> Result<Vec<Input>, String> {
        let request = self.setting.request.clone();
        let prepared = match prepare(&self.engine.host, &request) {
            Ok(prepared) => prepared,
            Err(refusal) => {
                let envelope = exec::envelope_of(refusal);
                return Ok(self.not_started(envelope));
            }
        };
        let keep = Keep::In(self.keeper().writer.attempt().capture());
        let witness = Arc::clone(&self.keeper) as exec::SharedWitness;
        let keeping = Keeping { keep, witness };
        let envelope =
            exec::attempt(&self.engine.host, request, prepared, &self.setting.hooks, keeping);
        if self.keeper().job.stage() < Stage::Working {
            return Ok(self.not_started(envelope));
        }
        let ended = ended(&envelope);
        self.envelope = Some(envelope);
        Ok(vec![Input::BackendEnded(Box::new(ended))])
    }

    fn not_started(&mut self, envelope: ResultEnvelope) -> Vec<Input> {
        let is_cancel = envelope.status == dcli_core::envelope::Status::Cancelled;
        let refused = Input::Refused(Box::new(failure_of(&envelope)));
        self.envelope = Some(envelope);
        if is_cancel { vec![self.cancelled(), refused] } else { vec![refused] }
    }

    fn save_output(&mut self) -> Input {
        let mut keeper = self.keeper();
        output::save(&mut keeper, self.envelope.as_ref())
    }

    fn settle(&mut self) -> Result<(), String> {
        let mut keeper = self.keeper();
        let closed = keeper.close();
        // What is left here is found by the clean-up; the job's ending is on the disk.
        let _ = closed.and_then(|()| keeper.writer.remove_scratch().map_err(|e| e.to_string()));
        if let (None, Some(envelope)) = (&keeper.job.status().started_at, &self.envelope) {
            let saved = output::save_envelope(&keeper, envelope);
            let _ = saved.map(|()| keeper.writer.sync_names());
        }
        let _ = servers::forget(&self.root, &keeper.job.status().job_id);
        drop(keeper);
        self.setting.place = None;
        Ok(())
    }
}

fn lock(keeper: &Mutex<Keeper>) -> MutexGuard<'_, Keeper> {
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unmade(reason: &str) -> Failure {
    let message = format!("the attempt's directory cannot be made: {reason}; nothing was started");
    Failure::seen(FailureClass::PermissionOrSandbox, message)
}

fn ended(envelope: &ResultEnvelope) -> BackendEnded {
    let Data::Run(data) = &envelope.data else { return BackendEnded::default() };
    let run = &data.run;
    let skipped = run.survivors.is_none().then_some(KillSkipped::NotContained);
    BackendEnded {
        code: run.exit.code,
        signal: run.exit.signal,
        exit_kind: run.exit.kind,
        cancel_rung_reached: run.cancel_rung_reached,
        containment_survivors: run.survivors.clone(),
        kill_skipped: skipped,
        backend_session_id: run.backend_session_id.clone(),
    }
}

/// Why an envelope is not ok.
pub(super) fn failure_of(envelope: &ResultEnvelope) -> Failure {
    if let Some(failure) = envelope.run().and_then(|run| run.run.failure.clone()) {
        return failure;
    }
    let first = envelope.errors.iter().flatten().next();
    let (class, message) = first.map_or_else(
        || (ErrorCode::ExecutorRunFailed.class(), envelope.summary.clone()),
        |error| (error.code.class(), error.message.clone()),
    );
    Failure::seen(class, message)
}
