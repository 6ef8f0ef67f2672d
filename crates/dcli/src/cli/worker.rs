//! The life of a process that `dcli submit` started for one job.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dcli_core::exit::SUCCESS;

use super::{engine, signals};
use crate::exec::Hooks;
use crate::job::{serve, started_for};

/// Works on a job, where this process was started for one.
pub(super) fn role() -> Option<u8> {
    let args = started_for()?;
    let hooks = Hooks::default();
    // Without this, a signal ends the worker, and with it the job: interrupted, not cancelled.
    let _ = signals::cancel_on_signals(hooks.cancel.clone(), Arc::new(AtomicBool::new(false)));
    let served = serve(&args, hooks, engine::of_worker);
    Some(served.map_or_else(|error| error.report().error.exit_code, |()| SUCCESS))
}
