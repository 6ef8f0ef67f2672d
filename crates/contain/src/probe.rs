//! Which rungs this host gives, found by running the whole sequence of each once.

use crate::aftermath::Exit;
use crate::contained::start;
use crate::entry::Entry;
use crate::kind::Kind;
use crate::platform;
use crate::support::{Rung, Support};

/// Tries every kind at once, each with a child that does nothing. Costs a few milliseconds.
///
/// The whole sequence runs, exec and end included: hosts refuse namespaces at different steps and
/// with different errors.
#[must_use]
pub fn probe(entry: &Entry) -> Support {
    let rung = |kind| Rung { kind, available: probe_kind(entry, kind) };
    let rungs = std::thread::scope(|scope| {
        let probes = Kind::ALL.map(|kind| (kind, scope.spawn(move || rung(kind))));
        let failed = |kind| Rung { kind, available: Err("its probe failed".to_owned()) };
        probes.map(|(kind, probe)| probe.join().unwrap_or_else(|_| failed(kind))).into()
    });
    Support { rungs }
}

/// Tries one kind.
///
/// # Errors
/// Why this host does not give it, as a sentence fragment.
pub fn probe_kind(entry: &Entry, kind: Kind) -> Result<(), String> {
    if kind == Kind::None {
        return Ok(());
    }
    let launch = platform::trivial(kind)?;
    let contained = start(entry, launch).map_err(|error| match error {
        crate::StartError::Unsupported { reason, .. } => reason,
        other => other.to_string(),
    })?;
    let exit = contained.wait_leader().map_err(|lost| lost.to_string())?;
    let aftermath = contained.end();
    if exit != Exit::with_code(0) {
        return Err(format!("a child that does nothing ended with {exit:?}"));
    }
    match aftermath.survivors {
        Some(survivors) if !survivors.is_empty() => {
            Err(format!("a child that does nothing could not be ended: {survivors:?}"))
        }
        _ => Ok(()),
    }
}
