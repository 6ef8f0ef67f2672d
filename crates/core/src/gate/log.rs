//! What the gate writes down: one closed shape, no request and no result in it.

use serde::{Deserialize, Serialize};

use super::caps::Cost;
use super::choice::Layer;
use super::ledger::Exceeded;

/// Version of the shape of a [`LogRecord`].
pub const LOG_SCHEMA: u32 = 1;

/// One step of one run through the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRecord {
    /// [`LOG_SCHEMA`].
    pub schema_version: u32,
    /// Which executor.
    pub executor_id: String,
    /// Which layer chose it.
    pub layer: Layer,
    /// The caller's name for this run.
    pub action_id: String,
    /// What happened.
    pub event: Event,
}

/// What happened at the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The run came to the gate.
    Requested {
        /// What it was thought to cost.
        estimate: Cost,
    },
    /// Pre, or the guard, closed; nothing was counted.
    Denied {
        /// Why.
        reason: String,
    },
    /// A limit closed; nothing was counted.
    CapExceeded {
        /// Which one.
        exceeded: Exceeded,
    },
    /// The ledger failed at admission; nothing was started.
    LedgerFailed {
        /// Why.
        reason: String,
    },
    /// The run was counted and its estimate reserved.
    Admitted {
        /// The reserved amount.
        estimate: Cost,
    },
    /// The run ended and was charged.
    Settled {
        /// The larger of estimate and actual.
        charge: Cost,
        /// What the run itself reported, if it did.
        actual: Option<Cost>,
        /// Whether the executor was run at all.
        proceeded: bool,
        /// Whether the run gave a result, rather than a fault or a panic.
        completed: bool,
    },
    /// The run ended and its charge could not be kept.
    SettleFailed {
        /// Why.
        reason: String,
    },
    /// Post panicked; the result stands.
    PostFailed,
}

/// Takes log records. One that panics loses its record and changes nothing else.
pub trait Log: Send + Sync {
    /// Takes one record, in order within a run.
    fn write(&self, record: &LogRecord);
}

/// Keeps no log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Log for Silent {
    fn write(&self, _: &LogRecord) {}
}
