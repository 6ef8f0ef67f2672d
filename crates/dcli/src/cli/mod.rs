//! The command line: arguments → call → report. No logic of its own.

mod args;
mod backends;
mod demo;
mod events;
mod exec;
mod progress;
mod prompt;
mod signals;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use dcli_core::envelope::{ErrorCode, ResultEnvelope};

use args::{Cli, Command};

/// Runs the command line of this process; its answer is the process's exit code.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = demo::agent_role() {
        return code;
    }
    let words: Vec<_> = std::env::args_os().collect();
    let cli = match args::with_backend_of_name(&words).and_then(Cli::try_parse_from) {
        Ok(cli) => cli,
        Err(error) => return usage(&words, &error),
    };
    let code = match cli.command {
        Command::Exec(exec) => exec::run(*exec, cli.backend.as_deref()),
        Command::Backends(backends) => backends::run(&backends),
        Command::Demo(demo) => demo::run(&demo),
    };
    ExitCode::from(code)
}

/// A command line that cannot be read: exit 2, and an envelope where `exec` was meant.
fn usage(words: &[std::ffi::OsString], error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed standard output is a quiet end.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    crate::report::human::say(text.trim_end());
    let is = |word: &str| words.iter().any(|found| found == word);
    if is("exec") && !is("--text") {
        let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let message = format!("{reason}; nothing was started; see 'dcli exec --help'");
        let envelope = ResultEnvelope::refused(ErrorCode::RequestInvalid, message);
        exec::print_unread(&envelope, is("--events"));
    }
    ExitCode::from(dcli_core::exit::FailureClass::UsageError.exit_code())
}
