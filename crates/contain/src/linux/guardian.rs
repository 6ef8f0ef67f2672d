//! The guardian: a subreaper with a lifeline, for hosts that give no namespaces. It cannot hold a tree
//! that kills it first.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::process::{
    DumpableBehavior, Signal, getpid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use super::channel::readable_within;
use super::init::{Orders, give_up, step, take_orders};
use super::leader;
use super::process;
use super::vigil::{Hold, Vigil};
use super::wire::Failure;

/// The first wait between two rounds of a sweep.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// Runs as the guardian. Never returns.
pub(crate) fn run() -> ! {
    let Orders { control, parcel } = take_orders();
    let raised = settle().and_then(|events| Ok((leader::raise(parcel)?, events)));
    match raised {
        Ok((leader, events)) => Vigil { control, leader, events, hold: Hold::Descendants }.keep(),
        Err(failure) => give_up(&control, failure),
    }
}

fn settle() -> Result<OwnedFd, Failure> {
    // It must outlive its controller, to kill; but a stopped guardian must wake for that.
    step(
        "be woken by the controller's death",
        set_parent_process_death_signal(Some(Signal::CONT)),
    )?;
    step("become a subreaper", set_child_subreaper(Some(getpid())))?;
    step("forbid tracing", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    step("watch for children", process::child_events())
}

/// Waits for the next child to end, at most `pause`, which grows.
pub(crate) fn pause_for_children(events: &OwnedFd, pause: &mut Duration) {
    if readable_within(events.as_fd(), *pause).unwrap_or(false) {
        let mut discarded = [0; 512];
        let _drained = rustix::io::read(events, &mut discarded);
    }
    *pause = (*pause * 2).min(LAST_PAUSE);
}
