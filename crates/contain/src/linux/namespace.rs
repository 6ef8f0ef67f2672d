//! The pid-namespace init. P (outer namespace) makes the namespaces and holds the lifeline; C, pid 1
//! of the new one, starts the leader, reaps, and takes the tree with it when it dies.
//!
//! Steps of a mount plan belong in [`isolate`] (clones and binds, before the fork) and [`settle`]
//! (what needs the new `/proc`); a second user and mount namespace belongs into the leader, before exec.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getegid, geteuid, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::channel::Channel;
use super::init::{Orders, give_up, step, take_orders};
use super::leader;
use super::process::{self, Side};
use super::target::Parcel;
use super::vigil::{Hold, Vigil};
use super::wire::{Failure, Stage};

/// Runs as P, and in a fork of it as C. Never returns.
pub(crate) fn run() -> ! {
    let Orders { control, parcel } = take_orders();
    let fork = isolate().and_then(|parent| {
        let (alive, held) = parent;
        step("fork", process::fork()).map(|side| (side, alive, held))
    });
    match fork {
        Ok((Side::Child, alive, held)) => {
            drop(held);
            run_inside(control, parcel, alive)
        }
        Ok((Side::Parent(child), alive, held)) => {
            drop((alive, parcel));
            guard(&control, child, held)
        }
        Err(failure) => give_up(&control, failure),
    }
}

/// Everything before the fork. Returns the pipe by which C sees that P lives.
fn isolate() -> Result<(OwnedFd, OwnedFd), Failure> {
    step("bind its life to the controller's", set_parent_process_death_signal(Some(Signal::KILL)))?;
    enter_namespaces()?;
    // Gaining capabilities in a new user namespace may reset the death signal.
    step("bind its life to the controller's", set_parent_process_death_signal(Some(Signal::KILL)))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    isolation("make mounts private", mount_change(c"/", private))?;
    step("make a pipe", pipe_with(PipeFlags::CLOEXEC))
}

/// Root needs no user namespace; a root without the capability (in a container) and everyone else
/// gets one in which they are themselves.
fn enter_namespaces() -> Result<(), Failure> {
    let plain = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    let (user, group) = (geteuid(), getegid());
    // SAFETY: a single-threaded process that shares no memory or descriptors with another.
    if user.is_root() && unsafe { unshare_unsafe(plain) }.is_ok() {
        return Ok(());
    }
    // SAFETY: as above.
    isolation("unshare", unsafe { unshare_unsafe(plain | UnshareFlags::NEWUSER) })?;
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("{0} {0} 1", user.as_raw()))?;
    write_map("/proc/self/gid_map", &format!("{0} {0} 1", group.as_raw()))
}

fn write_map(path: &str, text: &str) -> Result<(), Failure> {
    let written = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::write(&file, text.as_bytes()));
    isolation(&format!("write {path}"), written).map(drop)
}

fn isolation<T>(operation: &str, result: Result<T, Errno>) -> Result<T, Failure> {
    result.map_err(|errno| Failure::new(Stage::Isolation, operation, errno))
}

/// P after the fork: kills C when the controller is gone, and reaps it in any case.
fn guard(control: &Channel, child: Pid, held: OwnedFd) -> ! {
    let Ok(pidfd) = pidfd_open(child, PidfdFlags::empty()) else { process::leave(114) };
    loop {
        let mut watched = [
            PollFd::new(&pidfd, PollFlags::IN),
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut watched, None) {
            Ok(_) if !watched[1].revents().is_empty() => break,
            Ok(_) if !watched[0].revents().is_empty() => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _already_dead = pidfd_send_signal(&pidfd, Signal::KILL);
    let _status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    drop(held);
    process::leave(0)
}

/// C: pid 1 of the new namespace.
fn run_inside(control: Channel, parcel: Parcel, parent_alive: OwnedFd) -> ! {
    let raised = settle().and_then(|events| Ok((leader::raise(parcel)?, events)));
    match raised {
        Ok((leader, events)) => {
            Vigil { control, leader, events, hold: Hold::Namespace(parent_alive) }.keep()
        }
        Err(failure) => give_up(&control, failure),
    }
}

/// What C does before there is a leader. Returns the descriptor of child events.
fn settle() -> Result<OwnedFd, Failure> {
    step("bind its life to its parent's", set_parent_process_death_signal(Some(Signal::KILL)))?;
    step("forbid tracing", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    let guarded = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    isolation("mount /proc", mount(c"proc", c"/proc", c"proc", guarded, None))?;
    step("watch for children", process::child_events())
}
