//! What a run takes from the program around it.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dcli_contain::Entry;
use dcli_core::envelope::ResultEnvelope;
use dcli_core::gate::{AllowAll, Caps, Gate, MemoryLedger, Silent};

use super::descent::MAX_DESCENDANTS;
use super::run::Plan;
use crate::backend::lineage::Lineage;
use crate::backend::spawn::{ContainedSpawn, Spawn};
use crate::supervise::answers::Answers;
use crate::supervise::cancel::Cancel;
use crate::supervise::witness::OnFact;

/// How many dcli workers may stand above a process that starts a run, unless configured.
pub const MAX_DEPTH: u32 = 1;

/// The program around runs: how children are started and what every run must pass.
#[derive(Clone)]
pub struct Host {
    pub(super) spawn: Arc<dyn Spawn>,
    pub(super) gate: Gate<Plan, ResultEnvelope>,
    pub(super) ambient: Vec<(OsString, OsString)>,
    pub(super) lineage: Lineage,
    pub(super) max_depth: u32,
    pub(super) max_descendants: u32,
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
        let ambient: Vec<_> = std::env::vars_os().collect();
        let lineage = Lineage::of(&ambient);
        Self {
            spawn,
            gate,
            ambient,
            lineage,
            max_depth: MAX_DEPTH,
            max_descendants: MAX_DESCENDANTS,
        }
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

    /// What children may inherit, instead of this process's own environment. The workers above
    /// this process count all the same, or those that `ambient` tells of where they are more.
    #[must_use]
    pub fn with_ambient(mut self, ambient: Vec<(OsString, OsString)>) -> Self {
        self.lineage = self.lineage.or_deeper(Lineage::of(&ambient));
        self.ambient = ambient;
        self
    }

    /// How many dcli workers may stand above a process that starts a run, instead of
    /// [`MAX_DEPTH`]: 0 refuses every run of a worker's own.
    #[must_use]
    pub fn with_max_depth(mut self, max_depth: u32) -> Self {
        self.max_depth = max_depth;
        self
    }

    /// How many runs may be alive below one job, instead of [`MAX_DESCENDANTS`].
    #[must_use]
    pub fn with_max_descendants(mut self, max_descendants: u32) -> Self {
        self.max_descendants = max_descendants;
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
    /// Where answers to what the run asks are given.
    pub answers: Answers,
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
