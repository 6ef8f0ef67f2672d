//! `dcli read`: the result of a job, exact bytes.

use dcli_core::exit::SUCCESS;

use super::answer;
use super::args_of_jobs::Read;
use super::engine::engine_that_starts_nothing;
use crate::job::read;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Read) -> u8 {
    let read = engine_that_starts_nothing()
        .and_then(|engine| read(&engine, &args.id, args.partial).map_err(|error| error.report()));
    match read {
        Ok(found) => match answer::show_bytes(&found.result) {
            SUCCESS => {
                let class = found.status.failure.as_ref().map(|failure| failure.class);
                found.status.state.exit_code(class)
            }
            unprinted => unprinted,
        },
        Err(report) => answer::fail(args.json, &report),
    }
}
