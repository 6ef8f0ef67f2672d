//! One run: prepared, through the gate, started, supervised, concluded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dcli_contain::{Input as Stdin, Kind, Launch, Requirement, StartError};
use dcli_core::attempt::Limits;
use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::executor::argv::{CommandLine, Scoped, command_line};
use dcli_core::executor::record::{LivenessSignal, RungKind};
use dcli_core::fact::Warning;
use dcli_core::gate::{Choice, Cost, Execute, LedgerError, Refusal as GateRefusal};

use super::finish::{cancelled_before_start, finish, not_counted, not_started};
use super::host::{Hooks, Host, Timing};
use super::prepare::{Prepared, Refusal, prepare, refuse};
use super::request::{IDLE, Request, STARTUP};
use crate::backend::bulk;
use crate::backend::spawn::{Running, Spawn};
use crate::supervise::capture::Captures;
use crate::supervise::drive::{Driven, Setup, drive};
use crate::supervise::prompt::PromptFile;

/// After completion the tree may linger this long.
const GRACE: Duration = Duration::from_secs(5);
/// After the leader's exit output may still come for this long.
const DRAIN: Duration = Duration::from_secs(5);

/// A request on its way through the gate.
#[derive(Debug)]
pub struct Plan {
    request: Request,
    prepared: Prepared,
    hooks: Hooks,
    asked_at: Instant,
}

impl Plan {
    /// What is asked.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }
}

/// What was started.
pub(super) struct Started {
    pub run: Box<dyn Running>,
    pub kind: Kind,
    pub degraded: bool,
    pub warnings: Vec<Warning>,
}

/// Runs one request and answers with its envelope; it never panics for anything that a backend
/// does, and never returns before the whole tree has ended.
#[must_use]
pub fn exec(host: &Host, request: Request, hooks: &Hooks) -> ResultEnvelope {
    let asked_at = Instant::now();
    match prepare(host, &request) {
        Err(refusal) => envelope_of(refusal),
        Ok(_) if hooks.cancel.asked() > 0 => cancelled_before_start(),
        Ok(prepared) => {
            let choice = Choice {
                executor_id: request.executor.record.id.clone(),
                layer: request.chosen_by,
            };
            let action = request.action_id.clone();
            let plan = Plan { request, prepared, hooks: hooks.clone(), asked_at };
            let runner = host.gate.runner(choice, Attempting { spawn: Arc::clone(&host.spawn) });
            match runner.run(&action, &plan) {
                Ok(passed) => passed.result,
                Err(GateRefusal::Ledger(error @ LedgerError::Unavailable { .. })) => {
                    not_counted(&plan.request, &plan.prepared, &error)
                }
                Err(refusal) => envelope_of(gate_refusal(&refusal)),
            }
        }
    }
}

fn envelope_of(refusal: Refusal) -> ResultEnvelope {
    ResultEnvelope::refused(refusal.code, refusal.message)
}

fn gate_refusal(refusal: &GateRefusal) -> Refusal {
    let code = match refusal {
        GateRefusal::CapExceeded(_) => ErrorCode::ExecutorCapExceeded,
        GateRefusal::Denied { .. }
        | GateRefusal::Guard(_)
        | GateRefusal::GuardPanicked
        | GateRefusal::Ledger(_) => ErrorCode::ExecutorPermissionDenied,
        _ => ErrorCode::RequestInvalid,
    };
    refuse(code, format!("{refusal}; nothing was started"))
}

/// The executor that the gate closes over.
struct Attempting {
    spawn: Arc<dyn Spawn>,
}

impl Execute<Plan, ResultEnvelope> for Attempting {
    fn run(&self, plan: &Plan) -> ResultEnvelope {
        attempt(&*self.spawn, plan).unwrap_or_else(envelope_of)
    }

    fn actual(&self, result: &ResultEnvelope) -> Option<Cost> {
        let Data::Run(run) = &result.data else { return Some(Cost::ZERO) };
        #[expect(clippy::cast_precision_loss, reason = "a token count is far below 2^53")]
        run.usage.and_then(|tokens| Cost::new(tokens as f64).ok())
    }
}

fn attempt(spawn: &dyn Spawn, plan: &Plan) -> Result<ResultEnvelope, Refusal> {
    let record = &plan.request.executor.record;
    let scoped = Scoped {
        access: &plan.prepared.access_args,
        model: &plan.prepared.model_args,
        extra: &plan.request.extra_args,
    };
    let line = command_line(record, &scoped, &plan.request.prompt).map_err(|error| {
        let message = format!("{error}; nothing was started; shorten the prompt");
        refuse(ErrorCode::RequestInvalid, message)
    })?;
    bulk::check(&line.args, &plan.prepared.env).map_err(|error| {
        let message = format!(
            "{error}; nothing was started; shorten the prompt or inherit less (--inherit-env)"
        );
        refuse(ErrorCode::RequestInvalid, message)
    })?;
    let captures = Captures::new().map_err(unwritable)?;
    let prompt = match line.prompt_on_stdin {
        true => Some(PromptFile::new(&plan.request.prompt).map_err(unwritable)?),
        false => None,
    };
    let started = match start(spawn, plan, &line, &captures, prompt.as_ref()) {
        Ok(started) => started,
        Err(Unstarted::Refused(refusal)) => return Err(refusal),
        Err(Unstarted::Failed(kind, error)) => {
            return Ok(not_started(&plan.request, &plan.prepared, kind, &error));
        }
    };
    drop(prompt);
    Ok(supervise(plan, started, captures))
}

fn supervise(plan: &Plan, started: Started, captures: Captures) -> ResultEnvelope {
    let spawn_setup = plan.asked_at.elapsed();
    let begun = Instant::now();
    let limits = limits(&plan.request);
    let setup = Setup {
        record: Arc::clone(&plan.request.executor.record),
        limits: limits.clone(),
        captures,
        output_cap: plan.request.output_cap,
        cancel: plan.hooks.cancel.clone(),
        on_fact: plan.hooks.on_fact.clone(),
    };
    let driven: Driven = drive(&*started.run, setup);
    let timing = Timing { spawn_setup, run: begun.elapsed() };
    if let Some(on_timing) = &plan.hooks.on_timing {
        on_timing(timing);
    }
    finish(&plan.request, &plan.prepared, &started, &driven, (limits, timing))
}

fn unwritable(error: std::io::Error) -> Refusal {
    let message = format!(
        "no directory for the run's output can be written ({error}); nothing was started; set \
         TMPDIR or DCLI_STATE_ROOT to a directory that you can write"
    );
    refuse(ErrorCode::ExecutorPermissionDenied, message)
}

enum Unstarted {
    Refused(Refusal),
    Failed(Kind, StartError),
}

/// The best rung is tried at once; only where this machine does not give it is everything probed.
fn start(
    spawn: &dyn Spawn,
    plan: &Plan,
    line: &CommandLine,
    captures: &Captures,
    prompt: Option<&PromptFile>,
) -> Result<Started, Unstarted> {
    let wanted = plan.request.containment;
    let launch = |kind: Kind| -> Result<Launch, Unstarted> {
        let refused = |error| Unstarted::Refused(unwritable(error));
        let outputs = captures.writers().map_err(refused)?;
        let stdin = match prompt {
            Some(prompt) => Stdin::Descriptor(prompt.reader().map_err(refused)?),
            None => Stdin::Null,
        };
        Ok(Launch {
            program: plan.prepared.program.clone(),
            args: line.args.iter().map(Into::into).collect(),
            arg0: None,
            env: plan.prepared.env.clone(),
            cwd: plan.prepared.workspace.clone(),
            stdin,
            stdout: outputs.0,
            stderr: outputs.1,
            kind,
        })
    };
    let first = match wanted {
        Requirement::BestAvailable | Requirement::AtLeast(_) => Kind::PidNamespace,
        Requirement::Exactly(kind) => kind,
    };
    match spawn.start(launch(first)?) {
        Ok(run) => return Ok(contained(run, first)),
        Err(StartError::Unsupported { .. }) => {}
        Err(error) => return Err(Unstarted::Failed(first, error)),
    }
    let choice = spawn.support().choose(&wanted).map_err(|unmet| {
        let message = format!("{unmet}; nothing was started; see --containment");
        Unstarted::Refused(refuse(ErrorCode::ExecutorUnavailable, message))
    })?;
    match spawn.start(launch(choice.kind)?) {
        Ok(run) => Ok(contained(run, choice.kind)),
        Err(error) => Err(Unstarted::Failed(choice.kind, error)),
    }
}

fn contained(run: Box<dyn Running>, kind: Kind) -> Started {
    let degraded = kind.is_degraded();
    let message = format!(
        "containment is {kind}: weaker than a pid namespace; a process that leaves it may survive"
    );
    let warnings =
        if degraded { vec![Warning::new("containment_degraded", message)] } else { Vec::new() };
    Started { run, kind, degraded, warnings }
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
