//! A leader without an init: `process-group` and `none`. The re-executed process becomes the target itself.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Signal as Number, WaitId, WaitIdOptions, kill_process_group, pidfd_send_signal,
    set_parent_process_death_signal, waitid,
};

use super::channel::readable_within;
use super::descriptors::{Prepared, internal, prepare};
use super::hunt::{self, Hunted};
use super::init::{Orders, give_up, step, take_orders};
use super::mark::Mark;
use super::proc::{self, Stat};
use super::role::Role;
use super::spawn::{Report, Spawned, hand_over, on_own_thread};
use super::{signals, target};
use crate::aftermath::{Aftermath, Exit, Survivor};
use crate::contained::{Contained, Mechanism, Signal};
use crate::entry::{Entry, Executable};
use crate::error::{Lost, SignalError, StartError};
use crate::identity::Identity;
use crate::launch::Launch;
use crate::ledger::Ledger;
use crate::tree::Tree;

const DEATH_LIMIT: Duration = Duration::from_secs(2);
const HUNT_LIMIT: Duration = Duration::from_secs(2);

/// How far ending reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The group, and what can be found of the descendants that left it.
    Group,
    /// The leader alone.
    Leader,
    /// The leader alone, while claiming otherwise: how a test shows that it would notice.
    LeaderPretending,
}

/// Runs as the process that becomes the target. Never returns.
pub(crate) fn run() -> ! {
    let Orders { control, parcel } = take_orders();
    // The leader at least dies with its controller. One that died just now is noticed by the report
    // of readiness, which cannot be delivered.
    if let Err(failure) = step(
        "bind its life to the controller's",
        set_parent_process_death_signal(Some(Number::KILL)),
    ) {
        give_up(&control, failure);
    }
    target::become_target(parcel, &control)
}

struct Direct {
    ledger: Arc<Ledger>,
    leader: Arc<OwnedFd>,
    pid: i32,
    reach: Reach,
    mark: Option<Mark>,
    aftermath: Mutex<Option<Aftermath>>,
}

struct Started {
    identity: Identity,
    leader: Arc<OwnedFd>,
    ledger: Arc<Ledger>,
}

/// Starts `launch` bare.
pub(crate) fn start(entry: &Entry, launch: Launch, reach: Reach) -> Result<Contained, StartError> {
    let kind = launch.kind;
    let mark = (reach == Reach::Group).then(Mark::fresh);
    let prepared = prepare(launch, mark.as_ref())?;
    let executable = entry.executable();
    let started = on_own_thread(move |report| live(&executable, prepared, &report))?;
    let pid = started.identity.pid;
    let Started { identity, leader, ledger } = started;
    let mechanism = Direct { ledger, leader, pid, reach, mark, aftermath: Mutex::default() };
    Ok(Contained::new(kind, identity, Box::new(mechanism)))
}

fn live(executable: &Executable, prepared: Prepared, report: &Report<Started>) {
    let begun = hand_over(executable, Role::Bare, prepared).and_then(|(spawned, names)| {
        if let Some(failure) = spawned.hear_exec()? {
            return Err(names.explain(failure));
        }
        let identity =
            Identity::of(spawned.pid()).map_err(|source| internal("name its leader", source))?;
        Ok((identity, spawned))
    });
    match begun {
        Ok((identity, spawned)) => {
            let ledger = Arc::<Ledger>::default();
            let leader = spawned.pidfd.clone();
            if report.send(Ok(Started { identity, leader, ledger: ledger.clone() })).is_ok() {
                watch(spawned, &ledger);
            }
        }
        Err(error) => {
            let _abandoned = report.send(Err(error));
        }
    }
}

/// Waits without reaping: the pid, and with it the group's number, stays taken until it is released.
fn watch(spawned: Spawned, ledger: &Ledger) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = loop {
        match waitid(WaitId::PidFd(spawned.pidfd.as_fd()), options) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other.ok().flatten(),
        }
    };
    let exit = status.and_then(|status| {
        let code = status.exit_status().map(Exit::with_code);
        code.or_else(|| status.terminating_signal().map(Exit::by_signal))
    });
    ledger.write(|progress| {
        progress.exit = exit;
        progress.closed = exit.is_none();
    });
    ledger.wait(|progress| progress.released);
    spawned.reap();
    ledger.write(|progress| progress.closed = true);
}

impl Direct {
    fn end_once(&self) -> Aftermath {
        let (left_behind, survivors) = match self.reach {
            Reach::Group => {
                let Hunted { ended, survivors } = self.end_group();
                (ended, Some(survivors))
            }
            Reach::Leader => (0, None),
            Reach::LeaderPretending => (0, Some(Vec::new())),
        };
        let _already_dead = pidfd_send_signal(&self.leader, Number::KILL);
        let known =
            self.ledger.wait_within(DEATH_LIMIT, |known| known.exit.is_some() || known.closed);
        let survivors = survivors.map(|found| self.with_stuck_leader(found));
        self.ledger.write(|progress| progress.released = true);
        self.ledger.wait_within(DEATH_LIMIT, |progress| progress.closed);
        Aftermath { left_behind, survivors, leader: known.exit }
    }

    /// The group first, at one stroke; then one by one what had left it. The leader is not reaped
    /// yet, so its number cannot mean another group.
    fn end_group(&self) -> Hunted {
        let before = self.others();
        if let Some(group) = Pid::from_raw(self.pid) {
            let _empty = kill_process_group(group, Number::KILL);
        }
        hunt::down_from(before, HUNT_LIMIT, || self.others())
    }

    /// Members of the tree without the leader, by descent, session, group or mark.
    fn others(&self) -> Vec<Stat> {
        let mut found = self.members();
        if let Some(mark) = &self.mark {
            let known: Vec<i32> = found.iter().map(|stat| stat.process.pid).collect();
            let marked = hunt::marked(mark);
            found.extend(marked.into_iter().filter(|stat| !known.contains(&stat.process.pid)));
        }
        found.retain(|stat| stat.process.pid != self.pid);
        found
    }

    fn members(&self) -> Vec<Stat> {
        let scan = proc::all();
        let by_descent: Vec<i32> =
            proc::select(scan.clone(), self.pid).iter().map(|stat| stat.process.pid).collect();
        let is_member = |stat: &Stat| {
            let pid = stat.process.pid;
            let together = stat.process.session == self.pid || stat.group == self.pid;
            pid == self.pid || together || by_descent.contains(&pid)
        };
        scan.into_iter().filter(is_member).collect()
    }

    fn with_stuck_leader(&self, mut found: Vec<Survivor>) -> Vec<Survivor> {
        if !readable_within(self.leader.as_fd(), Duration::ZERO).unwrap_or(true) {
            found.extend(proc::stat(self.pid).iter().flat_map(|stat| hunt::name([stat])));
        }
        found
    }
}

impl Mechanism for Direct {
    fn wait_leader(&self) -> Result<Exit, Lost> {
        self.ledger.wait_exit()
    }

    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        if readable_within(self.leader.as_fd(), Duration::ZERO).unwrap_or(false) {
            return Err(SignalError::Gone);
        }
        signals::send(self.leader.as_fd(), signal)
    }

    fn end(&self) -> Aftermath {
        let mut aftermath = self.aftermath.lock().unwrap_or_else(PoisonError::into_inner);
        aftermath.get_or_insert_with(|| self.end_once()).clone()
    }

    fn tree(&self) -> Tree {
        let ended = self.aftermath.try_lock().is_ok_and(|aftermath| aftermath.is_some());
        if ended { Tree::default() } else { proc::tree_of(self.members(), 0) }
    }
}
