//! What a command answers: a typed value as JSON or for people, or an error report. Each way out is
//! an exit code, and a reader that has gone is a quiet end.

use std::io;

use dcli_core::exit::{FailureClass, SUCCESS};
use dcli_core::report::ErrorReport;
use serde::Serialize;

use crate::report::human::say;
use crate::report::json;

/// Prints `value` as one line of JSON, or what `text` makes of it.
pub(super) fn give<T: Serialize>(as_json: bool, value: &T, text: impl FnOnce(&T) -> String) -> u8 {
    let out = &mut io::stdout().lock();
    printed(if as_json { json::line(out, value) } else { json::raw(out, &text(value)) })
}

/// Prints `text` as it is.
pub(super) fn show(text: &str) -> u8 {
    printed(json::raw(&mut io::stdout().lock(), text))
}

/// Prints bytes as they are.
pub(super) fn show_bytes(bytes: &[u8]) -> u8 {
    printed(json::bytes(&mut io::stdout().lock(), bytes))
}

/// Refuses a choice of backend where a command takes the jobs of all: it would do more than it says.
/// A command that is given a job's id takes that job, whichever name it is called by.
pub(super) fn of_all_backends(chosen: Option<&str>) -> Result<(), ErrorReport> {
    let Some(backend) = chosen else { return Ok(()) };
    let message = format!("this takes jobs of all backends, not those of {backend} alone");
    Err(ErrorReport::of_class(FailureClass::UsageError, message)
        .hint("nothing was done; call it as 'dcli', without --backend, or name jobs by their ids"))
}

/// Says what was wrong on standard error, with `as_json` on standard output too.
pub(super) fn fail(as_json: bool, report: &ErrorReport) -> u8 {
    if as_json {
        print_error(report);
    }
    let error = &report.error;
    let separator = if error.message.ends_with('?') { " " } else { "; " };
    let hint = error.hint.as_deref().map(|hint| format!("{separator}{hint}"));
    say(&format!("dcli: {}{}", error.message, hint.unwrap_or_default()));
    error.exit_code
}

/// Prints the report alone. The message is on standard error too, and the exit code says the same:
/// a standard output that cannot be written changes nothing.
pub(super) fn print_error(report: &ErrorReport) {
    let _ = json::line(&mut io::stdout().lock(), report);
}

/// A reader that has gone is a quiet end: nobody is left to print for.
pub(super) fn printed(printed: io::Result<()>) -> u8 {
    match printed {
        Ok(()) => SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => SUCCESS,
        Err(error) => {
            say(&format!("dcli: the answer cannot be printed: {error}"));
            FailureClass::NoResult.exit_code()
        }
    }
}
