//! `dcli debug`: everything about a job, as one redacted JSON object.

use super::answer;
use super::args_of_jobs::Debug;
use super::engine::engine_that_starts_nothing;
use crate::job::debug;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Debug) -> u8 {
    match engine_that_starts_nothing()
        .and_then(|engine| debug(&engine, &args.id).map_err(|error| error.report()))
    {
        Ok(bundle) => answer::give(true, &bundle, |_| String::new()),
        Err(report) => answer::fail(args.json, &report),
    }
}
