//! The arguments of every subcommand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use dcli_contain::Requirement;
use dcli_core::executor::access::Access;
use dcli_core::job::id::GroupName;

use super::args_of_answers::{Answering, Interactions, Respond};
use super::args_of_jobs::{Cancel, Cleanup, Debug, List, Read, Run, Status, Submit, Tail, Wait};

/// Runs coding CLIs for you: contained, bounded, and truthful about the outcome.
#[derive(Debug, Parser)]
#[command(name = "dcli", version, about, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    /// Which backend is meant [default for a run: the project policy's, else config.toml's, else
    /// claude].
    #[arg(long, alias = "executor", value_name = "ID", global = true)]
    pub backend: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one prompt in the foreground and print its ResultEnvelope.
    Exec(Box<Exec>),
    /// Run a job in the foreground and print its result.
    Run(Box<Run>),
    /// Hand a job to a worker of its own and print the job's id at once.
    Submit(Box<Submit>),
    /// Say where a job stands.
    Status(Status),
    /// Wait until jobs have ended.
    Wait(Wait),
    /// Print the result of a job, exact bytes.
    Read(Read),
    /// List jobs, newest first.
    List(List),
    /// Print what a job's backend does, as facts.
    Tail(Tail),
    /// Print everything about a job as one redacted JSON object.
    Debug(Debug),
    /// List what jobs ask, and how each is answered.
    Interactions(Interactions),
    /// Answer what a job asks, and see that its worker took the answer.
    Respond(Respond),
    /// End a job, and see that it ended.
    Cancel(Cancel),
    /// Remove jobs that have ended, with all that belongs to them.
    Cleanup(Cleanup),
    /// List the backends: where each record comes from and what is found on this machine.
    Backends(Backends),
    /// Probe everything that a run needs, then ask each backend for one word.
    Doctor(Doctor),
    /// Say what each backend can do here; with --backend, that one alone.
    Capabilities(Listing),
    /// See the whole path work with a scripted agent: no model, no account, a scratch directory.
    Demo(Demo),
    /// Show which configuration is in force here, and what set it.
    Config(Config),
    /// Print the JSON Schema of an output, or list them.
    Schema(Schema),
    /// Print a script that completes words for a shell.
    Completions(Completions),
    /// Print a manual page, or write all of them into a directory.
    Man(Man),
}

/// What one run is to do.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The prompt, in words. Piped standard input follows them, after a blank line.
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Use the executor record in this file (docs/records.md).
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The working directory [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Read the prompt from this file, in place of words.
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The model, by the backend's own name for it.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How hard the model thinks: codex, claude; values of the backend's own ('dcli capabilities').
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<String>,
    /// Which variant of the model: opencode; values of the provider's own.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// What the run may change: read-only, workspace or unconfined.
    #[arg(long, value_name = "ACCESS", default_value = "read-only")]
    pub access: Access,
    /// End the run after this many seconds [default: 1800].
    #[arg(long, alias = "timeout-sec", value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub hard_timeout_sec: Option<Duration>,
    /// End the run after this long without output record, open tool call or CPU use [default: 600].
    #[arg(long, value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub idle_timeout_sec: Option<Duration>,
    /// End the run if no output record came after this long [default: 120].
    #[arg(long, value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub startup_timeout_sec: Option<Duration>,
    /// Inherit only these variables (an empty list: none) [default: all].
    #[arg(long, value_name = "A,B")]
    pub inherit_env: Option<String>,
    /// Set a variable; may be given several times.
    #[arg(long, value_name = "K=V", value_parser = assignment)]
    pub env: Vec<(String, String)>,
    /// Pass an argument on to the backend as it is; may be given several times.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub extra_arg: Vec<String>,
    /// Run this program for the record's command.
    #[arg(long, value_name = "PATH")]
    pub command: Option<PathBuf>,
    /// Demand a containment: pid-namespace, guardian, process-group or none; KIND+: or better.
    #[arg(long, value_name = "KIND", value_parser = requirement)]
    pub containment: Option<Requirement>,
    /// Run only where the access is enforced and that is proven.
    #[arg(long)]
    pub require_enforcement: bool,
    /// Count the run in this group too: caps per group hold for all runs of it.
    #[arg(long, value_name = "NAME")]
    pub group: Option<GroupName>,
    #[command(flatten)]
    pub answering: Answering,
}

// Nobody can answer a run that is no job: it is told so, and shown no options for it.
#[derive(Debug, Args)]
#[command(mut_arg("attended", |arg| arg.hide(true)))]
#[command(mut_arg("allow", |arg| arg.hide(true)))]
#[command(mut_arg("ask", |arg| arg.hide(true)))]
#[command(mut_arg("deny", |arg| arg.hide(true)))]
#[command(mut_arg("isolated_state", |arg| arg.hide(true)))]
pub(super) struct Exec {
    #[command(flatten)]
    pub ask: Ask,
    /// Print the result only, and nothing where the run is not ok.
    #[arg(long, conflicts_with = "events")]
    pub text: bool,
    /// Print facts as JSONL while it runs, and the envelope last.
    #[arg(long)]
    pub events: bool,
    /// Accepted for scripts: exec prints JSON anyway.
    #[arg(long, hide = true, conflicts_with = "text")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Backends {
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Print what each run and command answers, as JSON lines and without explanations.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Config {
    /// The directory to ask for [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Which schema [default: list them].
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// List them as one JSON object; a schema is JSON anyway.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// The command to print the page of [default: dcli's own].
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub command: Option<String>,
    /// Write every page into this directory.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// The project's directory, whose policy counts [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Give each backend this many seconds to answer; it costs a few tokens. 0: ask none.
    #[arg(long, value_name = "N", value_parser = seconds_or_none, default_value = "120")]
    pub live_smoke_timeout_sec: Duration,
    /// Print one JSON object, also when checks fail.
    #[arg(long)]
    pub json: bool,
}

/// What a command that lists things takes.
#[derive(Debug, Args)]
pub(super) struct Listing {
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// The longest time limit: a hundred years.
const LONGEST: f64 = 3.2e9;

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if !number.is_finite() || number <= 0.0 || number > LONGEST {
        return Err(format!("{text} is not a time limit: give more than 0 seconds"));
    }
    let limit = Duration::from_secs_f64(number);
    if limit.is_zero() {
        return Err(format!("{text} is not a time limit: give more than 0 seconds"));
    }
    Ok(limit)
}

fn seconds_or_none(text: &str) -> Result<Duration, String> {
    if text.parse() == Ok(0.0) { Ok(Duration::ZERO) } else { seconds(text) }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give NAME=VALUE".to_owned()),
    }
}

fn requirement(text: &str) -> Result<Requirement, String> {
    text.parse().map_err(|error: dcli_contain::UnknownKind| error.to_string())
}

/// A name of the form `dcli-<id>` chooses the backend before arguments are parsed: the words as if
/// `--backend <id>` had been given.
///
/// # Errors
/// The backend is chosen twice: nobody could tell which one was meant.
pub(super) fn with_backend_of_name(words: &[OsString]) -> Result<Vec<OsString>, clap::Error> {
    let name = words.first().map(Path::new).and_then(Path::file_name).and_then(|n| n.to_str());
    let id = name.and_then(|name| name.strip_prefix("dcli-"));
    let given = backends_given(words);
    let twice = |message: String| {
        Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message + "\n"))
    };
    match (id, given) {
        (Some(id), 1..) => {
            twice(format!("'{}' already chooses the backend {id}", name.unwrap_or_default()))
        }
        (None, 2..) => twice("the backend is chosen twice".to_owned()),
        (Some(id), _) => {
            let mut with = words.to_vec();
            with.splice(1..1, ["--backend".into(), id.into()]);
            Ok(with)
        }
        (None, _) => Ok(words.to_vec()),
    }
}

/// The command among the words, whether or not there is one of that name.
pub(super) fn verb(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    while let Some(word) = words.next() {
        match word {
            "--backend" | "--executor" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

/// How often the words choose a backend; a value of `--extra-arg` is no choice.
fn backends_given(words: &[OsString]) -> usize {
    let chooses = |word: &str| {
        let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
        matches!(flag, "--backend" | "--executor")
    };
    let mut count = 0;
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word {
            "--" => break,
            "--extra-arg" => drop(words.next()),
            word => count += usize::from(chooses(word)),
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let text = |words: Vec<OsString>| {
            words.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        with_backend_of_name(&words).map(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_shim_chooses_the_backend_by_its_name() {
        let found = with(&["/bin/dcli-codex", "exec", "hi"]).unwrap();
        assert_eq!(found, ["/bin/dcli-codex", "--backend", "codex", "exec", "hi"]);
        assert_eq!(with(&["dcli", "exec", "hi"]).unwrap(), ["dcli", "exec", "hi"]);
    }

    #[test]
    fn the_command_is_the_first_word_that_is_no_option() {
        let verb_of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            verb(&words).map(str::to_owned)
        };
        for words in [
            &["dcli", "exec", "run"][..],
            &["dcli", "--backend", "run", "exec"],
            &["dcli-codex", "--executor=run", "--json", "exec", "--frobnicate"],
        ] {
            assert_eq!(verb_of(words).as_deref(), Some("exec"), "{words:?}");
        }
        assert_eq!(verb_of(&["dcli", "--backend"]), None);
    }

    #[test]
    fn a_backend_chosen_twice_is_refused() {
        for words in [
            &["dcli-codex", "exec", "--backend", "claude"][..],
            &["dcli-codex", "exec", "--backend=codex"],
            &["dcli", "--backend", "a", "exec", "--executor", "b"],
            &["dcli", "exec", "--backend", "a", "--backend", "a"],
        ] {
            assert!(with(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn an_extra_argument_or_a_prompt_is_no_choice() {
        let words = ["dcli-codex", "exec", "--extra-arg", "--backend", "--", "--backend"];
        assert!(with(&words).is_ok());
    }
}
