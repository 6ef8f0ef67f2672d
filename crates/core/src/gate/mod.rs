//! The gate that every run passes: pre → guard → admission → around → settle → post.
//!
//! A run is described by its request and answered by its result; the gate knows neither. It
//! refuses before anything is started, admits atomically against caps, lets the executor run at
//! most once, and charges never less than what was estimated, also when the run panics. Where the
//! sums are kept is the [`Ledger`]'s business, what is allowed is the [`Policy`]'s.

mod budget;
mod caps;
mod choice;
mod ledger;
mod log;
mod policy;
mod runner;

pub use budget::{Budget, BudgetError, Limit, Rule, Scope};
pub use caps::{CapError, CapKind, Caps, Cost};
pub use choice::{Choice, Layer, Preferences};
pub use ledger::{AdmitError, Counted, Exceeded, Ledger, LedgerError, MemoryLedger, Ticket};
pub use log::{Event, LOG_SCHEMA, Log, LogRecord, Silent};
pub use policy::{AllowAll, AroundFault, Call, GuardFault, Policy, Proceed, Verdict};
pub use runner::{Execute, Gate, Passed, Refusal, Runner};
