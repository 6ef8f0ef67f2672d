//! Who a process is, beyond its pid: comparable across restarts, reboots and namespaces.

use std::io;

use serde::{Deserialize, Serialize};

/// A process named so that a recycled pid, a reboot or another namespace cannot be mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The pid in `pid_namespace`.
    pub pid: i32,
    /// Clock ticks since boot (`proc_pid_stat(5)`, field 22).
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`; empty where the system has none.
    pub boot_id: String,
    /// The inode number of the pid namespace in which `pid` is meant; 0 where the system has none.
    pub pid_namespace: u64,
}

/// What can be said about an [`Identity`] from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The same process lives, or is a zombie that nobody has waited for.
    Alive,
    /// It ended: its pid is free or belongs to another process.
    Gone,
    /// It was recorded in another boot: certainly ended.
    OtherBoot,
    /// It was recorded in another pid namespace: nothing can be said.
    OtherNamespace,
}

impl Identity {
    /// This process.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The process that has `pid` now, as seen from this namespace.
    ///
    /// # Errors
    /// If there is no such process or `/proc` cannot be read.
    pub fn of(_pid: i32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What can be said about this process now, from here.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn presence(&self) -> io::Result<Presence> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
