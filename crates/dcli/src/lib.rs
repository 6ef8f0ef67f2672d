//! dcli: runs coding CLIs for you — contained, bounded, and truthful about the outcome.
//!
//! The library is a door of its own: [`exec`] runs one prompt through one backend and hands back a
//! typed [`dcli_core::envelope::ResultEnvelope`]; [`job`] does the same with a record that outlives the
//! program. A program that embeds it calls [`entry`] first in its `main`, since the same executable is
//! run again as a tiny init and as the worker of a job; or it names a dcli executable with
//! [`contain::Entry::at`].

mod backend;
pub mod cli;
pub mod config;
pub mod exec;
pub mod job;
pub mod report;
pub mod store;
mod supervise;

pub use backend::spawn::{ContainedSpawn, Running, Spawn};
pub use dcli_contain as contain;
pub use dcli_core as model;

/// Must be the first call in an embedding program's `main`: in a process that was started as init,
/// guardian, probe or worker it does that work and never returns.
pub fn entry() {
    contain::entry();
    cli::work_if_started_for_it();
}

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
