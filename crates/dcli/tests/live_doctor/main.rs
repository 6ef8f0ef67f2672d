//! `dcli doctor` and `dcli capabilities` with the real coding CLIs: what the doctor needs is taken
//! away, one thing at a time, and the report changes where it should and nowhere else.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a fixture that fails ends its test")]

mod capabilities;
mod configured;
mod live_runs;
mod scene;
mod taken_away;
