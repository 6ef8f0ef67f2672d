//! `dcli cleanup`: removes jobs that have ended.

use dcli_core::job::answer::CleanupReport;

use super::answer::{self, of_all_backends};
use super::args_of_jobs::Cleanup;
use super::engine::engine;
use super::list::directory;
use crate::job::{CleanupMode, Rule, cleanup};
use crate::report::human::{bytes, say};
use crate::report::table::Table;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Cleanup, backend: Option<&str>) -> u8 {
    let rule = Rule { older_than: args.older_than, beyond: args.keep };
    let mode = if args.dry_run { CleanupMode::DryRun } else { CleanupMode::Remove };
    let cleaned = of_all_backends(backend).and_then(|()| engine()).and_then(|engine| {
        let directory = directory(args.all_repos, args.cwd.as_ref())?;
        cleanup(&engine, directory.as_deref(), &rule, mode).map_err(|error| error.report())
    });
    match cleaned {
        Ok(report) => {
            report.problems.iter().for_each(|problem| say(&format!("dcli: left: {problem}")));
            answer::give(args.json, &report, text)
        }
        Err(report) => answer::fail(args.json, &report),
    }
}

fn text(report: &CleanupReport) -> String {
    let done = if report.dry_run { "would be removed" } else { "removed" };
    let mut table = Table::new(["WHAT", "", "BYTES"]);
    for job in &report.removed {
        table.row([job.job_id.as_str(), &format!("{} · {done}", job.state), &bytes(job.bytes)]);
    }
    for job in &report.skipped {
        table.row([job.job_id.as_str(), &format!("left: {}", job.reason), ""]);
    }
    for orphan in &report.orphans {
        let what = format!("{} · {done}", orphan.what);
        table.row([orphan.path.as_str(), &what, &bytes(orphan.bytes)]);
    }
    let rows = if table.is_empty() { String::new() } else { table.text() };
    let orphans = match report.orphans.len() {
        0 => String::new(),
        count => format!(", {count} leftovers"),
    };
    format!("{rows}{} jobs{orphans} {done}: {}\n", report.removed.len(), bytes(report.bytes))
}
