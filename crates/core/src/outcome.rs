//! The outcome table: what evidence and ending of a run amount to. First row that fits wins.

use serde::{Deserialize, Serialize};

use crate::envelope::{ErrorCode, Status, summarise};
use crate::executor::diagnosis::Phrases;
use crate::executor::rule::Signal;
use crate::executor::scan::Scan;
use crate::exit::FailureClass;
use crate::fact::Warning;
use crate::failure::{Confidence, Failure, FailureSource, class_of_http};

/// Which time limit ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// To the backend's first record.
    Startup,
    /// Without record, open tool call and CPU use.
    Idle,
    /// Of the whole run.
    Hard,
}

/// How a started run ended, where completion did not come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The leader exited by itself.
    Exited(i32),
    /// A signal from outside dcli ended the leader.
    Signalled(i32),
    /// It lingered after completion and was ended.
    AfterResult,
    /// Its session came to its end, and what does not end by itself was ended.
    Settled,
    /// A deadline ended it.
    Deadline(Limit),
    /// A cancel ended it.
    Cancelled,
    /// A byte cap ended it.
    Capped,
    /// Its output could not be captured.
    Capture(String),
    /// The containment that ran it was itself ended from outside.
    Lost(String),
    /// The run's own record could not be kept.
    Unrecorded(String),
}

/// What was seen besides the stream.
#[derive(Debug, Clone, Default)]
pub struct Surroundings<'a> {
    /// The last part of standard error, lossily decoded.
    pub stderr: &'a str,
    /// The record's recorded phrases of standard error.
    pub stderr_signals: &'a [Signal],
    /// Whether the leader is a server, which does not end by itself.
    pub is_server: bool,
    /// Names of processes that could not be ended.
    pub survivors: Vec<String>,
    /// Limits in words, for messages: startup, idle, hard.
    pub limits: [String; 3],
}

/// What a run amounts to.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether it worked.
    pub status: Status,
    /// Why it did not.
    pub error: Option<(ErrorCode, Failure)>,
    /// What the caller should know although it went on.
    pub warnings: Vec<Warning>,
}

/// Decides. Pure: the same evidence gives the same verdict, live and in recovery.
#[must_use]
pub fn conclude(ending: &Ending, scan: &Scan, around: &Surroundings<'_>) -> Verdict {
    let mut warnings = scan.warnings.clone();
    let error = first_row(ending, scan, around);
    if error.is_none() {
        warnings.extend(exit_warning(ending));
    }
    if scan.recovered > 0 {
        let message = format!("the backend recovered from {} reported errors", scan.recovered);
        warnings.push(Warning::new("recovered_errors", message));
    }
    if let (None, Some(denied)) = (&error, &scan.permission_denied) {
        warnings.push(Warning::new("permission_denied", denied.clone()));
    }
    let status = match &error {
        None => Status::Ok,
        Some((ErrorCode::ExecutorCancelled, _)) => Status::Cancelled,
        Some(_) => Status::Failed,
    };
    Verdict { status, error, warnings }
}

fn exit_warning(ending: &Ending) -> Option<Warning> {
    let message = match ending {
        Ending::Exited(0) => return None,
        Ending::Exited(code) => format!("the backend exited {code} after a good terminal record"),
        Ending::Signalled(signal) => {
            format!("the backend was ended by signal {signal} after a good terminal record")
        }
        Ending::AfterResult => {
            "the backend did not exit after its terminal record; its tree was ended".to_owned()
        }
        _ => return None,
    };
    Some(Warning::new("exit_after_result", message))
}

type Row = Option<(ErrorCode, Failure)>;

fn first_row(ending: &Ending, scan: &Scan, around: &Surroundings<'_>) -> Row {
    interrupted(ending, scan, around)
        .or_else(|| refused(scan))
        .or_else(|| reported(scan, around))
        .or_else(|| unfinished(scan))
        .or_else(|| exited(ending, scan, around))
        .or_else(|| cut(ending, scan))
        .or_else(|| without_result(scan))
}

/// It was ended, before completion.
fn interrupted(ending: &Ending, scan: &Scan, around: &Surroundings<'_>) -> Row {
    let failed =
        |code: ErrorCode, class, message: String| Some((code, Failure::seen(class, message)));
    match ending {
        Ending::Capture(reason) => failed(
            ErrorCode::ExecutorRunFailed,
            FailureClass::Internal,
            format!("the backend's output could not be captured: {reason}; its tree was ended"),
        ),
        Ending::Lost(reason) => failed(
            ErrorCode::ExecutorRunFailed,
            FailureClass::BackendExecutionFailed,
            format!("the process that contains the backend was lost: {reason}"),
        ),
        Ending::Unrecorded(reason) => failed(
            ErrorCode::ExecutorNoResult,
            FailureClass::NoResult,
            format!("the record of the run could not be written: {reason}; its tree was ended"),
        ),
        Ending::Cancelled if !around.survivors.is_empty() => failed(
            ErrorCode::ExecutorRunFailed,
            FailureClass::CancelUnconfirmed,
            format!("the cancel could not be confirmed; alive: {}", around.survivors.join(", ")),
        ),
        Ending::Cancelled => failed(
            ErrorCode::ExecutorCancelled,
            FailureClass::Cancelled,
            "the run was cancelled before it completed".to_owned(),
        ),
        Ending::Deadline(limit) => {
            let reported = scan.failure.as_ref().map_or_else(String::new, |failure| {
                format!("; the backend had reported: {}", summarise(&failure.message))
            });
            let message = timed_out(*limit, around) + &reported;
            failed(ErrorCode::ExecutorTimedOut, FailureClass::Timeout, message)
        }
        Ending::Signalled(signal) if !scan.complete() => failed(
            ErrorCode::ExecutorRunFailed,
            FailureClass::BackendExecutionFailed,
            format!("the backend was ended by signal {signal} from outside before it completed"),
        ),
        _ => None,
    }
}

fn timed_out(limit: Limit, around: &Surroundings<'_>) -> String {
    let [startup, idle, hard] = &around.limits;
    match limit {
        Limit::Startup => format!(
            "no record came within the startup deadline of {startup}; the tree was ended \
             (--startup-timeout-sec)"
        ),
        Limit::Idle => format!(
            "no record, no open tool call and no CPU use for the idle deadline of {idle}; the tree \
             was ended (--idle-timeout-sec)"
        ),
        Limit::Hard => format!(
            "the run did not end within its hard deadline of {hard}; the tree was ended \
             (--hard-timeout-sec)"
        ),
    }
}

/// A permission or a sandbox stopped the work.
fn refused(scan: &Scan) -> Row {
    let finished = scan.terminal && scan.answer().is_some() && scan.failure.is_none();
    // A failure that says its own cause is no consequence of what was denied before it.
    let explained =
        scan.failure.as_ref().is_some_and(|failure| failure.confidence != Confidence::Low);
    let denied = scan.permission_denied.as_ref().filter(|_| !finished && !explained);
    let denied =
        denied.map(|denied| format!("{denied}, and the turn stopped without a final result"));
    let unstarted = scan.sandbox_failure.as_ref().filter(|_| scan.tools_ok == 0).map(|sign| {
        format!("the backend's tools could not start ({sign}); nothing was run in its sandbox")
    });
    let message = denied.or(unstarted)?;
    let mut failure = Failure::seen(FailureClass::PermissionOrSandbox, message);
    failure.source = FailureSource::Permission;
    Some((ErrorCode::ExecutorPermissionDenied, failure))
}

/// The backend said that it failed, and nothing recovered that. Where its record did not say why,
/// standard error may.
fn reported(scan: &Scan, around: &Surroundings<'_>) -> Row {
    let failure = scan.failure.clone()?;
    let unexplained = failure.confidence == Confidence::Low;
    let worded = unexplained.then(|| worded(around, &failure.message)).flatten();
    Some((ErrorCode::ExecutorRunFailed, worded.unwrap_or(failure)))
}

/// What the recorded phrases of standard error say.
fn worded(around: &Surroundings<'_>, message: &str) -> Option<Failure> {
    let phrases = Phrases::of(around.stderr, around.stderr_signals.iter());
    let signal = phrases.first?;
    let http_code = phrases.http.map(|(code, _)| code);
    Some(Failure {
        class: signal.class,
        source: FailureSource::Stderr,
        matched_signal: Some(signal.contains.clone()),
        confidence: Confidence::Medium,
        http_code,
        retryable: signal.retryable.or(http_code.map(|code| class_of_http(code).1)),
        retry_at: phrases.retry_at,
        message: message.to_owned(),
    })
}

/// Announced background work was stopped.
fn unfinished(scan: &Scan) -> Row {
    let open = scan.open_tasks.len() as u64 + scan.stopped_tasks;
    let message = format!(
        "{open} background tasks that the backend announced were stopped before they settled; the \
         result does not cover them"
    );
    (open > 0).then(|| {
        let failure = Failure::seen(FailureClass::BackendExecutionFailed, message);
        (ErrorCode::ExecutorIncomplete, failure)
    })
}

/// A non-zero exit without a good terminal record, or an exit 0 that proves nothing, of which
/// standard error says why: CLIs were seen to fail silently with 0.
fn exited(ending: &Ending, scan: &Scan, around: &Surroundings<'_>) -> Row {
    let Ending::Exited(code) = ending else { return None };
    if around.is_server && !scan.complete() {
        return server_gone(*code, around);
    }
    let silent = scan.answer().is_none() && explanation(around).is_some();
    if scan.terminal || (*code == 0 && !silent) {
        return None;
    }
    let last = around.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let line = explanation(around).or(last);
    let said = line.map_or_else(String::new, |line| format!(": {}", summarise(line)));
    let message = format!("the backend exited {code} without a good terminal record{said}");
    let failure = worded(around, &message).unwrap_or_else(|| Failure {
        source: FailureSource::ExitCode,
        confidence: Confidence::Low,
        ..Failure::seen(FailureClass::BackendExecutionFailed, message)
    });
    Some((ErrorCode::ExecutorRunFailed, failure))
}

/// A server that exits by itself has failed, whatever its code.
fn server_gone(code: i32, around: &Surroundings<'_>) -> Row {
    let last = around.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.map_or_else(String::new, |line| format!(": {}", summarise(line)));
    let message = format!("the backend's server exited {code} before its session had ended{said}");
    let failure = worded(around, &message)
        .unwrap_or_else(|| Failure::seen(FailureClass::BackendExecutionFailed, message));
    Some((ErrorCode::ExecutorRunFailed, failure))
}

/// The line of standard error that holds the first recorded phrase.
fn explanation<'a>(around: &Surroundings<'a>) -> Option<&'a str> {
    let mut signals = around.stderr_signals.iter();
    let signal = signals.find(|signal| around.stderr.contains(&signal.contains))?;
    around.stderr.lines().find(|line| line.contains(&signal.contains)).map(str::trim)
}

/// The output was cut.
fn cut(ending: &Ending, scan: &Scan) -> Row {
    let message = if *ending == Ending::Capped {
        "the output reached its byte cap; the tree was ended and the rest was not read"
    } else if scan.oversized > 0 {
        "a line of the output is over the line cap and was not read"
    } else if scan.cut {
        "the output ends inside a line, before any terminal record: it was cut"
    } else if scan.answer().is_some() && !scan.terminal {
        "the output holds text but no terminal record that proves success: it was cut"
    } else {
        return None;
    };
    let failure = Failure::seen(FailureClass::Protocol, message.to_owned());
    Some((ErrorCode::ExecutorOutputTruncated, failure))
}

fn without_result(scan: &Scan) -> Row {
    if scan.answer().is_some() && scan.terminal {
        return None;
    }
    let message = match (scan.records, scan.terminal) {
        (0, _) => "the backend ended without a single record",
        (_, true) => "the backend reported success with a blank result",
        (_, false) => "the backend ended without a result and without a terminal record",
    };
    let failure = Failure::seen(FailureClass::NoResult, message.to_owned());
    Some((ErrorCode::ExecutorNoResult, failure))
}
