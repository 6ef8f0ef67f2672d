//! What a backend can do on this machine: its record, the version found, and the rungs of containment.

use dcli_contain::{Kind, Support};
use dcli_core::capability::{
    Capabilities, CapabilityList, Finding, RungCapability, SCHEMA_VERSION,
};
use dcli_core::executor::{Catalogue, Executor};

use crate::exec::Host;
use crate::exec::version::{Found, look};

/// The kinds that this platform could have.
#[cfg(windows)]
const KINDS: &[Kind] = &[Kind::JobObject, Kind::TaskkillTree];
#[cfg(target_os = "linux")]
const KINDS: &[Kind] = &[Kind::PidNamespace, Kind::Guardian, Kind::ProcessGroup];
#[cfg(not(any(windows, target_os = "linux")))]
const KINDS: &[Kind] = &[Kind::ProcessGroup];

/// What `executor` can do. The program is looked for and asked for its version, unless it was asked
/// before; the rungs of this host are tried out, in a few milliseconds.
///
/// ```no_run
/// use dcli::contain::{self, Entry};
/// use dcli::exec::Host;
/// use dcli::job::capabilities::capabilities;
/// use dcli::model::executor::Catalogue;
///
/// contain::entry();
/// let host = Host::new(Entry::current()?);
/// let found = capabilities(&host, Catalogue::shipped()?.find("codex")?);
/// println!("{:?}: {:?}", found.version.found, found.version.standing);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn capabilities(host: &Host, executor: &Executor) -> Capabilities {
    snapshot(executor, look(host, &executor.record), rungs(&host.support()))
}

/// The same for every executor of `catalogue`.
#[must_use]
pub fn all(host: &Host, catalogue: &Catalogue) -> CapabilityList {
    let rungs = rungs(&host.support());
    let of = |executor| snapshot(executor, look(host, &executor.record), rungs.clone());
    let backends = std::thread::scope(|scope| {
        // Each program takes its time to say its version.
        let looks: Vec<_> =
            catalogue.iter().map(|executor| scope.spawn(move || of(executor))).collect();
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    });
    CapabilityList { schema_version: SCHEMA_VERSION, backends }
}

/// The capabilities from what was found before: what a job keeps of its backend.
#[must_use]
pub fn snapshot(
    executor: &Executor,
    found: Found,
    containment: Vec<RungCapability>,
) -> Capabilities {
    let (program, problem) = match found.program {
        Ok(program) => (Some(program.display().to_string()), None),
        Err(problem) => (None, Some(problem)),
    };
    let finding = Finding { program, problem, version: found.version, containment };
    Capabilities::of(executor, finding)
}

/// Every kind that this platform could have, with the reason where this host does not give it.
pub(super) fn rungs(support: &Support) -> Vec<RungCapability> {
    let rung = |kind: &Kind| {
        let reason = support.reason(*kind).map(str::to_owned);
        RungCapability { kind: kind.to_string(), available: reason.is_none(), reason }
    };
    KINDS.iter().map(rung).collect()
}

/// The same where nothing can be contained at all, for this reason.
pub(super) fn no_rungs(reason: &str) -> Vec<RungCapability> {
    let rung = |kind: &Kind| RungCapability {
        kind: kind.to_string(),
        available: false,
        reason: Some(reason.to_owned()),
    };
    KINDS.iter().map(rung).collect()
}
