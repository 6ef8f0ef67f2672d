//! `dcli submit`: a job in the background; its id on standard output, at once.

use super::answer;
use super::args_of_jobs::Submit;
use super::engine::spec;
use crate::job::submit;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: Submit, backend: Option<&str>) -> u8 {
    let as_json = args.job.json;
    let submitted = spec(args.job, backend)
        .and_then(|(engine, spec)| submit(&engine, spec).map_err(|error| error.report()));
    match submitted {
        Ok(submitted) => answer::give(as_json, &submitted, |made| format!("{}\n", made.job_id)),
        Err(report) => answer::fail(as_json, &report),
    }
}
