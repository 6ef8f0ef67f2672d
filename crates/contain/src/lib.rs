//! Process containment: start a program so that nothing it starts can outlive its controller.
//!
//! This crate spawns, signals, waits and ends. It knows nothing of jobs, records or output, and it is
//! the only one of the workspace with unsafe code.

mod aftermath;
mod contained;
mod detached;
mod entry;
mod error;
mod identity;
mod kind;
mod launch;
mod ledger;
mod marker;
mod probe;
mod support;
mod tree;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(not(target_os = "linux"))]
use portable as platform;

pub use aftermath::{Aftermath, Exit, Survivor};
pub use contained::{Contained, Signal, start};
pub use detached::{Detached, detached_args};
pub use entry::{Entry, EntryError, entry};
pub use error::{Lost, SignalError, StartError};
pub use identity::{Identity, Presence};
pub use kind::{Kind, Requirement, UnknownKind};
pub use launch::{Descriptor, Input, Launch};
pub use probe::{probe, probe_kind};
pub use support::{Choice, Rung, Support, Unmet};
pub use tree::{Process, Tree};
