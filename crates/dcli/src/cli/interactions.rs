//! `dcli interactions`: what jobs ask, and how each is answered.

use dcli_core::job::answer::InteractionListing;

use super::answer::{self, of_all_backends};
use super::args_of_answers::Interactions;
use super::engine::engine;
use super::list::directory;
use crate::job::{Asker, interactions};
use crate::report::human::say;
use crate::report::interaction;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Interactions, backend: Option<&str>) -> u8 {
    let no_choice = if args.id.is_none() { of_all_backends(backend) } else { Ok(()) };
    let asked = no_choice.and_then(|()| engine()).and_then(|engine| {
        let found = match &args.id {
            Some(id) => interactions(&engine, Asker::Job(id)),
            None => {
                let directory = directory(args.all_repos, args.cwd.as_ref())?;
                let directory = directory.as_deref();
                interactions(&engine, Asker::Running { directory, decided_too: args.all })
            }
        };
        found.map_err(|error| error.report())
    });
    match asked {
        Ok(asked) => {
            asked.unreadable.iter().for_each(|reason| say(&format!("dcli: left out: {reason}")));
            answer::give(args.json, &asked.listing, |listing: &InteractionListing| {
                interaction::table(&listing.interactions)
            })
        }
        Err(report) => answer::fail(args.json, &report),
    }
}
