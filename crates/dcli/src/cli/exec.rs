//! `dcli exec`: arguments to a request, and the envelope to standard output.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcli_contain::Entry;
use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::executor::{Executor, Source};
use dcli_core::fact::Warning;
use dcli_core::gate::{Choice, Layer};

use super::args::Exec;
use super::events::{self, Events, Spool};
use super::progress::Progress;
use super::{prompt, signals};
use crate::config::{self, Policy, User};
use crate::exec::{self, Hooks, Host, Inherit, Lost, ModelChoice, Request, Timeouts};
use crate::report::human::{self, printable};
use crate::report::json;

/// Why nothing was run.
struct Refused(ErrorCode, String);

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: Exec, backend: Option<&str>) -> u8 {
    let (text, events) = (args.text, args.events);
    let mut shown = None;
    let envelope = prepare(args, backend)
        .and_then(|prepared| {
            shown = if events { Some(spooled()?) } else { None };
            Ok(prepared)
        })
        .map_or_else(refusal, |(host, request, warning)| {
            perform(&host, request, warning, shown.as_ref().map(Events::spool))
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

fn invalid(message: impl std::fmt::Display) -> Refused {
    Refused(ErrorCode::RequestInvalid, format!("{message}; nothing was started"))
}

fn prepare(args: Exec, backend: Option<&str>) -> Result<(Host, Request, Option<Warning>), Refused> {
    let cwd = match &args.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir()
            .map_err(|error| invalid(format!("the current directory is gone: {error}")))?,
    };
    let project = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
    config::state_outside(&project).map_err(invalid)?;
    let policy = config::policy(&project).map_err(invalid)?;
    let user = config::user().map_err(invalid)?;
    let (executor, chosen_by) = executor(&args, backend, (&policy, &user))?;
    let prompt = prompt::read(&args.words, args.prompt_file.as_deref()).map_err(invalid)?;
    let entry = Entry::current().map_err(|error| {
        Refused(ErrorCode::ExecutorUnavailable, format!("{error}; nothing was started"))
    })?;
    let budget = policy.budget(&user);
    let host = Host::new(entry).with_budget(budget, args.group.clone(), Arc::new(lost));
    let host = host.with_max_depth(user.limits.max_depth);
    let request = request(args, executor, chosen_by, (cwd, prompt.text, &policy));
    Ok((host, request, prompt.warning))
}

/// A run that nobody settled is no fault of this one, and its caller may want to know.
fn lost(lost: &Lost) {
    let group = lost.group.iter().map(|group| format!(" of group {group}")).collect::<String>();
    let charge = match lost.charge {
        Some(charge) => format!("{} tokens", charge.tokens()),
        None => "its estimate".to_owned(),
    };
    say(&format!("a run{group} since {} lost its dcli; it was charged {charge}", lost.since));
}

fn executor(
    args: &Exec,
    backend: Option<&str>,
    (policy, user): (&Policy, &User),
) -> Result<(Executor, Layer), Refused> {
    let not_valid = |error: config::ConfigError| match error {
        config::ConfigError::Record(_) => {
            Refused(ErrorCode::ExecutorInvalid, format!("{error}; nothing was started"))
        }
        other => invalid(other),
    };
    let mut catalogue = config::catalogue().map_err(not_valid)?;
    let given = match &args.record {
        Some(path) => Some(config::add(&mut catalogue, path, Source::File).map_err(not_valid)?),
        None => None,
    };
    let named = backend.or(given.as_deref());
    let Choice { executor_id, layer } = policy.choose(user, named);
    let found = catalogue.find(&executor_id).map_err(|error| {
        let message = format!("{error}; nothing was started; see 'dcli backends'");
        Refused(ErrorCode::ExecutorNotFound, message)
    })?;
    let denied = |message| {
        let message = format!("{message}; nothing was started");
        Refused(ErrorCode::ExecutorPermissionDenied, message)
    };
    user.allow(&found.record.id).map_err(denied)?;
    policy.allow(&found.record.id, args.access).map_err(denied)?;
    Ok((found.clone(), layer))
}

fn request(
    args: Exec,
    executor: Executor,
    chosen_by: Layer,
    (cwd, prompt, policy): (PathBuf, String, &Policy),
) -> Request {
    let default = Timeouts::default();
    let hard = Policy::tighten(
        policy.hard_timeout_sec,
        Some(args.hard_timeout_sec.unwrap_or(default.hard)),
    );
    let names = |list: String| -> Vec<String> {
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    Request {
        chosen_by,
        access: args.access,
        model: args.model.map_or(ModelChoice::Default, ModelChoice::Named),
        timeouts: Timeouts {
            hard: hard.unwrap_or(default.hard),
            startup: Policy::tighten(policy.startup_timeout_sec, args.startup_timeout_sec),
            idle: Policy::tighten(policy.idle_timeout_sec, args.idle_timeout_sec),
        },
        inherit: args.inherit_env.map_or(Inherit::All, |list| Inherit::Only(names(list))),
        env: args.env,
        extra_args: args.extra_arg,
        command: args.command,
        containment: args.containment.unwrap_or_default(),
        ..Request::new(executor, prompt, cwd)
    }
}

fn perform(
    host: &Host,
    request: Request,
    warning: Option<Warning>,
    spool: Option<Arc<Spool>>,
) -> ResultEnvelope {
    let progress = Arc::new(Progress::new(&request.executor.record.id));
    let line = Arc::clone(&progress);
    let hooks = Hooks {
        on_fact: Some(Arc::new(move |fact| {
            line.fact(&fact.fact);
            if let Some(spool) = &spool {
                spool.fact(fact);
            }
        })),
        ..Hooks::default()
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let line = Arc::clone(&progress);
    hooks.cancel.listen(move || {
        line.cancelling();
        true
    });
    if let Err(error) = signals::cancel_on_signals(hooks.cancel.clone(), Arc::clone(&is_over)) {
        say(&format!("signals will not cancel this run: {error}"));
    }
    let mut envelope = exec::exec(host, request, &hooks);
    is_over.store(true, Ordering::Relaxed);
    progress.end();
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
