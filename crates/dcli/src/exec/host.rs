//! What a run takes from the program around it.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dcli_contain::Entry;
use dcli_core::envelope::ResultEnvelope;
use dcli_core::gate::{AllowAll, Caps, Gate, MemoryLedger, Silent};

use super::run::Plan;
use crate::backend::spawn::{ContainedSpawn, Spawn};
use crate::supervise::cancel::Cancel;
use crate::supervise::drive::OnFact;

/// The program around runs: how children are started and what every run must pass.
#[derive(Clone)]
pub struct Host {
    pub(super) spawn: Arc<dyn Spawn>,
    pub(super) gate: Gate<Plan, ResultEnvelope>,
    pub(super) ambient: Vec<(OsString, OsString)>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

impl Host {
    /// Contained starts through `entry`, no caps, this process's own environment.
    #[must_use]
    pub fn new(entry: Entry) -> Self {
        Self::with_spawn(Arc::new(ContainedSpawn::new(entry)))
    }

    /// Children are started by `spawn`.
    #[must_use]
    pub fn with_spawn(spawn: Arc<dyn Spawn>) -> Self {
        let ledger = Arc::new(MemoryLedger::new());
        let gate = Gate::new(Caps::UNLIMITED, ledger, Arc::new(AllowAll), Arc::new(Silent));
        Self { spawn, gate, ambient: std::env::vars_os().collect() }
    }

    /// Every run passes a gate with these caps, counted as long as the process lives.
    #[must_use]
    pub fn with_caps(self, caps: Caps) -> Self {
        let ledger = Arc::new(MemoryLedger::new());
        self.with_gate(Gate::new(caps, ledger, Arc::new(AllowAll), Arc::new(Silent)))
    }

    /// Every run passes `gate`.
    #[must_use]
    pub fn with_gate(mut self, gate: Gate<Plan, ResultEnvelope>) -> Self {
        self.gate = gate;
        self
    }

    /// What children may inherit, instead of this process's own environment.
    #[must_use]
    pub fn with_ambient(mut self, ambient: Vec<(OsString, OsString)>) -> Self {
        self.ambient = ambient;
        self
    }

    pub(super) fn variable(&self, name: &str) -> Option<&OsString> {
        self.ambient.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}

/// How long the parts of a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From the request to the started process.
    pub spawn_setup: Duration,
    /// From there to the end of its tree.
    pub run: Duration,
}

/// What a caller hears while a run goes on. Calls come from the thread that called
/// [`exec`](super::exec), one after another.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Ends the run when asked to.
    pub cancel: Cancel,
    /// Every fact, as it comes.
    pub on_fact: Option<OnFact>,
    /// Once, when the tree has ended.
    pub on_timing: Option<Arc<dyn Fn(Timing) + Send + Sync>>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}
