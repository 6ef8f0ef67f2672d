//! The pure core of dcli: what records, streams, outcomes and envelopes mean.
//!
//! No file system, process, network, environment, clock or thread is touched here: time comes in
//! as [`std::time::Duration`] since the start of a run, bytes come in as slices, and what should
//! happen goes out as values.

pub mod attempt;
pub mod capability;
pub mod decode;
pub mod doctor;
pub mod envelope;
pub mod executor;
pub mod exit;
pub mod fact;
pub mod failure;
pub mod gate;
pub mod interaction;
pub mod job;
pub mod milestone;
pub mod outcome;
pub mod redact;
pub mod report;
pub mod schema;
pub mod setting;
