//! A snapshot of a live tree.

use std::time::Duration;

/// One process of a tree, as seen from outside any namespace of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// Its parent's pid.
    pub ppid: i32,
    /// The session it belongs to.
    pub session: i32,
    /// Its command name, at most 15 bytes.
    pub comm: String,
    /// The state letter of `proc_pid_stat(5)`: `R`, `S`, `D`, `T`, `Z`, …
    pub state: char,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Processor time that it used itself, without its descendants.
    pub cpu: Duration,
}

/// A live snapshot of the tree, without our own init.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The processes found, zombies included. A tree that forks while it is read may be incomplete.
    pub processes: Vec<Process>,
    /// Processor time of these and of every descendant that ended and was waited for. The grain is
    /// the clock tick of the kernel, usually 10 ms.
    pub cpu: Duration,
}
