//! `dcli tail`: what a job's backend does, as facts or as its own lines.

use std::io::{self, Write};

use dcli_core::exit::SUCCESS;
use dcli_core::fact::FactLine;

use super::answer;
use super::args_of_jobs::Tail;
use super::engine::engine_that_starts_nothing;
use crate::job::{Engine, JobError, tail};
use crate::report::job;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Tail) -> u8 {
    let tailed = engine_that_starts_nothing()
        .and_then(|engine| print(&engine, args).map_err(|error: JobError| error.report()));
    match tailed {
        Ok(()) => SUCCESS,
        Err(report) => answer::fail(args.json, &report),
    }
}

fn print(engine: &Engine, args: &Tail) -> Result<(), JobError> {
    let mut out = io::stdout();
    if args.raw {
        return tail::raw(engine, &args.id, args.follow, |bytes| {
            out.write_all(bytes).and_then(|()| out.flush()).is_ok()
        });
    }
    tail::facts(engine, &args.id, args.follow, |line: &FactLine| {
        // A reader that has gone ends it quietly: nobody is left to print for.
        let written = match args.json {
            true => serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
                bytes.push(b'\n');
                out.write_all(&bytes)
            }),
            false => out.write_all(job::fact(line).as_bytes()),
        };
        written.and_then(|()| out.flush()).is_ok()
    })
}
