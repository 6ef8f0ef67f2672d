//! dcli: runs coding CLIs for you — contained, bounded, and truthful about the outcome.
//!
//! The library is a door of its own: [`exec`] runs one prompt through one backend and hands back a
//! typed [`dcli_core::envelope::ResultEnvelope`]. A program that embeds it calls
//! [`contain::entry`] first in its `main`, since a contained start runs the same executable again
//! as a tiny init; or it names a dcli executable with [`contain::Entry::at`].

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

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
