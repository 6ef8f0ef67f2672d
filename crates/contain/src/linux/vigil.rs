//! The init's long wait: reap, report the leader's exit, end the tree on command or when the controller is gone.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::channel::Channel;
use super::guardian;
use super::leader;
use super::process;
use super::wire::Message;
use super::{hunt, proc};
use crate::aftermath::Exit;

/// How long a guardian whose controller is gone keeps killing what the kernel does not let go.
const ORPHANED_SWEEP: Duration = Duration::from_secs(60);
/// How long a guardian sweeps on command before the controller looks for itself.
const ORDERED_SWEEP: Duration = Duration::from_secs(2);

/// What this init can kill at one stroke.
#[derive(Debug)]
pub(crate) enum Hold {
    /// The namespace whose pid 1 it is. Holds the pipe that closes when its parent dies.
    Namespace(OwnedFd),
    /// Its descendants, as their subreaper.
    Descendants,
}

/// An init with a running leader.
pub(crate) struct Vigil {
    pub(crate) control: Channel,
    pub(crate) leader: Pid,
    pub(crate) events: OwnedFd,
    pub(crate) hold: Hold,
}

enum Occurrence {
    ChildEnded,
    Ordered,
    Abandoned,
}

impl Vigil {
    /// Watches until the tree is to be ended, ends it, and leaves.
    pub(crate) fn keep(self) -> ! {
        if leader::report(self.leader, &self.control).is_err() {
            self.abandon();
        }
        loop {
            let _childless = self.reap();
            match self.next() {
                Occurrence::ChildEnded => {}
                Occurrence::Ordered => self.finish(),
                Occurrence::Abandoned => self.abandon(),
            }
        }
    }

    fn next(&self) -> Occurrence {
        let mut watched = vec![
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            PollFd::new(&self.events, PollFlags::IN),
        ];
        if let Hold::Namespace(parent_alive) = &self.hold {
            watched.push(PollFd::new(parent_alive, PollFlags::IN));
        }
        match poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Occurrence::Abandoned,
        }
        let happened = |index: usize| watched.get(index).is_some_and(|fd| !fd.revents().is_empty());
        if happened(2) {
            return Occurrence::Abandoned;
        }
        if happened(0) {
            return match self.control.receive() {
                Ok(Some((Message::End, _))) => Occurrence::Ordered,
                Ok(Some(_)) => Occurrence::ChildEnded,
                Ok(None) | Err(_) => Occurrence::Abandoned,
            };
        }
        let mut discarded = [0; 512];
        let _drained = rustix::io::read(&self.events, &mut discarded);
        Occurrence::ChildEnded
    }

    /// Reaps what is dead. `true` when there is no child left at all.
    fn reap(&self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.note(pid, status),
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn note(&self, pid: Pid, status: WaitStatus) {
        if pid != self.leader {
            return;
        }
        if let Some(exit) = exit_of(status) {
            let _abandoned = self.control.send(&Message::Exited(exit), &[]);
        }
    }

    /// Kills and reaps everything, says how much it was, and leaves.
    fn finish(&self) -> ! {
        let left_behind = match self.hold {
            Hold::Namespace(_) => {
                let count = self.count(proc::all());
                process::kill_namespace();
                self.reap_to_the_end();
                count
            }
            Hold::Descendants => {
                let count = self.count(proc::descendants(own_pid()));
                self.sweep(ORDERED_SWEEP);
                count
            }
        };
        let _abandoned = self.control.send(&Message::Ended(left_behind), &[]);
        process::leave(0)
    }

    /// Nobody is left to report to. The death of a namespace's init is the death of the namespace.
    fn abandon(&self) -> ! {
        if matches!(self.hold, Hold::Descendants) {
            self.sweep(ORPHANED_SWEEP);
        }
        process::leave(0)
    }

    fn count(&self, found: Vec<proc::Stat>) -> u32 {
        let own = own_pid();
        let leader = self.leader.as_raw_nonzero().get();
        let left = found.iter().filter(|stat| {
            !stat.is_zombie() && stat.process.pid != own && stat.process.pid != leader
        });
        u32::try_from(left.count()).unwrap_or(u32::MAX)
    }

    fn reap_to_the_end(&self) {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => self.note(pid, status),
                Ok(None) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn sweep(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut pause = guardian::FIRST_PAUSE;
        while !self.reap() && Instant::now() < deadline {
            hunt::stop_then_kill(|| proc::descendants(own_pid()));
            guardian::pause_for_children(&self.events, &mut pause);
        }
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::with_code);
    code.or_else(|| status.terminating_signal().map(Exit::by_signal))
}
