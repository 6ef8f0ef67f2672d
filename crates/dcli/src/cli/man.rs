//! `dcli man`: manual pages, one for dcli and one for each command.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;

use super::args::{Cli, Man};
use super::{answer, suggest};

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Man) -> u8 {
    let pages = pages();
    if let Some(directory) = &args.dir {
        return match write(directory, &pages) {
            Ok(()) => answer::show(&names(directory, &pages)),
            Err(error) => {
                let message = format!("cannot write to {}: {error}", directory.display());
                answer::fail(false, &ErrorReport::of_class(FailureClass::Environment, message))
            }
        };
    }
    let wanted = args.command.as_deref().map_or("dcli".to_owned(), |verb| format!("dcli-{verb}"));
    match pages.iter().find(|page| title(page) == wanted) {
        Some(page) => answer::show(&rendered(page)),
        None => unknown(args.command.as_deref().unwrap_or_default(), &pages),
    }
}

fn unknown(verb: &str, pages: &[Command]) -> u8 {
    let verbs = pages.iter().filter_map(|page| title(page).strip_prefix("dcli-"));
    let meant = suggest::nearest(verb, verbs).map(|verb| format!("; did you mean '{verb}'?"));
    let message = format!("no page for '{verb}'{}", meant.unwrap_or_default());
    let report = ErrorReport::of_class(FailureClass::UsageError, message);
    answer::fail(false, &report.hint("'dcli --help' lists the commands"))
}

/// A command for each page: dcli itself, and each command that is not hidden.
fn pages() -> Vec<Command> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    // This names each command in full: `dcli-exec` as a title, `dcli exec` in a synopsis.
    whole.build();
    let visible = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let mut pages: Vec<Command> = visible.cloned().collect();
    pages.insert(0, whole);
    pages
}

fn title(page: &Command) -> &str {
    page.get_display_name().unwrap_or_else(|| page.get_name())
}

fn rendered(page: &Command) -> String {
    let mut text = Vec::new();
    let source = concat!("dcli ", env!("CARGO_PKG_VERSION"));
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(page.clone()).source(source).render(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn file_name(page: &Command) -> String {
    format!("{}.1", title(page))
}

fn write(directory: &Path, pages: &[Command]) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for page in pages {
        std::fs::write(directory.join(file_name(page)), rendered(page))?;
    }
    Ok(())
}

fn names(directory: &Path, pages: &[Command]) -> String {
    let line = |page| format!("{}\n", directory.join(file_name(page)).display());
    pages.iter().map(line).collect()
}
