//! From what was seen to the envelope.

use std::time::Duration;

use dcli_contain::{Kind, StartError, Survivor};
use dcli_core::attempt::Limits;
use dcli_core::envelope::{
    ContainmentReport, Data, DurationsMs, EnvelopeError, ErrorCode, ExecutorReport, ExitKind,
    ExitReport, ResultEnvelope, RunData, RunReport, Status, SurvivorReport, summarise,
};
use dcli_core::executor::Scan;
use dcli_core::exit::FailureClass;
use dcli_core::fact::Warning;
use dcli_core::failure::Failure;
use dcli_core::gate::LedgerError;
use dcli_core::outcome::{Ending, Limit, Surroundings, Verdict, conclude};

use super::host::Timing;
use super::prepare::Prepared;
use super::request::Request;
use super::start::Started;
use super::way::Way;
use crate::supervise::drive::Driven;

/// The envelope of a run that was started.
pub(super) fn finish(
    request: &Request,
    prepared: &Prepared,
    started: &Started,
    driven: &Driven,
    timing: (Limits, Timing),
) -> ResultEnvelope {
    let (limits, timing) = timing;
    let survivors = survivors(driven.aftermath.survivors.as_deref());
    let around = Surroundings {
        is_server: matches!(request.way(), Way::Server(_)),
        stderr: &driven.stderr,
        stderr_signals: &request.executor.record.output.stderr_signals,
        survivors: survivors.iter().flatten().map(|s| format!("{} ({})", s.comm, s.pid)).collect(),
        limits: [limits.startup, limits.idle, Some(limits.hard)].map(seconds),
    };
    let verdict = conclude(&driven.ending, &driven.scan, &around);
    let mut warnings = prepared.warnings.clone();
    warnings.extend(started.warnings.iter().cloned());
    warnings.extend(verdict.warnings.iter().cloned());
    warnings.extend(tree_warnings(driven));
    warnings.extend(record_warning(driven));
    let run = RunReport {
        durations_ms: durations(timing),
        exit: ExitReport {
            code: driven.exit.and_then(|exit| exit.code),
            signal: driven.exit.and_then(|exit| exit.signal),
            kind: Some(exit_kind(&driven.ending)),
        },
        containment: ContainmentReport {
            kind: started.kind.to_string(),
            degraded: started.degraded,
        },
        survivors,
        left_behind: driven.aftermath.left_behind,
        cancel_rung_reached: driven.rung_reached,
        warnings,
        ..blank_report(request, prepared, started.kind)
    };
    assemble(verdict, run, Seen { scan: &driven.scan, driven: Some(driven) })
}

/// The envelope of a start that failed: nothing of the backend ever ran.
pub(super) fn not_started(
    request: &Request,
    prepared: &Prepared,
    kind: Kind,
    error: &StartError,
) -> ResultEnvelope {
    let (class, hint) = match error {
        StartError::Init { .. } => {
            (FailureClass::WorkerLaunch, "nothing was consumed; try again, or see --containment")
        }
        _ => (FailureClass::Environment, "nothing was started"),
    };
    let failure = Failure::seen(class, format!("{error}; {hint}"));
    unavailable(blank_report(request, prepared, kind), failure)
}

/// The envelope of a run that could not be counted: nothing was started.
pub(super) fn not_counted(
    request: &Request,
    prepared: &Prepared,
    error: &LedgerError,
) -> ResultEnvelope {
    let failure = Failure::seen(FailureClass::Lock, format!("{error}; nothing was started"));
    unavailable(blank_report(request, prepared, Kind::None), failure)
}

fn unavailable(run: RunReport, failure: Failure) -> ResultEnvelope {
    let verdict = Verdict {
        status: Status::Failed,
        error: Some((ErrorCode::ExecutorUnavailable, failure)),
        warnings: Vec::new(),
    };
    assemble(verdict, run, Seen { scan: &Scan::default(), driven: None })
}

/// The envelope of a run that was cancelled before anything was started.
pub(super) fn cancelled_before_start() -> ResultEnvelope {
    let message = "the run was cancelled before anything was started".to_owned();
    let refused = ResultEnvelope::refused(ErrorCode::ExecutorCancelled, message);
    ResultEnvelope { status: Status::Cancelled, ..refused }
}

fn blank_report(request: &Request, prepared: &Prepared, kind: Kind) -> RunReport {
    RunReport {
        durations_ms: DurationsMs::default(),
        exit: ExitReport { code: None, signal: None, kind: None },
        containment: ContainmentReport { kind: kind.to_string(), degraded: kind.is_degraded() },
        access_enforcement: prepared.enforcement.clone(),
        survivors: None,
        left_behind: 0,
        cancel_rung_reached: None,
        warnings: prepared.warnings.clone(),
        executor: ExecutorReport {
            id: request.executor.record.id.clone(),
            source: request.executor.source.name().to_owned(),
            chosen_by: request.chosen_by.to_string(),
            program: Some(prepared.program.display().to_string()),
            version: prepared.version.clone(),
        },
        backend_session_id: None,
        tokens: dcli_core::fact::Tokens::default(),
        cost: None,
        failure: None,
    }
}

struct Seen<'a> {
    scan: &'a Scan,
    driven: Option<&'a Driven>,
}

fn assemble(verdict: Verdict, mut run: RunReport, seen: Seen<'_>) -> ResultEnvelope {
    let scan = seen.scan;
    run.backend_session_id.clone_from(&scan.session);
    run.tokens = scan.tokens;
    run.cost = scan.cost;
    let errors = verdict.error.map(|(code, failure)| {
        let message = failure.message.clone();
        run.failure = Some(failure);
        vec![EnvelopeError { message, code }]
    });
    let truncated = |pick: fn(&Driven) -> bool| seen.driven.is_some_and(pick);
    let out = truncated(|driven| driven.stdout_truncated) || scan.oversized > 0;
    let err = truncated(|driven| driven.stderr_truncated);
    let summary = match (&errors, scan.answer()) {
        (None, Some(answer)) => summarise(answer),
        (Some(errors), _) => errors.first().map(|e| summarise(&e.message)).unwrap_or_default(),
        (None, None) => String::new(),
    };
    let data = RunData {
        result: scan.answer().map(str::to_owned),
        metadata: scan.metadata.clone(),
        usage: scan.usage,
        usage_windows: scan.windows.clone(),
        stdout_truncated: (out || err).then_some(out),
        stderr_truncated: (out || err).then_some(err),
        malformed_stream_lines: (scan.malformed > 0).then_some(scan.malformed),
        run,
    };
    ResultEnvelope {
        status: verdict.status,
        data: Data::Run(Box::new(data)),
        summary,
        changed_paths: None,
        errors,
    }
}

fn survivors(found: Option<&[Survivor]>) -> Option<Vec<SurvivorReport>> {
    let report = |survivor: &Survivor| SurvivorReport {
        pid: u32::try_from(survivor.pid).unwrap_or_default(),
        start_time: survivor.start_time,
        comm: survivor.comm.clone(),
    };
    found.map(|found| found.iter().map(report).collect())
}

fn tree_warnings(driven: &Driven) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let after_end = matches!(driven.ending, Ending::Exited(_) | Ending::Signalled(_));
    if driven.aftermath.left_behind > 0 && after_end {
        let count = driven.aftermath.left_behind;
        let message = match count {
            1 => "1 process was left behind by the backend and was ended".to_owned(),
            _ => format!("{count} processes were left behind by the backend and were ended"),
        };
        warnings.push(Warning::new("left_behind", message));
    }
    match &driven.aftermath.survivors {
        None => {
            let message = "containment is none: descendants were neither looked for nor ended";
            warnings.push(Warning::new("not_contained", message));
        }
        Some(alive) if !alive.is_empty() => {
            let names = alive.iter().map(|s| format!("{} ({})", s.comm, s.pid));
            let names = names.collect::<Vec<_>>().join(", ");
            let message = format!("processes of the run are still alive: {names}");
            warnings.push(Warning::new("survivors", message));
        }
        Some(_) => {}
    }
    warnings
}

/// A run that was ended anyway keeps its own reason; that its record has a gap is said beside it.
fn record_warning(driven: &Driven) -> Option<Warning> {
    let reason = driven.unrecorded.as_ref()?;
    let message = format!("the record of the run is not complete: {reason}");
    let is_reason = matches!(driven.ending, Ending::Unrecorded(_));
    (!is_reason).then(|| Warning::new("record_incomplete", message))
}

fn exit_kind(ending: &Ending) -> ExitKind {
    match ending {
        Ending::Exited(_) => ExitKind::Exited,
        Ending::Signalled(_) => ExitKind::Signalled,
        Ending::AfterResult | Ending::Settled => ExitKind::EndedAfterResult,
        Ending::Deadline(Limit::Startup) => ExitKind::DeadlineStartup,
        Ending::Deadline(Limit::Idle) => ExitKind::DeadlineIdle,
        Ending::Deadline(Limit::Hard) => ExitKind::DeadlineHard,
        Ending::Cancelled => ExitKind::Cancelled,
        Ending::Capped | Ending::Capture(_) | Ending::Lost(_) | Ending::Unrecorded(_) => {
            ExitKind::Lost
        }
    }
}

fn durations(timing: Timing) -> DurationsMs {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    DurationsMs { spawn_setup: ms(timing.spawn_setup), run: ms(timing.run) }
}

fn seconds(limit: Option<Duration>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| format!("{} s", limit.as_secs_f64()))
}
