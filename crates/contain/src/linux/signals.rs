//! Signals from a caller to a leader, through its pidfd.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::process::{Signal as Number, pidfd_send_signal};

use crate::contained::Signal;
use crate::error::SignalError;

/// Sends `signal` to the process behind `pidfd`.
pub(crate) fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), SignalError> {
    let number = match signal {
        Signal::Interrupt => Number::INT,
        Signal::Terminate => Number::TERM,
        Signal::Hangup => Number::HUP,
        Signal::Kill => Number::KILL,
    };
    pidfd_send_signal(pidfd, number).map_err(|errno| match errno {
        Errno::SRCH => SignalError::Gone,
        other => SignalError::Refused(other.into()),
    })
}
