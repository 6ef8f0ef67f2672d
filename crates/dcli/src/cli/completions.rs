//! `dcli completions`: a script that completes words for a shell.

use clap::CommandFactory;

use super::answer;
use super::args::{Cli, Completions};

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Completions, called: &str) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), called, &mut script);
    answer::show(&String::from_utf8_lossy(&script))
}
