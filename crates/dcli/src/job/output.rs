//! What a run leaves: its result as exact bytes, and its envelope without that text. Both are on the
//! disk before the journal says how the job ended.

use dcli_core::envelope::{
    Data, DurationsMs, EnvelopeError, ErrorCode, ExecutorReport, ExitReport, ResultEnvelope,
    RunData, RunReport, Status, summarise,
};
use dcli_core::exit::FailureClass;
use dcli_core::fact::Tokens;
use dcli_core::failure::Failure;
use dcli_core::job::machine::Input;
use dcli_core::job::request::JobRequest;
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status as JobStatus;
use dcli_core::job::verdict::Conclusion;
use serde_json::Value;

use super::keeper::Keeper;
use super::worker::failure_of;
use crate::store::attempt::AttemptDir;
use crate::store::job_dir::JobDir;

/// Saves what a run left, and says what came of it.
pub(super) fn save(keeper: &mut Keeper, envelope: Option<&ResultEnvelope>) -> Input {
    let logs = keeper.close();
    let Some(envelope) = envelope else { return Input::Concluded(Box::new(nothing())) };
    let (mut result_bytes, mut unsaved) = save_result(keeper, envelope);
    let saved = logs.and_then(|()| save_envelope(keeper, envelope));
    if let Err(error) = keeper.writer.sync_names() {
        result_bytes = None;
        unsaved = unsaved.or(Some(format!("the attempt's directory cannot be synced: {error}")));
    }
    let run = envelope.run();
    Input::Concluded(Box::new(Conclusion {
        status: envelope.status,
        failure: (envelope.status != Status::Ok).then(|| failure_of(envelope)),
        result_bytes,
        unsaved: unsaved.or(saved.err()),
        tokens: run.map_or_else(Tokens::default, |run| run.run.tokens),
        usage_windows: run.and_then(|run| run.usage_windows.clone()).map(Value::Object),
        cost: run.and_then(|run| run.run.cost),
        warnings: run.map(|run| run.run.warnings.clone()).unwrap_or_default(),
    }))
}

fn nothing() -> Conclusion {
    let message = "nothing is known of the run".to_owned();
    Conclusion {
        status: Status::Failed,
        failure: Some(Failure::seen(FailureClass::Internal, message)),
        result_bytes: None,
        unsaved: None,
        tokens: Tokens::default(),
        usage_windows: None,
        cost: None,
        warnings: Vec::new(),
    }
}

fn save_result(keeper: &Keeper, envelope: &ResultEnvelope) -> (Option<u64>, Option<String>) {
    let Some(result) = envelope.run().and_then(|run| run.result.as_deref()) else {
        return (None, None);
    };
    match keeper.writer.write_result(result.as_bytes()) {
        Ok(()) => (Some(result.len() as u64), None),
        Err(error) => (None, Some(format!("result.md cannot be written: {error}"))),
    }
}

/// The result is the user's content and has its own file; everything else is kept redacted.
pub(super) fn save_envelope(keeper: &Keeper, envelope: &ResultEnvelope) -> Result<(), String> {
    let mut kept = envelope.clone();
    if let Data::Run(run) = &mut kept.data
        && run.result.take().is_some()
        && kept.errors.is_none()
    {
        kept.summary = String::new();
    }
    let written = keeper.writer.write_envelope(&kept);
    written.map_err(|error| format!("envelope.json cannot be written: {error}"))
}

/// The envelope of an attempt, whole again; `None` where there is none that can be read.
pub(super) fn envelope(dir: &JobDir, attempt: &AttemptDir) -> Option<ResultEnvelope> {
    let mut envelope: ResultEnvelope = dir.record(&attempt.envelope()).ok()?;
    if let Data::Run(run) = &mut envelope.data {
        let result = dir.result(attempt).ok().flatten();
        run.result = result.and_then(|bytes| String::from_utf8(bytes).ok());
        if let (Some(result), None) = (&run.result, &envelope.errors) {
            envelope.summary = summarise(result);
        }
    }
    Some(envelope)
}

/// The envelope of a job that has ended: the one that its worker saved, else what its record says. A
/// dead worker saved none, and neither did one that started nothing.
pub(super) fn envelope_of(dir: &JobDir, status: &JobStatus) -> ResultEnvelope {
    let attempt = dir.latest_attempt().ok();
    let saved = attempt.as_ref().and_then(|attempt| envelope(dir, attempt));
    saved.unwrap_or_else(|| {
        let result = attempt.and_then(|attempt| dir.result(&attempt).ok().flatten());
        told(dir, status, result.and_then(|bytes| String::from_utf8(bytes).ok()))
    })
}

/// An envelope from a status alone.
fn told(dir: &JobDir, status: &JobStatus, result: Option<String>) -> ResultEnvelope {
    let errors = status.failure.as_ref().map(|failure| {
        let code = match failure.class {
            FailureClass::Cancelled => ErrorCode::ExecutorCancelled,
            FailureClass::Timeout => ErrorCode::ExecutorTimedOut,
            FailureClass::CapExceeded => ErrorCode::ExecutorCapExceeded,
            _ => ErrorCode::ExecutorRunFailed,
        };
        vec![EnvelopeError { message: failure.message.clone(), code }]
    });
    let reason = status.failure_reason.as_deref();
    let summary = summarise(reason.or(result.as_deref()).unwrap_or_default());
    ResultEnvelope {
        status: match status.state {
            JobState::Done => Status::Ok,
            JobState::Cancelled => Status::Cancelled,
            _ => Status::Failed,
        },
        data: status
            .started_at
            .as_ref()
            .and_then(|_| run_data(dir, status, result))
            .map_or(Data::Refused {}, |data| Data::Run(Box::new(data))),
        summary,
        changed_paths: None,
        errors,
    }
}

fn run_data(dir: &JobDir, status: &JobStatus, result: Option<String>) -> Option<RunData> {
    let kept: JobRequest = dir.request().ok()?;
    Some(RunData {
        result,
        metadata: serde_json::Map::new(),
        usage: status.tokens.total,
        usage_windows: status.usage_windows.as_ref().and_then(Value::as_object).cloned(),
        stdout_truncated: None,
        stderr_truncated: None,
        malformed_stream_lines: None,
        run: RunReport {
            durations_ms: DurationsMs::default(),
            exit: ExitReport {
                code: status.backend_exit_code,
                signal: None,
                kind: status.exit_kind,
            },
            containment: status.containment.clone()?,
            access_enforcement: status.access_enforcement.clone()?,
            survivors: status.containment_survivors.clone(),
            left_behind: 0,
            cancel_rung_reached: status.cancel_rung_reached,
            warnings: status.warnings.clone(),
            executor: ExecutorReport {
                id: status.backend.clone(),
                source: kept.record_source.name().to_owned(),
                chosen_by: kept.chosen_by.to_string(),
                program: None,
                version: status.backend_version.clone(),
            },
            backend_session_id: status.backend_session_id.clone(),
            tokens: status.tokens,
            cost: status.cost,
            failure: status.failure.clone(),
        },
    })
}
