//! The one binary, called by four names.

use std::process::ExitCode;

fn main() -> ExitCode {
    dcli::entry();
    dcli::cli::main()
}
