//! The process group on a Unix without `/proc`: the group dies at one stroke; nobody looks for what left it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Signal as Number, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::aftermath::{Aftermath, Exit};
use crate::contained::{Contained, Mechanism, Signal};
use crate::error::{Lost, SignalError, StartError};
use crate::identity::Identity;
use crate::kind::Kind;
use crate::launch::{Input, Launch};
use crate::ledger::Ledger;
use crate::tree::Tree;

const DEATH_LIMIT: Duration = Duration::from_secs(3);

struct Group {
    ledger: Arc<Ledger>,
    leader: Pid,
    kind: Kind,
    aftermath: Mutex<Option<Aftermath>>,
}

/// Starts `launch` as the leader of a session, and so of a group, of its own.
pub(crate) fn start(launch: Launch) -> Result<Contained, StartError> {
    let kind = launch.kind;
    if let Err(source) = std::fs::read_dir(&launch.cwd) {
        return Err(StartError::Directory { path: launch.cwd, source });
    }
    let child = spawn(launch)?;
    let unnamed = || internal("name its leader", io::ErrorKind::InvalidData.into());
    let pid = i32::try_from(child.id()).map_err(|_| unnamed())?;
    let leader = Pid::from_raw(pid).ok_or_else(unnamed)?;
    let identity = Identity::of(pid).map_err(|source| internal("name its leader", source))?;
    let ledger = Arc::<Ledger>::default();
    let watched = ledger.clone();
    std::thread::Builder::new()
        .name("contained".to_owned())
        .spawn(move || watch(child, leader, &watched))
        .map_err(|source| internal("start a thread", source))?;
    let group = Group { ledger, leader, kind, aftermath: Mutex::default() };
    Ok(Contained::new(kind, identity, Box::new(group)))
}

fn internal(operation: &str, source: io::Error) -> StartError {
    StartError::Init { operation: operation.to_owned(), source }
}

fn spawn(launch: Launch) -> Result<Child, StartError> {
    let stdin = match launch.stdin {
        Input::Null => Stdio::null(),
        Input::Descriptor(given) => given.into(),
        Input::File(path) => open_input(&path)
            .map_err(|source| StartError::Stdin { input: path.display().to_string(), source })?
            .into(),
    };
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.env).current_dir(&launch.cwd);
    command.stdin(stdin).stdout(launch.stdout).stderr(launch.stderr);
    if let Some(name) = &launch.arg0 {
        command.arg0(name);
    }
    // SAFETY: both calls are async-signal-safe and allocate nothing.
    unsafe { command.pre_exec(fresh_start) };
    command.spawn().map_err(|source| StartError::Program { path: launch.program, source })
}

fn open_input(path: &Path) -> io::Result<File> {
    if path.metadata()?.is_file() {
        File::open(path)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

fn fresh_start() -> io::Result<()> {
    for signal in 1..32 {
        // SAFETY: the default action runs no code; errors for SIGKILL and SIGSTOP mean nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    rustix::process::setsid()?;
    Ok(())
}

/// Waits without reaping: the number of the group stays taken until it is released.
fn watch(mut child: Child, leader: Pid, ledger: &Ledger) {
    let status = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let exit = status.ok().flatten().and_then(|status| {
        let code = status.exit_status().map(Exit::with_code);
        code.or_else(|| status.terminating_signal().map(Exit::by_signal))
    });
    ledger.write(|progress| {
        progress.exit = exit;
        progress.closed = exit.is_none();
    });
    ledger.wait(|progress| progress.released);
    let _status = child.wait();
    ledger.write(|progress| progress.closed = true);
}

impl Group {
    fn end_once(&self) -> Aftermath {
        let _already_dead = match self.kind {
            Kind::None => kill_process(self.leader, Number::KILL),
            _ => kill_process_group(self.leader, Number::KILL),
        };
        let known =
            self.ledger.wait_within(DEATH_LIMIT, |known| known.exit.is_some() || known.closed);
        self.ledger.write(|progress| progress.released = true);
        self.ledger.wait_within(DEATH_LIMIT, |progress| progress.closed);
        // What left the group cannot be looked for here, so nothing is claimed about it.
        Aftermath { left_behind: 0, survivors: None, leader: known.exit }
    }
}

impl Mechanism for Group {
    fn wait_leader(&self) -> Result<Exit, Lost> {
        self.ledger.wait_exit()
    }

    /// The lock keeps the leader from being reaped, and its pid from being recycled, meanwhile.
    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        let aftermath = self.aftermath.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.ledger.wait_within(Duration::ZERO, |progress| progress.exit.is_some());
        if aftermath.is_some() || known.exit.is_some() {
            return Err(SignalError::Gone);
        }
        let number = match signal {
            Signal::Interrupt => Number::INT,
            Signal::Terminate => Number::TERM,
            Signal::Hangup => Number::HUP,
            Signal::Kill => Number::KILL,
        };
        kill_process(self.leader, number).map_err(|errno| SignalError::Refused(errno.into()))
    }

    fn end(&self) -> Aftermath {
        let mut aftermath = self.aftermath.lock().unwrap_or_else(PoisonError::into_inner);
        aftermath.get_or_insert_with(|| self.end_once()).clone()
    }

    fn tree(&self) -> Tree {
        Tree::default()
    }
}
