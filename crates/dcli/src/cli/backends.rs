//! `dcli backends`: every record, where it comes from, and what is found on this machine.

use std::io;

use dcli_contain::Entry;
use dcli_core::executor::record::Verification;
use dcli_core::exit::FailureClass;
use serde::Serialize;

use super::args::Backends;
use crate::config;
use crate::exec::Host;
use crate::exec::version::{Standing, look, standing};
use crate::report::human::{printable, say};
use crate::report::json;

/// The version of the shape of `backends --json`.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Listing {
    schema_version: u32,
    backends: Vec<Backend>,
    refused: Vec<RefusedRecord>,
}

/// A file of the user's that is no valid record: while it is there, nothing is run.
#[derive(Serialize)]
struct RefusedRecord {
    origin: String,
    message: String,
}

#[derive(Serialize)]
struct Backend {
    id: String,
    display_name: String,
    aliases: Vec<String>,
    source: &'static str,
    origin: String,
    verification: Verification,
    tested_versions: Vec<String>,
    program: Option<String>,
    problem: Option<String>,
    version: Option<String>,
    version_standing: Standing,
    install: String,
}

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Backends) -> u8 {
    match listing() {
        Err((class, message)) => failed(args.json, class, &message),
        Ok(listing) => {
            let printed = match args.json {
                true => json::line(&mut io::stdout().lock(), &listing),
                false => json::raw(&mut io::stdout().lock(), &table(&listing)),
            };
            if printed.is_ok() { 0 } else { FailureClass::Internal.exit_code() }
        }
    }
}

#[derive(Serialize)]
struct Failed<'a> {
    schema_version: u32,
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: &'static str,
    class: FailureClass,
    exit_code: u8,
    message: &'a str,
    hint: &'static str,
    job_created: bool,
}

fn failed(as_json: bool, class: FailureClass, message: &str) -> u8 {
    let exit_code = class.exit_code();
    if as_json {
        let hint = "correct or remove the file that the message names";
        let code = class.name();
        let error = Error { code, class, exit_code, message, hint, job_created: false };
        let _ =
            json::line(&mut io::stdout().lock(), &Failed { schema_version: SCHEMA_VERSION, error });
    }
    say(&format!("dcli: {message}"));
    exit_code
}

fn listing() -> Result<Listing, (FailureClass, String)> {
    let (catalogue, refused) = config::catalogue_with_refused()
        .map_err(|error| (FailureClass::UsageError, error.to_string()))?;
    let entry = Entry::current().map_err(|error| (FailureClass::Environment, error.to_string()))?;
    let host = Host::new(entry);
    let backends = catalogue.iter().map(|executor| {
        let record = &*executor.record;
        let found = look(&host, record);
        Backend {
            id: record.id.clone(),
            display_name: record.display_name.clone(),
            aliases: record.aliases.clone(),
            source: executor.source.name(),
            origin: executor.origin.clone(),
            verification: record.verification,
            tested_versions: record.version.tested.clone(),
            program: found.program.as_ref().ok().map(|path| path.display().to_string()),
            problem: found.program.err(),
            version_standing: standing(record, found.version.as_deref()),
            version: found.version,
            install: record.install.clone(),
        }
    });
    let refused = refused.into_iter().map(|(path, error)| RefusedRecord {
        origin: path.display().to_string(),
        message: error.to_string(),
    });
    Ok(Listing {
        schema_version: SCHEMA_VERSION,
        backends: backends.collect(),
        refused: refused.collect(),
    })
}

fn table(listing: &Listing) -> String {
    let mut text = format!(
        "{:<12} {:<8} {:<12} {:<14} {}\n",
        "ID", "SOURCE", "VERSION", "STANDING", "PROGRAM"
    );
    for backend in &listing.backends {
        let standing = match (backend.version_standing, backend.verification) {
            (_, Verification::Unverified) => "unverified",
            (Standing::Tested, _) => "tested",
            (Standing::InRange, _) => "in range",
            (Standing::OutOfRange, _) => "out of range",
            (Standing::KnownBad, _) => "known bad",
            (Standing::Unknown, _) => "-",
        };
        let program = match &backend.program {
            Some(program) => printable(program, 200),
            None if backend.install.is_empty() => "not found".to_owned(),
            None => format!("not found; {}", printable(&backend.install, 120)),
        };
        let version = printable(backend.version.as_deref().unwrap_or("-"), 24);
        let line = format!(
            "{:<12} {:<8} {version:<12} {standing:<14} {program}\n",
            backend.id, backend.source
        );
        text.push_str(&line);
    }
    for refused in &listing.refused {
        let message = printable(&refused.message, 400);
        text.push_str(&format!("refused: {message}; nothing is run while it is there\n"));
    }
    text
}
