//! `cargo xtask bench`: measures what docs/ claims about speed and size. The measurements
//! themselves are not here yet, and saying so is a failure, never a pass.

use std::process::ExitCode;

/// Runs every measurement and writes the results into docs/.
pub(crate) fn run() -> ExitCode {
    println!("ERROR: bench is not built yet; nothing was measured");
    ExitCode::FAILURE
}
