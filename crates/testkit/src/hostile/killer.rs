//! The part that kills every process it can see, and what keeps it inside a namespace.

use std::ffi::OsString;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::role::Deadline;
use crate::proc;

/// The variable without which nothing is killed. Its value names the pid namespace that the test
/// runs in, as `/proc/self/ns/pid` does.
pub const PERMIT_VARIABLE: &str = "TESTKIT_HOSTILE_KILL";

/// Time between two rounds.
const ROUND: Duration = Duration::from_millis(5);
/// Command name of the tree's own processes: 15 bytes are all the kernel keeps.
const OWN_NAME: &str = "dcli-hostile-tr";

/// Why the killer did not start.
#[derive(Debug, thiserror::Error)]
pub enum KillRefused {
    /// The variable is not there.
    #[error("{PERMIT_VARIABLE} does not name the namespace to spare")]
    NoPermit,
    /// This is the namespace to spare.
    #[error("this process is in {0}, the namespace to spare")]
    NotNested(String),
    /// It cannot be told which namespace this is.
    #[error("cannot tell the own pid namespace")]
    Unknown(#[from] std::io::Error),
}

/// The variable and the value that allow killing in any pid namespace but the caller's own.
///
/// # Errors
/// When `/proc/self/ns/pid` cannot be read.
pub fn permit() -> std::io::Result<(&'static str, OsString)> {
    Ok((PERMIT_VARIABLE, std::fs::read_link("/proc/self/ns/pid")?.into_os_string()))
}

/// Whether killing is allowed here.
pub(super) fn check() -> Result<(), KillRefused> {
    let spared = std::env::var_os(PERMIT_VARIABLE).filter(|value| !value.is_empty());
    let spared = spared.ok_or(KillRefused::NoPermit)?;
    let names_a_namespace = spared.to_string_lossy().starts_with("pid:[");
    let own = std::fs::read_link("/proc/self/ns/pid")?.into_os_string();
    match (names_a_namespace, own == spared) {
        (false, _) => Err(KillRefused::NoPermit),
        (true, true) => Err(KillRefused::NotNested(own.to_string_lossy().into_owned())),
        (true, false) => Ok(()),
    }
}

/// Kills, round after round, whatever is not part of the tree. The permit is looked at again in
/// this very process.
pub(super) fn run(deadline: Deadline) -> Result<(), KillRefused> {
    check()?;
    while !deadline.passed() {
        for pid in proc::pids().into_iter().filter(|pid| !is_own(*pid)) {
            kill(pid);
        }
        std::thread::sleep(ROUND);
    }
    Ok(())
}

fn kill(pid: u32) {
    if let Some(pid) = pid.try_into().ok().and_then(Pid::from_raw) {
        for signal in [Signal::STOP, Signal::TERM, Signal::KILL] {
            // Most are refused: pid 1 is immune from inside, others belong to somebody else.
            let _refused = kill_process(pid, signal);
        }
    }
}

fn is_own(pid: u32) -> bool {
    let status = proc::status(&pid.to_string()).unwrap_or_default();
    proc::field(&status, "Name").is_none_or(|name| name == OWN_NAME)
}
