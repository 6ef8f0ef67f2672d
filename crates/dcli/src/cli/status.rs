//! `dcli status`: where a job stands.

use dcli_core::job::answer::JobReport;

use super::answer;
use super::args_of_jobs::Status;
use super::engine::engine;
use crate::job::status;
use crate::report::job;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Status) -> u8 {
    match engine().and_then(|engine| status(&engine, &args.id).map_err(|error| error.report())) {
        Ok(report) => {
            answer::give(args.json, &report, |report: &JobReport| job::details(&report.status))
        }
        Err(report) => answer::fail(args.json, &report),
    }
}
