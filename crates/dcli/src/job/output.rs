//! What a run leaves: its result as exact bytes, and its envelope without that text. Both are on the
//! disk before the journal says how the job ended.

use dcli_core::envelope::{Data, ResultEnvelope, Status, summarise};
use dcli_core::exit::FailureClass;
use dcli_core::fact::Tokens;
use dcli_core::failure::Failure;
use dcli_core::job::machine::Input;
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
