//! Terms of a run that its backend cannot keep: refused by name, before anything is made.

use dcli_core::envelope::ErrorCode;
use dcli_core::executor::access::Access;
use dcli_core::executor::record::Record;

use super::options::unsupported;
use super::prepare::{Refusal, refuse};
use super::request::Request;

/// Refuses terms that this backend, or this access, would not keep.
pub(super) fn refuse_unkept(record: &Record, request: &Request) -> Result<(), Refusal> {
    let is_plain = request.terms.is_plain();
    let foreign = match (is_plain, request.isolated_state) {
        _ if request.job.is_some() => None,
        (false, _) => Some("nobody can answer a run that is no job"),
        (true, true) => Some("a run that is no job has no server and no database of its own"),
        (true, false) => None,
    };
    if let Some(reason) = foreign {
        let message = format!("{reason}; nothing was started; use 'dcli run' or 'dcli submit'");
        return Err(refuse(ErrorCode::RequestInvalid, message));
    }
    let private = record.server.as_ref().and_then(|server| server.private_state.as_ref());
    if request.isolated_state && private.is_none() {
        let message = format!(
            "backend {} has no database that a job could have of its own (--isolated-state); leave \
             the option out, or use --backend opencode",
            record.id
        );
        return Err(unsupported(record, &message));
    }
    if is_plain {
        return Ok(());
    }
    if record.server.is_none() && record.dialogue.is_none() {
        let message = format!(
            "backend {} cannot be answered while it works (--attended, --allow, --ask, --deny); \
             leave these out, or use --backend claude or --backend opencode",
            record.id
        );
        return Err(unsupported(record, &message));
    }
    if record.dialogue.is_some() && request.access == Access::Unconfined {
        let message = format!(
            "backend {} asks nothing under --access unconfined, so that --attended, --allow, --ask \
             and --deny would do nothing; leave these out, or use --access workspace",
            record.id
        );
        return Err(unsupported(record, &message));
    }
    refuse_loosened(request)
}

/// What an access forbids, no rule allows.
fn refuse_loosened(request: &Request) -> Result<(), Refusal> {
    let policy = &request.terms.policy;
    let mut edits = policy
        .allow
        .iter()
        .chain(&policy.ask)
        .filter(|rule| rule.permission() == "edit" && request.access == Access::ReadOnly);
    let Some(rule) = edits.next() else { return Ok(()) };
    let message = format!(
        "the rule {rule} allows what --access read-only forbids; nothing was started; use --access \
         workspace, or leave the rule out"
    );
    Err(refuse(ErrorCode::RequestInvalid, message))
}
