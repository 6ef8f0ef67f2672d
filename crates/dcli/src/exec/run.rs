//! One run: prepared, and through the gate.

use std::sync::{Arc, Mutex};

use dcli_core::envelope::{ErrorCode, ResultEnvelope};
use dcli_core::gate::{Choice, Cost, LedgerError, Refusal as GateRefusal};

use super::attempt::Attempting;
use super::descent::descend;
use super::finish::{cancelled_before_start, not_counted};
use super::host::{Hooks, Host};
use super::prepare::{Prepared, Refusal, prepare, refuse};
use super::request::Request;
use crate::supervise::capture::Keep;
use crate::supervise::witness::{Listener, SharedWitness};

/// A request on its way through the gate.
#[derive(Debug)]
pub struct Plan {
    pub(super) request: Request,
    pub(super) prepared: Prepared,
    pub(super) hooks: Hooks,
    pub(super) keep: Keep,
}

impl Plan {
    /// What is asked.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }
}

/// Where the output of an attempt goes, and who hears of it.
pub(crate) struct Keeping {
    pub keep: Keep,
    pub witness: SharedWitness,
}

/// Runs one request and answers with its envelope; it never panics for anything that a backend
/// does, and never returns before the whole tree has ended.
#[must_use]
pub fn exec(host: &Host, request: Request, hooks: &Hooks) -> ResultEnvelope {
    let witness = Arc::new(Mutex::new(Listener(hooks.on_fact.clone())));
    let prepared = prepare(host, &request);
    match prepared.and_then(|prepared| Ok((prepared, descend(host)?))) {
        Err(refusal) => envelope_of(refusal),
        Ok((prepared, _descent)) => {
            let keeping = Keeping { keep: Keep::Scratch, witness };
            attempt(host, request, prepared, hooks, keeping)
        }
    }
}

/// Runs a prepared request through the gate. Facts go to the witness, and not to
/// [`Hooks::on_fact`]; it returns when the whole tree has ended.
pub(crate) fn attempt(
    host: &Host,
    request: Request,
    prepared: Prepared,
    hooks: &Hooks,
    keeping: Keeping,
) -> ResultEnvelope {
    if hooks.cancel.asked() > 0 {
        return cancelled_before_start();
    }
    let executor_id = request.executor.record.id.clone();
    let choice = Choice { executor_id, layer: request.chosen_by };
    let action = request.action_id.clone();
    let attempting = Attempting { spawn: Arc::clone(&host.spawn), witness: keeping.witness };
    let plan = Plan { request, prepared, hooks: hooks.clone(), keep: keeping.keep };
    match host.gate.runner(choice, attempting).run(&action, &plan) {
        Ok(passed) => passed.result,
        Err(GateRefusal::Ledger(error @ LedgerError::Unavailable { .. })) => {
            not_counted(&plan.request, &plan.prepared, &error)
        }
        Err(refusal) => envelope_of(gate_refusal(&refusal)),
    }
}

/// What the gate would refuse right now. It counts nothing.
pub(crate) fn refused_now(host: &Host) -> Result<(), Refusal> {
    host.gate.would_admit(Cost::ZERO).map_err(|refusal| gate_refusal(&refusal))
}

pub(crate) fn envelope_of(refusal: Refusal) -> ResultEnvelope {
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
