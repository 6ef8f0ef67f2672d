//! `dcli backends`: every record, where it comes from, and what is found on this machine.

use dcli_contain::Entry;
use dcli_core::capability::Standing;
use dcli_core::executor::record::Verification;
use dcli_core::exit::FailureClass;
use dcli_core::report::{BackendEntry, BackendsReport, ErrorReport, RefusedRecord};

use super::answer;
use super::args::Backends;
use crate::config;
use crate::exec::Host;
use crate::exec::version::look;
use crate::report::human::printable;
use crate::report::table::Table;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Backends) -> u8 {
    match listing() {
        Err(report) => answer::fail(args.json, &report),
        Ok(listing) => answer::give(args.json, &listing, table),
    }
}

fn listing() -> Result<BackendsReport, ErrorReport> {
    let (catalogue, refused) = config::catalogue_with_refused()
        .map_err(|error| ErrorReport::of_class(FailureClass::UsageError, error.to_string()))
        .map_err(|report| report.hint("correct or remove the file that the message names"))?;
    let entry = Entry::current()
        .map_err(|error| ErrorReport::of_class(FailureClass::Environment, error.to_string()))?;
    let host = Host::new(entry);
    let backends = catalogue.iter().map(|executor| {
        let record = &*executor.record;
        let found = look(&host, record);
        BackendEntry {
            id: record.id.clone(),
            display_name: record.display_name.clone(),
            aliases: record.aliases.clone(),
            source: executor.source.name().to_owned(),
            origin: executor.origin.clone(),
            verification: record.verification,
            tested_versions: record.version.tested.clone(),
            program: found.program.as_ref().ok().map(|path| path.display().to_string()),
            problem: found.program.err(),
            version_standing: Standing::of(record, found.version.as_deref()),
            version: found.version,
            install: record.install.clone(),
        }
    });
    let refused = refused.into_iter().map(|(path, error)| RefusedRecord {
        origin: path.display().to_string(),
        message: error.to_string(),
    });
    Ok(BackendsReport {
        schema_version: dcli_core::report::SCHEMA_VERSION,
        backends: backends.collect(),
        refused: refused.collect(),
    })
}

fn table(listing: &BackendsReport) -> String {
    let mut table = Table::new(["ID", "SOURCE", "VERSION", "STANDING", "PROGRAM"]);
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
            Some(program) => program.clone(),
            None if backend.install.is_empty() => "not found".to_owned(),
            None => format!("not found; {}", printable(&backend.install, 120)),
        };
        let version = backend.version.as_deref().unwrap_or("-");
        table.row([&backend.id, &backend.source, version, standing, &program]);
    }
    let mut text = table.text();
    for refused in &listing.refused {
        let message = printable(&refused.message, 400);
        text.push_str(&format!("refused: {message}; nothing is run while it is there\n"));
    }
    text
}
