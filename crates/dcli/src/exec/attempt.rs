//! One attempt behind the gate: command line, captures, start, supervision, envelope.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dcli_contain::{Identity, Kind};
use dcli_core::attempt::Limits;
use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::executor::argv::{CommandLine, Scoped, command_line};
use dcli_core::executor::record::{LivenessSignal, RungKind};
use dcli_core::gate::{Cost, Execute};

use super::finish::{finish, not_started};
use super::host::Timing;
use super::prepare::{Refusal, refuse};
use super::request::{IDLE, Request, STARTUP};
use super::run::{Plan, envelope_of};
use super::start::{Ready, Started, Unstarted, start, unwritable};
use crate::backend::bulk;
use crate::backend::spawn::Spawn;
use crate::supervise::capture::{Captures, Keep};
use crate::supervise::drive::{Driven, Setup, drive};
use crate::supervise::prompt::PromptFile;
use crate::supervise::witness::{SharedWitness, StartedReport};

/// After completion the tree may linger this long.
const GRACE: Duration = Duration::from_secs(5);
/// After the leader's exit output may still come for this long.
const DRAIN: Duration = Duration::from_secs(5);

/// What came of an attempt.
#[expect(dead_code, reason = "for jobs; a one-shot run has the envelope alone")]
pub(crate) struct Ran {
    /// As `exec` would print it. A policy around the run may have changed it.
    pub envelope: ResultEnvelope,
    /// What was seen, where a process was started.
    pub finished: Option<Finished>,
}

/// What was seen of a process that was started, to the end of its tree.
#[expect(dead_code, reason = "for jobs; a one-shot run has the envelope alone")]
pub(crate) struct Finished {
    /// Ending, evidence, aftermath.
    pub driven: Driven,
    /// The backend's own process.
    pub leader: Identity,
    /// How its tree was held.
    pub kind: Kind,
    /// How long it took.
    pub timing: Timing,
}

/// The executor that the gate closes over.
pub(super) struct Attempting {
    pub spawn: Arc<dyn Spawn>,
    pub witness: SharedWitness,
    pub finished: Arc<Mutex<Option<Finished>>>,
}

impl Execute<Plan, ResultEnvelope> for Attempting {
    fn run(&self, plan: &Plan) -> ResultEnvelope {
        self.attempt(plan).unwrap_or_else(envelope_of)
    }

    fn actual(&self, result: &ResultEnvelope) -> Option<Cost> {
        let Data::Run(run) = &result.data else { return Some(Cost::ZERO) };
        #[expect(clippy::cast_precision_loss, reason = "a token count is far below 2^53")]
        run.usage.and_then(|tokens| Cost::new(tokens as f64).ok())
    }
}

impl Attempting {
    fn attempt(&self, plan: &Plan) -> Result<ResultEnvelope, Refusal> {
        let Plan { request, prepared, .. } = plan;
        let line = command(plan)?;
        let captures = Captures::kept(&plan.keep).map_err(|error| match &plan.keep {
            Keep::Scratch => unwritable(&error),
            Keep::In(_) => {
                let message =
                    format!("the output cannot be captured: {error}; nothing was started");
                refuse(ErrorCode::ExecutorPermissionDenied, message)
            }
        })?;
        let prompt = match line.prompt_on_stdin {
            true => Some(PromptFile::new(&request.prompt).map_err(|error| unwritable(&error))?),
            false => None,
        };
        let ready =
            Ready { prepared, args: &line.args, captures: &captures, prompt: prompt.as_ref() };
        match start(&*self.spawn, request, &ready) {
            Ok(started) => {
                drop(prompt);
                Ok(self.supervise(plan, &started, captures, &line.args))
            }
            Err(Unstarted::Refused(refusal)) => Err(refusal),
            Err(Unstarted::Failed(kind, error)) => Ok(not_started(request, prepared, kind, &error)),
        }
    }

    fn supervise(
        &self,
        plan: &Plan,
        started: &Started,
        captures: Captures,
        args: &[String],
    ) -> ResultEnvelope {
        let Plan { request, prepared, hooks, .. } = plan;
        let spawn_setup = prepared.asked_at.elapsed();
        let begun = Instant::now();
        let limits = limits(request);
        let leader = started.run.leader();
        let warnings = [&prepared.warnings[..], &started.warnings[..]].concat();
        let report = StartedReport {
            leader: leader.clone(),
            kind: started.kind,
            degraded: started.degraded,
            program: &prepared.program,
            args,
            cwd: &prepared.workspace,
            env: &prepared.env,
            version: prepared.version.as_deref(),
            warnings: &warnings,
        };
        let setup = Setup {
            record: Arc::clone(&request.executor.record),
            limits: limits.clone(),
            captures,
            output_cap: request.output_cap,
            cancel: hooks.cancel.clone(),
            started: report,
        };
        let mut witness = self.witness.lock().unwrap_or_else(PoisonError::into_inner);
        let driven = drive(&*started.run, setup, &mut *witness);
        drop(witness);
        let timing = Timing { spawn_setup, run: begun.elapsed() };
        if let Some(on_timing) = &hooks.on_timing {
            on_timing(timing);
        }
        let envelope = finish(request, prepared, started, &driven, (limits, timing));
        let finished = Finished { driven, leader, kind: started.kind, timing };
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
        envelope
    }
}

fn command(plan: &Plan) -> Result<CommandLine, Refusal> {
    let Plan { request, prepared, .. } = plan;
    let scoped = Scoped {
        access: &prepared.access_args,
        model: &prepared.model_args,
        extra: &request.extra_args,
    };
    let line =
        command_line(&request.executor.record, &scoped, &request.prompt).map_err(|error| {
            let message = format!("{error}; nothing was started; shorten the prompt");
            refuse(ErrorCode::RequestInvalid, message)
        })?;
    bulk::check(&line.args, &prepared.env).map_err(|error| {
        let message = format!(
            "{error}; nothing was started; shorten the prompt or inherit less (--inherit-env)"
        );
        refuse(ErrorCode::RequestInvalid, message)
    })?;
    Ok(line)
}

fn limits(request: &Request) -> Limits {
    let record = &request.executor.record;
    let shows_life = record.liveness.signal == LivenessSignal::Records;
    let or_default = |asked: Option<Duration>, default| asked.or(shows_life.then_some(default));
    let rungs = record.cancel.iter();
    let mut ladder: Vec<(RungKind, Duration)> =
        rungs.map(|rung| (rung.rung, Duration::from_secs(rung.wait_sec.into()))).collect();
    if ladder.last().is_none_or(|rung| rung.0 != RungKind::HardKill) {
        ladder.push((RungKind::HardKill, Duration::ZERO));
    }
    Limits {
        hard: request.timeouts.hard,
        startup: or_default(request.timeouts.startup, STARTUP),
        idle: or_default(request.timeouts.idle, IDLE),
        grace: GRACE,
        drain: DRAIN,
        ladder,
    }
}
