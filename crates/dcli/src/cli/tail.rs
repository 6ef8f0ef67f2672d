//! `dcli tail`: what a job's backend does, as facts or as its own lines.

use std::io::{self, Write};

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
        Ok(printed) => answer::printed(printed),
        Err(report) => answer::fail(args.json, &report),
    }
}

/// Prints until there is no more, or it cannot be printed.
fn print(engine: &Engine, args: &Tail) -> Result<io::Result<()>, JobError> {
    let mut out = io::stdout();
    let mut printed = Ok(());
    if args.raw {
        tail::raw(engine, &args.id, args.follow, |bytes| {
            printed = out.write_all(bytes).and_then(|()| out.flush());
            printed.is_ok()
        })?;
        return Ok(printed);
    }
    tail::facts(engine, &args.id, args.follow, |line: &FactLine| {
        printed = match args.json {
            true => serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
                bytes.push(b'\n');
                out.write_all(&bytes)
            }),
            false => out.write_all(job::fact(line).as_bytes()),
        };
        if printed.is_ok() {
            printed = out.flush();
        }
        printed.is_ok()
    })?;
    Ok(printed)
}
