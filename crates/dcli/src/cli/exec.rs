//! `dcli exec`: arguments to a request, and the envelope to standard output.

use std::io;
use std::sync::Arc;

use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::fact::Warning;

use super::args::Exec;
use super::ask::{Refused, asked};
use super::events::{self, Events, Spool};
use super::following::Following;
use crate::exec::{self, Host, Request};
use crate::report::human::{self, printable};
use crate::report::json;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: Exec, backend: Option<&str>) -> u8 {
    let (text, events) = (args.text, args.events);
    let mut shown = None;
    let envelope = asked(args.ask, backend)
        .and_then(|asked| {
            shown = if events { Some(spooled()?) } else { None };
            Ok(asked)
        })
        .map_or_else(refusal, |asked| {
            let spool = shown.as_ref().map(Events::spool);
            perform(&asked.host, asked.request, asked.warning, spool)
        });
    let code = envelope.exit_code();
    let printed = match (text, events, shown) {
        (true, ..) => print_text(&envelope),
        (_, true, Some(shown)) => shown.end(&envelope),
        (_, true, None) => events::line(1, &envelope),
        _ => json::line(&mut io::stdout().lock(), &envelope),
    };
    match printed {
        Ok(()) => code,
        Err(error) => {
            say(&format!("the result cannot be printed: {error}"));
            if code == 0 { dcli_core::exit::FailureClass::NoResult.exit_code() } else { code }
        }
    }
}

/// Prints the envelope of a command line that could not be read, in the form that was asked for.
pub(super) fn print_unread(envelope: &ResultEnvelope, events: bool) {
    // The message is on standard error too, and the exit code says the same.
    let _ = match events {
        true => events::line(1, envelope),
        false => json::line(&mut io::stdout().lock(), envelope),
    };
}

fn spooled() -> Result<Events, Refused> {
    exec::scratch_file().and_then(Events::new).map_err(|error| {
        let message = format!("no directory for the events can be written ({error})");
        Refused(ErrorCode::ExecutorPermissionDenied, format!("{message}; nothing was started"))
    })
}

fn refusal(refused: Refused) -> ResultEnvelope {
    let Refused(code, message) = refused;
    say(&message);
    ResultEnvelope::refused(code, message)
}

/// Errors are for people too: on standard error, beside the envelope.
fn say(message: &str) {
    human::say(&format!("dcli: {message}"));
}

fn perform(
    host: &Host,
    request: Request,
    warning: Option<Warning>,
    spool: Option<Arc<Spool>>,
) -> ResultEnvelope {
    let following = Following::new(&request.executor.record.id, move |fact| {
        if let Some(spool) = &spool {
            spool.fact(fact);
        }
    });
    let mut envelope = exec::exec(host, request, &following.hooks);
    following.end();
    if let (Some(warning), Data::Run(run)) = (warning, &mut envelope.data) {
        run.run.warnings.insert(0, warning);
    }
    if let Some(error) = envelope.errors.iter().flatten().next() {
        say(&printable(&error.message, 2000));
    }
    envelope
}

fn print_text(envelope: &ResultEnvelope) -> io::Result<()> {
    let result = envelope.run().and_then(|run| run.result.as_deref());
    match result.filter(|_| envelope.exit_code() == 0) {
        Some(result) => json::raw(&mut io::stdout().lock(), result),
        None => Ok(()),
    }
}
