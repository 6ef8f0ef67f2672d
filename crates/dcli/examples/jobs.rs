//! A program that hands prompts over as jobs, waits for them, and reads what came of them.
//!
//! `cargo run -p dcli --example jobs -- codex "Say OK." "Say it again."`; BACKEND_PROGRAM names another
//! program in the place of the backend's own.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

use std::process::ExitCode;
use std::time::Duration;

use dcli::contain::Entry;
use dcli::exec::Request;
use dcli::job::{Engine, Filter, Spec, Until, Which, list, read, submit, wait};
use dcli::model::executor::Catalogue;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    dcli::entry();
    let mut words = std::env::args().skip(1);
    let backend = words.next().unwrap_or_else(|| "codex".to_owned());
    let directory = std::env::current_dir()?;
    let executor = Catalogue::shipped()?.find(&backend)?.clone();
    let engine = Engine::new(Entry::current()?)?;

    let mut jobs = Vec::new();
    for prompt in words {
        let mut request = Request::new(executor.clone(), prompt, &directory);
        request.command = std::env::var_os("BACKEND_PROGRAM").map(Into::into);
        let mut spec = Spec::new(request);
        spec.group = Some("example".parse()?);
        jobs.push(submit(&engine, spec)?.job_id);
    }
    let which = Which::Jobs(jobs.clone());
    let waited = wait(&engine, &which, Until::All, Duration::from_secs(600), |status| {
        eprintln!("{} {}", status.job_id, status.state);
    })?;
    for id in &jobs {
        match read(&engine, id, false) {
            Ok(answer) => println!("{id}: {}", String::from_utf8_lossy(&answer.result)),
            Err(error) => eprintln!("{error}"),
        }
    }
    let group = Filter { group: Some("example".parse()?), ..Filter::default() };
    let listed = list(&engine, Some(&directory), &group)?;
    eprintln!("{} jobs in all", listed.listing.jobs.len());
    Ok(ExitCode::from(waited.exit_code()))
}
