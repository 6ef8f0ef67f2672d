//! A running, contained tree: wait for its leader, signal it, look at it, end it.

use crate::aftermath::{Aftermath, Exit};
use crate::entry::Entry;
use crate::error::{Lost, SignalError, StartError};
use crate::identity::Identity;
use crate::kind::Kind;
use crate::launch::Launch;
use crate::platform;
use crate::tree::Tree;

/// A signal that a caller may send to the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, 2.
    Interrupt,
    /// SIGTERM, 15.
    Terminate,
    /// SIGHUP, 1.
    Hangup,
    /// SIGKILL, 9.
    Kill,
}

/// How one kind of containment answers. The seam between platforms.
pub(crate) trait Mechanism: Send + Sync {
    fn wait_leader(&self) -> Result<Exit, Lost>;
    fn signal(&self, signal: Signal) -> Result<(), SignalError>;
    fn end(&self) -> Aftermath;
    fn tree(&self) -> Tree;
}

/// A contained tree. May be shared between threads: one blocks in [`Contained::wait_leader`] while
/// another signals or ends. Dropping it ends the tree.
pub struct Contained {
    kind: Kind,
    leader: Identity,
    mechanism: Box<dyn Mechanism>,
}

impl std::fmt::Debug for Contained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contained").field("kind", &self.kind).field("leader", &self.leader).finish()
    }
}

/// Starts `launch.program` contained. Returns once the program is executed.
///
/// # Errors
/// [`StartError`]; nothing of the target is left running.
pub fn start(entry: &Entry, launch: Launch) -> Result<Contained, StartError> {
    platform::start(entry, launch)
}

impl Contained {
    pub(crate) fn new(kind: Kind, leader: Identity, mechanism: Box<dyn Mechanism>) -> Self {
        Self { kind, leader, mechanism }
    }

    /// The kind that holds this tree.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The leader, by the pid that it has in this process's own namespace.
    #[must_use]
    pub fn leader(&self) -> Identity {
        self.leader.clone()
    }

    /// Blocks until the leader has ended. The rest of the tree is not touched.
    ///
    /// # Errors
    /// [`Lost`] if the init or guardian itself died before it could report.
    pub fn wait_leader(&self) -> Result<Exit, Lost> {
        self.mechanism.wait_leader()
    }

    /// Sends SIGINT to the leader, and to nothing else.
    ///
    /// # Errors
    /// [`SignalError::Gone`] if it has already ended.
    pub fn interrupt(&self) -> Result<(), SignalError> {
        self.signal(Signal::Interrupt)
    }

    /// Sends `signal` to the leader through its pidfd: never to a recycled pid.
    ///
    /// # Errors
    /// [`SignalError::Gone`] if it has already ended.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.mechanism.signal(signal)
    }

    /// Kills whatever is left of the tree, reaps it and verifies. Idempotent; works before and after
    /// the leader's own exit. Takes milliseconds, and at most about ten seconds where the kernel does
    /// not let a process die: what still lives then is named.
    pub fn end(&self) -> Aftermath {
        self.mechanism.end()
    }

    /// The tree as it is now.
    #[must_use]
    pub fn tree(&self) -> Tree {
        self.mechanism.tree()
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        self.mechanism.end();
    }
}
