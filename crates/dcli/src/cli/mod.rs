//! The command line: arguments → call → report. No logic of its own.

mod answer;
mod args;
mod args_of_answers;
mod args_of_jobs;
mod ask;
mod backends;
mod cancel;
mod capabilities;
mod cleanup;
mod completions;
mod config;
mod debug;
mod demo;
mod doctor;
mod engine;
mod events;
mod exec;
mod following;
mod interactions;
mod list;
mod man;
mod progress;
mod prompt;
mod read;
mod respond;
mod run;
mod schema;
mod signals;
mod status;
mod submit;
mod suggest;
mod tail;
mod wait;
mod waiting;
mod worker;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use dcli_core::envelope::{ErrorCode, ResultEnvelope};
use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;

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
        Command::Run(run) => run::run(*run, cli.backend.as_deref()),
        Command::Submit(submit) => submit::run(*submit, cli.backend.as_deref()),
        Command::Status(status) => status::run(&status),
        Command::Wait(wait) => wait::run(&wait, cli.backend.as_deref()),
        Command::Read(read) => read::run(&read),
        Command::List(list) => list::run(&list, cli.backend.as_deref()),
        Command::Tail(tail) => tail::run(&tail),
        Command::Debug(debug) => debug::run(&debug),
        Command::Interactions(interactions) => {
            interactions::run(&interactions, cli.backend.as_deref())
        }
        Command::Respond(respond) => respond::run(respond),
        Command::Cancel(cancel) => cancel::run(&cancel),
        Command::Cleanup(cleanup) => cleanup::run(&cleanup, cli.backend.as_deref()),
        Command::Backends(backends) => backends::run(&backends),
        Command::Doctor(doctor) => doctor::run(&doctor, cli.backend.as_deref()),
        Command::Capabilities(listing) => capabilities::run(&listing, cli.backend.as_deref()),
        Command::Demo(demo) => demo::run(&demo),
        Command::Config(config) => config::run(&config),
        Command::Schema(schema) => schema::run(&schema),
        Command::Completions(completions) => completions::run(&completions, called(&words)),
        Command::Man(man) => man::run(&man),
    };
    ExitCode::from(code)
}

/// Works on a job and ends this process, where it was started for one.
pub(crate) fn work_if_started_for_it() {
    if let Some(code) = worker::role() {
        std::process::exit(code.into());
    }
}

/// The name of this program: `dcli`, or the shim's.
fn called(words: &[OsString]) -> &str {
    let name = words.first().map(Path::new).and_then(Path::file_name).and_then(|n| n.to_str());
    name.filter(|name| name.starts_with("dcli-")).unwrap_or("dcli")
}

/// A command line that cannot be read: exit 2, with an envelope where `exec` was meant, and an error
/// report where another command was asked for JSON.
fn usage(words: &[OsString], error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed standard output is a quiet end.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let is = |word: &str| words.iter().take_while(|w| *w != "--").any(|found| found == word);
    if let Some(report) = suggest::unknown_command(error) {
        return answer::fail(is("--json"), &report).into();
    }
    let text = error.render().to_string();
    let reason = reason(&text);
    crate::report::human::say(text.trim_end());
    let verb = args::verb(words);
    if verb == Some("exec") && !is("--text") {
        let message = format!("{reason}; nothing was started; see 'dcli exec --help'");
        let envelope = ResultEnvelope::refused(ErrorCode::RequestInvalid, message);
        exec::print_unread(&envelope, is("--events"));
    } else if is("--json") {
        let verb = verb.map(|verb| format!(" {verb}")).unwrap_or_default();
        let report = ErrorReport::of_class(FailureClass::UsageError, reason);
        answer::print_error(&report.hint(format!("nothing was done; see 'dcli{verb} --help'")));
    }
    ExitCode::from(FailureClass::UsageError.exit_code())
}

/// The first line of what was wrong, and the names that it announces.
fn reason(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
    if !first.ends_with(':') {
        return first.to_owned();
    }
    let names: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    format!("{first} {}", names.join(", "))
}
