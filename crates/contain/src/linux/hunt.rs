//! Killing processes one by one where no kernel object holds them all: always through a pidfd whose
//! process was checked after it was opened, never by a pid alone.

use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::mark::Mark;
use super::proc::{self, Stat};
use crate::aftermath::Survivor;

/// Passes of stopping before the kill: each finds only what was forked during the one before.
const STOP_PASSES: usize = 8;
/// Between two rounds of a hunt: the killed need a moment to be gone.
const PAUSE: Duration = Duration::from_millis(1);

/// Sends `signal` to exactly the process that `found` describes. `false` if it is gone or refused.
pub(crate) fn signal(found: &Stat, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(found.process.pid) else { return false };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let same = proc::start_time(found.process.pid)
        .is_ok_and(|start_time| start_time == found.process.start_time);
    same && pidfd_send_signal(&pidfd, signal).is_ok()
}

/// Stops what `find` finds until it finds nothing new, then kills all of it. A stopped process
/// neither forks nor answers the death of another.
pub(crate) fn stop_then_kill(find: impl Fn() -> Vec<Stat>) -> Vec<Stat> {
    let mut stopped: Vec<Stat> = Vec::new();
    for _pass in 0..STOP_PASSES {
        let fresh = unseen(find(), &stopped);
        if fresh.is_empty() {
            break;
        }
        for stat in &fresh {
            signal(stat, Signal::STOP);
        }
        stopped.extend(fresh);
    }
    for stat in &stopped {
        signal(stat, Signal::KILL);
    }
    stopped
}

fn unseen(found: Vec<Stat>, known: &[Stat]) -> Vec<Stat> {
    let is_known = |stat: &Stat| {
        known.iter().any(|other| {
            other.process.pid == stat.process.pid
                && other.process.start_time == stat.process.start_time
        })
    };
    found.into_iter().filter(|stat| !stat.is_zombie() && !is_known(stat)).collect()
}

/// How a hunt went.
pub(crate) struct Hunted {
    /// How many live processes were found, and meant to be ended.
    pub(crate) ended: u32,
    /// What was still alive when the time was up.
    pub(crate) survivors: Vec<Survivor>,
}

/// Kills what `find` finds until it finds nothing, or `limit` has passed.
pub(crate) fn down(limit: Duration, find: impl Fn() -> Vec<Stat>) -> Hunted {
    down_from(find(), limit, find)
}

/// Like [`down`], with `before` found already.
pub(crate) fn down_from(
    before: Vec<Stat>,
    limit: Duration,
    find: impl Fn() -> Vec<Stat>,
) -> Hunted {
    let deadline = Instant::now() + limit;
    let mut seen = unseen(before, &[]);
    loop {
        let found = unseen(find(), &[]);
        seen.extend(unseen(found.clone(), &seen));
        if found.is_empty() || Instant::now() >= deadline {
            let ended = u32::try_from(seen.len()).unwrap_or(u32::MAX);
            return Hunted { ended, survivors: name(&found) };
        }
        let killed = stop_then_kill(&find);
        seen.extend(unseen(killed, &seen));
        std::thread::sleep(PAUSE);
    }
}

/// Live processes that carry `mark` in their environment.
pub(crate) fn marked(mark: &Mark) -> Vec<Stat> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let carriers = proc::pids().into_iter().filter(|pid| *pid != own);
    let carriers = carriers.filter(|pid| proc::environment_has(*pid, |entry| mark.is_in(entry)));
    carriers.filter_map(|pid| proc::stat(pid).ok()).filter(|stat| !stat.is_zombie()).collect()
}

/// Processes as a caller is told about them.
pub(crate) fn name<'a>(found: impl IntoIterator<Item = &'a Stat>) -> Vec<Survivor> {
    let live = found.into_iter().filter(|stat| !stat.is_zombie());
    live.map(|stat| Survivor {
        pid: stat.process.pid,
        start_time: stat.process.start_time,
        comm: stat.process.comm.clone(),
    })
    .collect()
}
