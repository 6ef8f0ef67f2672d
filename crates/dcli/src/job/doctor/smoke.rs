//! A live run: the record's own short prompt through the same door as any other run.

use std::time::Duration;

use dcli_core::doctor::{CheckStatus, Smoke, remedy};
use dcli_core::envelope::ResultEnvelope;
use dcli_core::executor::Executor;

use crate::exec::{Cancel, Hooks, Host, Request, Timeouts, exec};

/// Runs the smoke prompt in a scratch directory.
pub(super) fn run(host: &Host, executor: &Executor, limit: Duration, cancel: &Cancel) -> Smoke {
    let record = &*executor.record;
    if record.smoke.trim().is_empty() {
        return Smoke::skipped("its record has no smoke prompt");
    }
    let scratch = match tempfile::Builder::new().prefix("dcli-smoke-").tempdir() {
        Ok(scratch) => scratch,
        Err(error) => return Smoke::skipped(format!("no scratch directory: {error}")),
    };
    let request = Request {
        timeouts: Timeouts { hard: limit, ..Timeouts::default() },
        action_id: "doctor".to_owned(),
        ..Request::new(executor.clone(), record.smoke.as_str(), scratch.path())
    };
    let hooks = Hooks { cancel: cancel.clone(), ..Hooks::default() };
    report(&exec(host, request, &hooks), &record.command)
}

fn report(envelope: &ResultEnvelope, command: &str) -> Smoke {
    let ran = envelope.run();
    let tokens = ran.and_then(|run| run.usage);
    let duration_ms = ran.map(|run| run.run.durations_ms.run);
    let class = envelope.failure_class();
    let Some(class) = class else {
        return Smoke {
            status: CheckStatus::Ok,
            detail: format!("answered {:?}", envelope.summary),
            class: None,
            remedy: None,
            duration_ms,
            tokens,
        };
    };
    let error = envelope.errors.iter().flatten().next().map(|error| error.message.clone());
    Smoke {
        status: CheckStatus::Failed,
        detail: error.unwrap_or_else(|| envelope.summary.clone()),
        class: Some(class),
        remedy: Some(remedy(class, command)),
        duration_ms,
        tokens,
    }
}
