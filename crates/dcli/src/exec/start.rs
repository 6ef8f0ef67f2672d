//! The start of a prepared run: the best rung of containment that this machine gives.

use dcli_contain::{Input as Stdin, Kind, Launch, Requirement, StartError, Unmet};
use dcli_core::envelope::ErrorCode;
use dcli_core::fact::Warning;

use super::host::Host;
use super::prepare::{Prepared, Refusal, refuse};
use super::request::Request;
use super::way::Feed;
use crate::backend::spawn::{Running, Spawn};
use crate::supervise::capture::Captures;

/// What was started.
pub(super) struct Started {
    pub run: Box<dyn Running>,
    pub kind: Kind,
    pub degraded: bool,
    pub warnings: Vec<Warning>,
}

/// Why nothing runs.
pub(super) enum Unstarted {
    Refused(Refusal),
    Failed(Kind, StartError),
}

/// What a start needs besides the request.
pub(super) struct Ready<'a> {
    pub prepared: &'a Prepared,
    pub args: &'a [String],
    pub captures: &'a Captures,
    /// Standard input.
    pub feed: &'a Feed,
}

/// The best rung is tried at once; only where this machine does not give it is everything probed.
pub(super) fn start(
    spawn: &dyn Spawn,
    request: &Request,
    ready: &Ready<'_>,
) -> Result<Started, Unstarted> {
    let wanted = request.containment;
    let first = first(wanted);
    match spawn.start(launch(ready, first)?) {
        Ok(run) => return Ok(contained(run, first)),
        Err(StartError::Unsupported { .. }) => {}
        Err(error) => return Err(Unstarted::Failed(first, error)),
    }
    let chosen = spawn.support().choose(&wanted);
    let choice = chosen.map_err(|unmet| Unstarted::Refused(refuse_unmet(&unmet)))?;
    match spawn.start(launch(ready, choice.kind)?) {
        Ok(run) => Ok(contained(run, choice.kind)),
        Err(error) => Err(Unstarted::Failed(choice.kind, error)),
    }
}

/// What a start would refuse right now for want of containment. Nothing is probed where nobody
/// demands one: the start itself finds the best that there is.
pub(crate) fn contained_now(host: &Host, wanted: Requirement) -> Result<(), Refusal> {
    if wanted == Requirement::BestAvailable || host.spawn.has(first(wanted)) {
        return Ok(());
    }
    host.support().choose(&wanted).map(drop).map_err(|unmet| refuse_unmet(&unmet))
}

/// The rung that is tried at once.
fn first(wanted: Requirement) -> Kind {
    match wanted {
        Requirement::BestAvailable | Requirement::AtLeast(_) => Kind::PidNamespace,
        Requirement::Exactly(kind) => kind,
    }
}

fn refuse_unmet(unmet: &Unmet) -> Refusal {
    let message = format!("{unmet}; nothing was started; see --containment");
    refuse(ErrorCode::ExecutorUnavailable, message)
}

fn launch(ready: &Ready<'_>, kind: Kind) -> Result<Launch, Unstarted> {
    let refused = |error| Unstarted::Refused(unwritable(&error));
    let outputs = ready.captures.writers().map_err(refused)?;
    let stdin = match ready.feed {
        Feed::Prompt(prompt) => Stdin::Descriptor(prompt.reader().map_err(refused)?),
        Feed::Pipe(reader) => Stdin::Descriptor(reader.try_clone().map_err(refused)?),
        Feed::Empty => Stdin::Null,
    };
    Ok(Launch {
        program: ready.prepared.program.clone(),
        args: ready.args.iter().map(Into::into).collect(),
        arg0: None,
        env: ready.prepared.env.clone(),
        cwd: ready.prepared.workspace.clone(),
        stdin,
        stdout: outputs.0,
        stderr: outputs.1,
        kind,
    })
}

pub(super) fn unwritable(error: &std::io::Error) -> Refusal {
    let message = format!(
        "no directory for the run's output can be written ({error}); nothing was started; set \
         TMPDIR or DCLI_STATE_ROOT to a directory that you can write"
    );
    refuse(ErrorCode::ExecutorPermissionDenied, message)
}

fn contained(run: Box<dyn Running>, kind: Kind) -> Started {
    let degraded = kind.is_degraded();
    let message = format!(
        "containment is {kind}: weaker than a pid namespace; a process that leaves it may survive"
    );
    let warnings =
        if degraded { vec![Warning::new("containment_degraded", message)] } else { Vec::new() };
    Started { run, kind, degraded, warnings }
}
