//! The arguments of every subcommand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use dcli_contain::Requirement;
use dcli_core::executor::access::Access;

/// Runs coding CLIs for you: contained, bounded, and truthful about the outcome.
#[derive(Debug, Parser)]
#[command(name = "dcli", version, about, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one prompt in the foreground and print its ResultEnvelope.
    Exec(Box<Exec>),
    /// List the backends: where each record comes from and what is found on this machine.
    Backends(Backends),
    /// See the whole path work with a scripted agent: no model, no account, a scratch directory.
    Demo(Demo),
}

#[derive(Debug, Args)]
pub(super) struct Exec {
    /// The prompt, in words. Piped standard input follows them.
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Which backend runs it [default: the policy's, else the configuration's, else claude].
    #[arg(long, alias = "executor", value_name = "ID")]
    pub backend: Option<String>,
    /// Use the executor record in this file.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The working directory [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Read the prompt from this file.
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The model, by the backend's own name for it.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// What the run may change: read-only, workspace or unconfined.
    #[arg(long, value_name = "ACCESS", default_value = "read-only")]
    pub access: Access,
    /// End the run after this long [default: 1800].
    #[arg(long, alias = "timeout-sec", value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub hard_timeout_sec: Option<Duration>,
    /// End the run after this long without record, open tool call or CPU use [default: 600].
    #[arg(long, value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub idle_timeout_sec: Option<Duration>,
    /// End the run if no record came after this long [default: 120].
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
    /// Demand a containment: pid-namespace, guardian, process-group or none; with + or better.
    #[arg(long, value_name = "KIND", value_parser = requirement)]
    pub containment: Option<Requirement>,
    /// Print the result only.
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
    /// Print the envelopes as JSON lines and no explanations.
    #[arg(long)]
    pub json: bool,
}

/// The longest time limit: a hundred years.
const LONGEST: f64 = 3.2e9;

fn seconds(text: &str) -> Result<Duration, String> {
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
pub(super) fn with_backend_of_name(words: &[OsString]) -> Result<Vec<OsString>, clap::Error> {
    let name = words.first().map(Path::new).and_then(Path::file_name).and_then(|n| n.to_str());
    let Some(id) = name.and_then(|name| name.strip_prefix("dcli-")) else {
        return Ok(words.to_vec());
    };
    let is_backend = |word: &&OsString| {
        word.to_str().is_some_and(|word| {
            ["--backend", "--executor"]
                .iter()
                .any(|flag| word == *flag || word.starts_with(&format!("{flag}=")))
        })
    };
    let ours = words.iter().take_while(|word| *word != "--");
    if ours.clone().find(is_backend).is_some() {
        let message = format!("'{}' already chooses the backend {id}", name.unwrap_or_default());
        return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message + "\n"));
    }
    let mut with = words.to_vec();
    if let Some(at) = with.iter().position(|word| word == "exec") {
        with.splice(at + 1..at + 1, ["--backend".into(), id.into()]);
    }
    Ok(with)
}
