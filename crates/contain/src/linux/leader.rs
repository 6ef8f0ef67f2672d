//! The init's side of the start: fork the leader, hear how its exec went, report it to the controller.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open};

use super::channel::{Channel, hung_up_within};
use super::process::{self, Side};
use super::target::{self, Parcel};
use super::wire::{Failure, Message, Stage};

/// Longer than the controller waits: it kills this init first.
const LONG: Duration = Duration::from_secs(3600);

/// Forks the leader. Returns once its program is executed.
pub(crate) fn raise(parcel: Parcel) -> Result<Pid, Failure> {
    let broken = |operation: &'static str| move |error: io::Error| init_failure(operation, &error);
    let (status, theirs) = Channel::pair().map_err(broken("make a status channel"))?;
    let here = getpid();
    let pid = match process::fork().map_err(|errno| Failure::new(Stage::Init, "fork", errno))? {
        Side::Parent(pid) => pid,
        Side::Child => {
            drop(status);
            run(parcel, &Channel::from_descriptor(theirs), here)
        }
    };
    drop(theirs);
    drop(parcel);
    heard_exec(&status)?;
    Ok(pid)
}

/// The child's side. It dies with its init: in a namespace it would anyway, under a guardian it
/// closes the case that the tree kills the guardian.
fn run(parcel: Parcel, status: &Channel, init: Pid) -> ! {
    let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let orphaned = getppid().is_some_and(|parent| parent != init);
    if bound.is_err() || orphaned {
        process::leave(127);
    }
    target::become_target(parcel, status)
}

fn heard_exec(status: &Channel) -> Result<(), Failure> {
    let heard = hung_up_within(status.as_fd(), LONG).and_then(|_| status.last_words());
    match heard {
        Ok(None) => Ok(()),
        Ok(Some(failure)) => Err(failure),
        Err(error) => Err(init_failure("hear from the leader", &error)),
    }
}

/// Reports the leader, and returns once the controller has noted it. Until then it must not be reaped:
/// a leader that is already dead stays a zombie with a valid pid.
pub(crate) fn report(leader: Pid, control: &Channel) -> io::Result<()> {
    let leader: OwnedFd = pidfd_open(leader, PidfdFlags::empty())?;
    let init: OwnedFd = pidfd_open(getpid(), PidfdFlags::empty())?;
    control.send(&Message::Started, &[leader.as_fd(), init.as_fd()])?;
    match control.receive()? {
        Some((Message::Watch, _)) => Ok(()),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

fn init_failure(operation: &str, error: &io::Error) -> Failure {
    Failure::new(Stage::Init, operation, Errno::from_io_error(error).unwrap_or(Errno::IO))
}
