//! `dcli list`: jobs, newest first.

use std::path::PathBuf;

use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;

use super::answer;
use super::args_of_jobs::List;
use super::engine::engine;
use crate::config;
use crate::job::{Filter, list};
use crate::report::human::say;
use crate::report::job;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &List, backend: Option<&str>) -> u8 {
    let backend = backend.map(id_of);
    let filter = Filter {
        states: args.state.clone(),
        group: args.group.clone(),
        label: args.label.clone(),
        backend,
        since: args.since,
        limit: Some(args.limit),
    };
    let listed = engine().and_then(|engine| {
        let directory = directory(args.all_repos, args.cwd.as_ref())?;
        list(&engine, directory.as_deref(), &filter).map_err(|error| error.report())
    });
    match listed {
        Ok(listed) => {
            listed.unreadable.iter().for_each(|reason| say(&format!("dcli: left out: {reason}")));
            answer::give(args.json, &listed.listing, |listing| {
                job::table(&listing.jobs, args.all_repos)
            })
        }
        Err(report) => answer::fail(args.json, &report),
    }
}

/// The id that an alias stands for. Jobs may be there whose backend has no record any more: what no
/// record knows is taken as it is.
fn id_of(backend: &str) -> String {
    let known = config::catalogue_with_refused().ok();
    let found = known.and_then(|(known, _)| Some(known.find(backend).ok()?.record.id.to_string()));
    found.unwrap_or_else(|| backend.to_owned())
}

/// The directory whose repository is meant; `None`: all.
pub(super) fn directory(
    all_repos: bool,
    given: Option<&PathBuf>,
) -> Result<Option<PathBuf>, ErrorReport> {
    if all_repos {
        return Ok(None);
    }
    let found = given.cloned().map_or_else(std::env::current_dir, Ok);
    found.and_then(|path| path.canonicalize()).map(Some).map_err(|error| {
        let shown = given.map_or("this directory".into(), |given| given.display().to_string());
        let message = format!("{shown} cannot be used: {error}; nothing was done");
        ErrorReport::of_class(FailureClass::UsageError, message).hint("name one with --cwd")
    })
}
