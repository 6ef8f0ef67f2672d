//! `dcli cancel`: ends a job, and sees that it ended.

use dcli_core::exit::{FailureClass, SUCCESS};
use dcli_core::job::answer::JobReport;

use super::answer;
use super::args_of_jobs::Cancel;
use super::engine::engine_that_starts_nothing;
use crate::job::cancel;
use crate::report::job;

/// Runs the subcommand; its answer is the exit code: 0 once nothing of the job runs any more.
pub(super) fn run(args: &Cancel) -> u8 {
    match engine_that_starts_nothing()
        .and_then(|engine| cancel(&engine, &args.id).map_err(|error| error.report()))
    {
        Ok(report) => {
            match answer::give(args.json, &report, |r: &JobReport| job::line(&r.status)) {
                SUCCESS => confirmed(&report),
                unprinted => unprinted,
            }
        }
        Err(report) => answer::fail(args.json, &report),
    }
}

fn confirmed(report: &JobReport) -> u8 {
    let is_unconfirmed = report
        .status
        .failure
        .as_ref()
        .is_some_and(|failure| failure.class == FailureClass::CancelUnconfirmed);
    if is_unconfirmed { FailureClass::CancelUnconfirmed.exit_code() } else { SUCCESS }
}
