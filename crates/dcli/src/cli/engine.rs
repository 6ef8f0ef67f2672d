//! What the commands over jobs work with, from this process's environment and configuration.

use dcli_contain::Entry;
use dcli_core::exit::FailureClass;
use dcli_core::interaction::Terms;
use dcli_core::job::state::Mode;
use dcli_core::report::ErrorReport;

use super::args_of_jobs::{Job, ModeName};
use super::ask::{self, Asked, Refused, asked};
use crate::config;
use crate::job::{Engine, JobError, Occasion, Spec};

/// An engine for jobs that are there already. It may start those that wait: the configuration has to
/// be in order.
pub(super) fn engine() -> Result<Engine, ErrorReport> {
    let user = config::user().map_err(|error| unusable(&error))?;
    Ok(engine_that_starts_nothing()?.with_limits(user.limits))
}

/// An engine to look at a job or to end it, which a broken configuration must not keep anybody from.
pub(super) fn engine_that_starts_nothing() -> Result<Engine, ErrorReport> {
    Engine::new(own_entry()?).map_err(|error| error.report())
}

/// The engine of a worker: as the command that made the job had it.
pub(super) fn of_worker(occasion: &Occasion) -> Result<Engine, JobError> {
    let refused = |message: String| JobError::Usage { message };
    let entry = Entry::current().map_err(|error| refused(error.to_string()))?;
    let configured = ask::host(&entry, &occasion.workspace, occasion.group.clone());
    let (host, limits) = configured.map_err(|error| refused(error.to_string()))?;
    Ok(Engine::at(entry, occasion.root.clone()).with_host(host).with_limits(limits))
}

/// A job as it is asked for, and what makes it.
pub(super) fn spec(job: Job, backend: Option<&str>) -> Result<(Engine, Spec), ErrorReport> {
    if job.mode == ModeName::Implement {
        let message = "--mode implement is not available in this version";
        return Err(ErrorReport::of_class(FailureClass::UnsupportedCapability, message)
            .hint("no job was created; use --mode run with --access workspace"));
    }
    let group = job.ask.group.clone();
    let Asked { entry, host, limits, mut request, warning, configured } =
        asked(job.ask, backend).map_err(refusal)?;
    request.terms = with_defaults(request.terms, configured);
    let engine = Engine::new(entry).map_err(|error| error.report())?;
    let spec = Spec {
        mode: Mode::Run,
        group,
        label: job.label,
        delegate: job.delegate,
        warnings: warning.into_iter().collect(),
        ..Spec::new(request)
    };
    Ok((engine.with_host(host).with_limits(limits), spec))
}

/// The rules of both hold; how long somebody is waited for is what was asked for, if it was.
fn with_defaults(given: Terms, configured: Terms) -> Terms {
    Terms {
        attended: given.attended.or(configured.attended),
        policy: given.policy.and(configured.policy),
    }
}

/// The same words as in an envelope, where a job was asked for.
fn refusal(Refused(code, message): Refused) -> ErrorReport {
    JobError::Refused { code, message }.report()
}

fn own_entry() -> Result<Entry, ErrorReport> {
    Entry::current()
        .map_err(|error| ErrorReport::of_class(FailureClass::Environment, error.to_string()))
}

fn unusable(error: &config::ConfigError) -> ErrorReport {
    ErrorReport::of_class(FailureClass::UsageError, error.to_string())
        .hint("correct or remove the file that the message names")
}
