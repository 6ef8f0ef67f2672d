//! The controller's side of a start: run the entry's executable in a role, from a thread that lives as long as the tree, and hand over.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::channel::{Channel, Received, hung_up_within};
use super::descriptors::{Names, Prepared, in_order, internal};
use super::role::{NAME, Role};
use super::wire::{Failure, Message};
use crate::entry::Executable;
use crate::error::StartError;
use crate::marker;

/// How long an init may take for one step of its start, on a machine under load.
const STEP_LIMIT: Duration = Duration::from_secs(30);
const STACK: usize = 256 * 1024;

/// A re-executed process and the channel to it. Dropping it kills it.
pub(crate) struct Spawned {
    child: Option<Child>,
    pub(crate) pidfd: Arc<OwnedFd>,
    pub(crate) control: Arc<Channel>,
}

/// Where the thread of a tree reports its start.
pub(crate) type Report<T> = SyncSender<Result<T, StartError>>;

/// Runs `life` on a thread of its own and waits for its report. The kernel's parent-death signal
/// belongs to the thread that spawned, so this one stays until the tree is gone.
pub(crate) fn on_own_thread<T: Send + 'static>(
    life: impl FnOnce(Report<T>) + Send + 'static,
) -> Result<T, StartError> {
    let (report, reported) = sync_channel(1);
    std::thread::Builder::new()
        .name("contained".to_owned())
        .stack_size(STACK)
        .spawn(move || life(report))
        .map_err(|source| internal("start a thread", source))?;
    reported.recv().unwrap_or_else(|_| Err(silent()))
}

fn silent() -> StartError {
    internal("report its start", io::ErrorKind::BrokenPipe.into())
}

/// Spawns the executable in `role` and hands `prepared` over.
pub(crate) fn hand_over(
    executable: &Executable,
    role: Role,
    prepared: Prepared,
) -> Result<(Spawned, Names), StartError> {
    let spawned = spawn(executable, role).map_err(|source| internal("be executed", source))?;
    // Sent before the hello: the executable is proven, and each turn of the conversation would cost a
    // wake-up on a loaded machine.
    spawned
        .control
        .send(&Message::Launch, &in_order(&prepared.parcel))
        .map_err(|source| internal("take its orders", source))?;
    match spawned.hear()? {
        Some((Message::Hello(marker::VERSION), _)) => Ok((spawned, prepared.names)),
        Some((Message::Hello(_), _)) => {
            Err(internal("agree on a version", io::ErrorKind::Unsupported.into()))
        }
        _ => Err(internal("say hello", io::ErrorKind::UnexpectedEof.into())),
    }
}

/// A plain spawn, nothing between fork and exec: its cost must not grow with this process. The
/// control channel is the child's standard input, so no other child can inherit it by accident.
fn spawn(executable: &Executable, role: Role) -> io::Result<Spawned> {
    let (control, theirs) = Channel::pair()?;
    let mut child = Command::new(executable.path()?)
        .arg0(NAME)
        .arg(role.name())
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    match open_pidfd(&child) {
        Ok(pidfd) => {
            Ok(Spawned { child: Some(child), pidfd: Arc::new(pidfd), control: Arc::new(control) })
        }
        Err(error) => {
            let _already_dead = child.kill();
            child.wait()?;
            Err(error)
        }
    }
}

fn open_pidfd(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

impl Spawned {
    /// The next message, within the limit of a start.
    pub(crate) fn hear(&self) -> Result<Received, StartError> {
        self.control.receive_within(STEP_LIMIT).map_err(|source| internal("answer", source))
    }

    /// How the exec of a target went that speaks for itself.
    pub(crate) fn hear_exec(&self) -> Result<Option<Failure>, StartError> {
        let hung_up = hung_up_within(self.control.as_fd(), STEP_LIMIT);
        if !hung_up.map_err(|source| internal("answer", source))? {
            return Err(internal("answer", io::ErrorKind::TimedOut.into()));
        }
        let heard = self.control.last_words();
        heard.map_err(|source| internal("reach the exec", source))
    }

    /// The pid of the spawned process, valid until it is waited for.
    pub(crate) fn pid(&self) -> i32 {
        self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok()).unwrap_or(0)
    }

    /// Waits for the spawned process itself, and so gives its pid back.
    pub(crate) fn reap(mut self) {
        if let Some(mut child) = self.child.take() {
            let _status = child.wait();
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _already_dead = pidfd_send_signal(&self.pidfd, Signal::KILL);
            let _status = child.wait();
        }
    }
}
