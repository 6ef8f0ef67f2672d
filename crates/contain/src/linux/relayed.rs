//! The controller's side of a tree that an init or guardian holds.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal as Number, pidfd_send_signal};

use super::channel::{Channel, readable_within};
use super::descriptors::{Prepared, internal, prepare};
use super::hunt::{self, Hunted};
use super::mark::Mark;
use super::role::Role;
use super::spawn::{Report, Spawned, hand_over, on_own_thread};
use super::wire::Message;
use super::{proc, signals};
use crate::aftermath::{Aftermath, Exit, Survivor};
use crate::contained::{Contained, Mechanism, Signal};
use crate::entry::{Entry, Executable};
use crate::error::{Lost, SignalError, StartError};
use crate::identity::Identity;
use crate::kind::Kind;
use crate::launch::Launch;
use crate::ledger::{Ledger, Progress};
use crate::tree::Tree;

/// How long an init may take to end its tree on command.
const ORDER_LIMIT: Duration = Duration::from_secs(3);
/// How long the kernel may take to end a namespace, or a killed process.
const DEATH_LIMIT: Duration = Duration::from_secs(2);
/// How long marked processes that escaped a guardian are hunted.
const HUNT_LIMIT: Duration = Duration::from_secs(2);

/// A tree with an init.
struct Relayed {
    ledger: Arc<Ledger>,
    control: Arc<Channel>,
    /// The spawned process: P of a namespace, or the guardian.
    outer: Arc<OwnedFd>,
    leader: OwnedFd,
    /// C of a namespace, or the guardian.
    init: OwnedFd,
    init_pid: i32,
    /// What recognises members of the tree where no namespace does.
    mark: Option<Mark>,
    aftermath: Mutex<Option<Aftermath>>,
}

/// What the watching thread found out at the start.
struct Started {
    identity: Identity,
    mechanism: Relayed,
}

/// Starts `launch` under an init or a guardian.
pub(crate) fn start(entry: &Entry, launch: Launch) -> Result<Contained, StartError> {
    let kind = launch.kind;
    let (role, mark) = match kind {
        Kind::Guardian => (Role::Guardian, Some(Mark::fresh())),
        _ => (Role::Namespace, None),
    };
    let prepared = prepare(launch, mark.as_ref())?;
    let executable = entry.executable();
    let started = on_own_thread(move |report| live(&executable, role, prepared, mark, &report))?;
    Ok(Contained::new(kind, started.identity, Box::new(started.mechanism)))
}

/// The life of the watching thread.
fn live(
    executable: &Executable,
    role: Role,
    prepared: Prepared,
    mark: Option<Mark>,
    report: &Report<Started>,
) {
    let begun = hand_over(executable, role, prepared).and_then(|(spawned, names)| {
        match spawned.hear()? {
            Some((Message::Started, descriptors)) => {
                Ok((note(&spawned, descriptors, mark.clone())?, spawned))
            }
            Some((Message::Failed(failure), _)) => Err(names.explain(failure)),
            _ => Err(internal("report the leader", std::io::ErrorKind::UnexpectedEof.into())),
        }
    });
    match begun {
        Ok((started, spawned)) => {
            let ledger = started.mechanism.ledger.clone();
            if report.send(Ok(started)).is_ok() {
                watch(spawned, &ledger);
            }
        }
        Err(error) => {
            // A guardian that failed late was killed with its target perhaps running already.
            if let (Some(mark), StartError::Init { .. }) = (&mark, &error) {
                hunt::down(HUNT_LIMIT, || hunt::marked(mark));
            }
            let _abandoned = report.send(Err(error));
        }
    }
}

/// Learns who the leader is while it certainly still has its pid, then lets it be reaped.
fn note(
    spawned: &Spawned,
    descriptors: Vec<OwnedFd>,
    mark: Option<Mark>,
) -> Result<Started, StartError> {
    let identify = || {
        let mut descriptors = descriptors.into_iter();
        let (leader, init) =
            descriptors.next().zip(descriptors.next()).ok_or(std::io::ErrorKind::InvalidData)?;
        let pid_of = |fd: &OwnedFd| proc::pid_of(fd.as_fd())?.ok_or_else(gone);
        let identity = Identity::of(pid_of(&leader)?)?;
        let init_pid = pid_of(&init)?;
        spawned.control.send(&Message::Watch, &[])?;
        let mechanism = Relayed {
            ledger: Arc::default(),
            control: spawned.control.clone(),
            outer: spawned.pidfd.clone(),
            leader,
            init,
            init_pid,
            mark,
            aftermath: Mutex::default(),
        };
        Ok(Started { identity, mechanism })
    };
    identify().map_err(|source: std::io::Error| internal("name its leader", source))
}

fn gone() -> std::io::Error {
    std::io::ErrorKind::NotFound.into()
}

fn watch(spawned: Spawned, ledger: &Ledger) {
    while let Ok(Some((message, _))) = spawned.control.receive() {
        match message {
            Message::Exited(exit) => ledger.write(|progress| progress.exit = Some(exit)),
            Message::Ended(count) => ledger.write(|progress| progress.ended = Some(count)),
            _ => {}
        }
    }
    spawned.reap();
    ledger.write(|progress| progress.closed = true);
}

impl Relayed {
    /// Commands the end, and enforces it if the command is not obeyed in time.
    fn end_once(&self) -> Aftermath {
        // Somebody may have stopped them; a running init does not notice.
        for process in [self.outer.as_fd(), self.init.as_fd()] {
            let _already_dead = pidfd_send_signal(process, Number::CONT);
        }
        let _already_dead = self.control.send(&Message::End, &[]);
        let progress = self
            .ledger
            .wait_within(ORDER_LIMIT, |progress| progress.ended.is_some() || progress.closed);
        let (hunted, survivors) = match &self.mark {
            None => (0, self.namespace_survivors()),
            Some(mark) => self.hunt_marked(mark),
        };
        let known = self.wait_closed();
        let left_behind = progress.ended.unwrap_or(0).saturating_add(hunted);
        Aftermath { left_behind, survivors: Some(survivors), leader: known.exit }
    }

    /// Waits for the spawned process. It leaves by itself once it has reaped its child; killed before
    /// that, it would leave a zombie to whoever adopts it, and not every pid 1 of a container reaps.
    fn wait_closed(&self) -> Progress {
        let known = self.ledger.wait_within(DEATH_LIMIT, |progress| progress.closed);
        if known.closed {
            return known;
        }
        let _already_dead = pidfd_send_signal(&self.outer, Number::KILL);
        self.ledger.wait_within(DEATH_LIMIT, |progress| progress.closed)
    }

    /// The end of a namespace's init is proof that its namespace is empty.
    fn namespace_survivors(&self) -> Vec<Survivor> {
        let dead = |limit| readable_within(self.init.as_fd(), limit).unwrap_or(false);
        if dead(DEATH_LIMIT) {
            return Vec::new();
        }
        let _already_dead = pidfd_send_signal(&self.init, Number::KILL);
        if dead(DEATH_LIMIT) { Vec::new() } else { hunt::name(&proc::descendants(self.init_pid)) }
    }

    /// A guardian can be killed by the tree, or be refused a kill: look for what carries the mark.
    fn hunt_marked(&self, mark: &Mark) -> (u32, Vec<Survivor>) {
        let _obeyed = readable_within(self.init.as_fd(), DEATH_LIMIT);
        let Hunted { ended, survivors } = hunt::down(HUNT_LIMIT, || hunt::marked(mark));
        (ended, survivors)
    }
}

impl Mechanism for Relayed {
    fn wait_leader(&self) -> Result<Exit, Lost> {
        self.ledger.wait_exit()
    }

    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        signals::send(self.leader.as_fd(), signal)
    }

    fn end(&self) -> Aftermath {
        let mut aftermath = self.aftermath.lock().unwrap_or_else(PoisonError::into_inner);
        aftermath.get_or_insert_with(|| self.end_once()).clone()
    }

    fn tree(&self) -> Tree {
        let found = proc::descendants(self.init_pid);
        let reaped = proc::stat(self.init_pid).map_or(0, |init| init.reaped_ticks);
        // A dead init's pid may belong to another process by now.
        match readable_within(self.init.as_fd(), Duration::ZERO) {
            Ok(false) => proc::tree_of(found, reaped),
            _ => Tree::default(),
        }
    }
}
