//! Who a process is, beyond its pid: comparable across restarts, reboots and namespaces.

use std::io;

use serde::{Deserialize, Serialize};

use crate::platform;

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
        Self::of(i32::try_from(std::process::id()).map_err(io::Error::other)?)
    }

    /// The process that has `pid` now, as seen from this namespace.
    ///
    /// # Errors
    /// If there is no such process or `/proc` cannot be read.
    pub fn of(pid: i32) -> io::Result<Self> {
        Ok(Self {
            pid,
            start_time: platform::start_time(pid)?,
            boot_id: platform::boot_id()?,
            pid_namespace: platform::pid_namespace()?,
        })
    }

    /// What can be said about this process now, from here.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn presence(&self) -> io::Result<Presence> {
        if self.boot_id != platform::boot_id()? {
            return Ok(Presence::OtherBoot);
        }
        if self.pid_namespace != platform::pid_namespace()? {
            return Ok(Presence::OtherNamespace);
        }
        match platform::start_time(self.pid) {
            Ok(start_time) if start_time == self.start_time => Ok(Presence::Alive),
            Ok(_) => Ok(Presence::Gone),
            Err(error) if is_absence(&error) => Ok(Presence::Gone),
            Err(error) => Err(error),
        }
    }
}

/// A process that ends while its `/proc` file is open makes the read fail with ESRCH (3).
fn is_absence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_json_and_tells_alive_from_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
        let json = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), identity);
        assert_eq!(identity.presence().unwrap(), Presence::Alive);
        let recycled = Identity { start_time: identity.start_time + 1, ..identity.clone() };
        assert_eq!(recycled.presence().unwrap(), Presence::Gone);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(identity.presence().unwrap(), Presence::Gone);
    }

    #[test]
    fn another_boot_or_namespace_is_never_taken_for_this_one() {
        let here = Identity::current().unwrap();
        let rebooted = Identity { boot_id: "other".to_owned(), ..here.clone() };
        assert_eq!(rebooted.presence().unwrap(), Presence::OtherBoot);
        let elsewhere = Identity { pid_namespace: here.pid_namespace + 1, ..here };
        assert_eq!(elsewhere.presence().unwrap(), Presence::OtherNamespace);
    }
}
