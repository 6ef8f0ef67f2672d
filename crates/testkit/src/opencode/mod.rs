//! A stand-in for `opencode serve`: it answers as opencode 1.18.33 was measured to answer, plays
//! scripted turns without a model, and misbehaves where its script says so.
//!
//! `dcli-fake-opencode serve` reads the script from the file that [`SCRIPT_VARIABLE`] names and writes
//! each request to the file that [`LOG_VARIABLE`] names, one JSON object a line. No password is in it.

mod description;
mod dice;
mod fault;
mod http;
mod log;
mod lossy;
mod routes;
mod script;
mod server;
mod turn;
mod world;

pub use dice::{Dice, Mishap};
pub use fault::{Fault, Kind};
pub use log::{Auth, Request};
pub use lossy::main as lossy_main;
pub use script::{Asking, Script, Step, Tool, Write};
pub use server::main;

/// Names the file with the script; without it the default script is played.
pub const SCRIPT_VARIABLE: &str = "FAKE_OPENCODE_SCRIPT";
/// Names the file that requests are appended to.
pub const LOG_VARIABLE: &str = "FAKE_OPENCODE_LOG";
/// The version that it says it is, unless the script has another.
pub const VERSION: &str = "1.18.33";
