//! Finding the processes of one tree wherever they went, and starting programs as somebody else.
//!
//! A tree is found by a marker in its environment: it is inherited through every fork, session
//! and reparenting, and a real CLI's tools have it too (each of them was looked at after a kill).

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};

use crate::hang::{Hang, wait_until};
use crate::proc;

/// An ordinary user that every Debian machine has: `nobody`, with a group of the same number. It
/// has to be in the password file: Qwen Code 0.15.10 does not start as a user that is not.
pub const ORDINARY_USER: u32 = 65534;

/// How many looks have to find nothing before nothing is there.
const LOOKS: usize = 4;

/// A variable that no other tree has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    name: String,
    value: String,
}

/// A living process that carries a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Process id, as seen from here.
    pub pid: u32,
    /// Short command name.
    pub comm: String,
    /// State letter of proc(5), `T` for a stopped one.
    pub state: char,
    /// Its process group; zero where the group's leader is outside this pid namespace.
    pub group: i32,
    /// Its session; zero as for the group.
    pub session: i32,
    /// The command line, its arguments separated by blanks.
    pub cmdline: String,
}

impl Default for Marker {
    fn default() -> Self {
        Self::new()
    }
}

impl Marker {
    /// A new marker, different from every other one on this machine.
    pub fn new() -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let value = format!("{pid}-{serial}-{}", now.as_nanos());
        Self { name: "TESTKIT_TREE_MARKER".to_owned(), value }
    }

    /// The variable's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variable's value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Plants the marker on a program that is about to be started.
    pub fn plant(&self, command: &mut Command) {
        command.env(&self.name, &self.value);
    }

    /// The processes that carry the marker now. Zombies are not among them: they run nothing.
    /// A process whose environment the caller may not read is not seen, so count as root, or as
    /// the user that owns the whole tree.
    ///
    /// A process that hops from pid to pid can slip through one look at `/proc`; none is reported
    /// only after several looks that found none.
    pub fn alive(&self) -> Vec<Found> {
        let looks = (0..LOOKS).map(|_| self.look());
        looks.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn look(&self) -> Vec<Found> {
        let entry = format!("{}={}", self.name, self.value);
        let own = std::process::id();
        let marked = |pid: &u32| *pid != own && environment_has(*pid, entry.as_bytes());
        proc::pids().into_iter().filter(marked).filter_map(found).collect()
    }

    /// Waits until no process carries the marker.
    ///
    /// # Errors
    /// [`Hang`] once `limit` has passed, naming those that are left.
    pub fn wait_gone(&self, limit: Duration) -> Result<(), Hang> {
        wait_until("the tree to be gone", limit, || self.alive().is_empty())
            .map_err(|hang| Hang { what: format!("{}: {:?}", hang.what, self.alive()), ..hang })
    }

    /// Kills whatever carries the marker until nothing does: how a test cleans up after a tree
    /// that nothing contained.
    ///
    /// # Errors
    /// [`Hang`] once `limit` has passed.
    pub fn kill_all(&self, limit: Duration) -> Result<(), Hang> {
        wait_until("the tree to die", limit, || {
            let alive = self.alive();
            signal_all(&alive, Signal::STOP);
            signal_all(&alive, Signal::KILL);
            alive.is_empty()
        })
    }
}

fn signal_all(found: &[Found], signal: Signal) {
    let pid = |found: &Found| Pid::from_raw(found.pid.try_into().ok()?);
    for pid in found.iter().filter_map(pid) {
        // One that has gone by now is what is wanted.
        let _gone = kill_process(pid, signal);
    }
}

fn environment_has(pid: u32, entry: &[u8]) -> bool {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|variable| variable == entry)
}

fn found(pid: u32) -> Option<Found> {
    let status = proc::status(&pid.to_string())?;
    let state = proc::field(&status, "State")?.chars().next()?;
    let cmdline = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ").trim_end().to_owned();
    let comm = proc::field(&status, "Name")?.to_owned();
    let (group, session) = proc::group_and_session(&pid.to_string())?;
    (!matches!(state, 'Z' | 'X')).then_some(Found { pid, comm, state, group, session, cmdline })
}

/// Makes a command run as an ordinary user: this uid, the group of the same number, no other
/// groups. Only root can start it then.
pub fn as_user(uid: u32, command: &mut Command) {
    command.uid(uid).gid(uid);
}
