//! A coding agent that does exactly what a script file says: bytes, timing, children, signals.
//!
//! It stands in for a real CLI where the fault to be tested cannot be had from one on demand. The
//! binary is `dcli-fake-agent`; it takes its script from a first argument `--script FILE` or from
//! `FAKE_AGENT_SCRIPT`, and ignores every other argument except that it records them.

mod descendants;
mod play;
mod record;
mod script;
mod signals;

pub use play::{Player, main};
pub use record::{Descriptor, Record};
pub use script::{Child, ChildKind, Heard, Repeat, Script, ScriptError, Step, WriteFile};

/// Environment variable that names the script when no `--script` argument comes first.
pub const SCRIPT_VARIABLE: &str = "FAKE_AGENT_SCRIPT";
