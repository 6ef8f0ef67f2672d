//! `dcli wait`: until jobs have ended.

use std::sync::Arc;

use dcli_core::exit::{FailureClass, SUCCESS};
use dcli_core::job::answer::{JobReport, Listing, SCHEMA_VERSION};
use dcli_core::job::id::JobId;
use dcli_core::report::ErrorReport;

use super::answer::{self, of_all_backends};
use super::args_of_jobs::Wait;
use super::engine::engine;
use super::progress::Waiting;
use super::waiting::Told;
use crate::job::{Engine, Until, Waited, Which, status, tail, wait};
use crate::report::human::say;
use crate::report::job;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Wait, backend: Option<&str>) -> u8 {
    let no_choice = if args.ids.is_empty() { of_all_backends(backend) } else { Ok(()) };
    let waited = no_choice.and_then(|()| which(args)).and_then(|which| {
        let engine = engine()?;
        let until = if args.any { Until::Any } else { Until::All };
        let line = Arc::new(Waiting::new());
        if let Which::Jobs(ids) = &which
            && let [one] = &ids[..]
        {
            follow(&engine, one, &line);
        }
        let mut told = Told::default();
        let waited = wait(&engine, &which, until, args.timeout_sec, |status| {
            line.take(status);
            if !args.json {
                told.news(status).iter().for_each(|news| line.say(news));
            }
        });
        line.end();
        waited.map(|waited| (engine, waited)).map_err(|error| error.report())
    });
    match waited {
        Ok((engine, waited)) => print(args, &engine, &waited),
        Err(report) => answer::fail(args.json, &report),
    }
}

/// Shows what the backend of one job does, where somebody looks. The thread ends with the job, or
/// with this process.
fn follow(engine: &Engine, id: &JobId, line: &Arc<Waiting>) {
    if !line.is_shown() {
        return;
    }
    let (engine, id, line) = (engine.clone(), id.clone(), Arc::clone(line));
    let facts = move || {
        // The wait itself says what is wrong with a job that cannot be read.
        let _ = tail::facts(&engine, &id, true, |fact| {
            line.fact(&fact.fact);
            true
        });
    };
    // Without it the line shows the phase alone.
    let _ = std::thread::Builder::new().name("dcli-facts".into()).spawn(facts);
}

fn which(args: &Wait) -> Result<Which, ErrorReport> {
    match (&args.group, args.ids.is_empty()) {
        (Some(group), _) => Ok(Which::Group(group.clone())),
        (None, false) => Ok(Which::Jobs(args.ids.clone())),
        // `--any` alone means any of those that run.
        (None, true) if args.all || args.any => Ok(Which::Active),
        (None, true) => {
            let message = "nothing to wait for: name jobs, --group, --all or --any";
            Err(ErrorReport::of_class(FailureClass::UsageError, message).hint("see 'dcli list'"))
        }
    }
}

fn print(args: &Wait, engine: &Engine, waited: &Waited) -> u8 {
    let printed = match &waited.jobs[..] {
        [one] if args.ids.len() == 1 => match status(engine, &one.job_id) {
            Ok(report) => answer::give(args.json, &report, |r: &JobReport| job::line(&r.status)),
            Err(error) => return answer::fail(args.json, &error.report()),
        },
        several => {
            let listing = Listing { schema_version: SCHEMA_VERSION, jobs: several.to_vec() };
            answer::give(args.json, &listing, |listing| job::table(&listing.jobs, true))
        }
    };
    if !waited.is_over {
        let seconds = args.timeout_sec.as_secs_f64();
        say(&format!("dcli: still active after {seconds} s; the jobs go on; wait again"));
    }
    if printed == SUCCESS { waited.exit_code() } else { printed }
}
