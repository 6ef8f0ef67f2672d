//! What is known about a running tree: written by the thread that watches it, awaited by any other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::aftermath::Exit;
use crate::error::Lost;

/// Everything that the watching thread learned so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// How the leader ended.
    pub(crate) exit: Option<Exit>,
    /// The init ended the tree, and this many processes with it.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has an init"))]
    pub(crate) ended: Option<u32>,
    /// The owner is done with the leader's pid: it may be reaped.
    pub(crate) released: bool,
    /// Nothing more will be learned.
    pub(crate) closed: bool,
}

/// Progress that can be awaited.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records something, and wakes who waits.
    pub(crate) fn write(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `enough`, however long it takes.
    pub(crate) fn wait(&self, enough: impl Fn(&Progress) -> bool) -> Progress {
        let guard = self
            .changed
            .wait_while(self.lock(), |progress| !enough(progress))
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }

    /// Waits until `enough`, or until `limit` has passed; what is known then comes back either way.
    pub(crate) fn wait_within(
        &self,
        limit: Duration,
        enough: impl Fn(&Progress) -> bool,
    ) -> Progress {
        let (guard, _timed_out) = self
            .changed
            .wait_timeout_while(self.lock(), limit, |progress| !enough(progress))
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }

    /// Waits for the leader's exit.
    pub(crate) fn wait_exit(&self) -> Result<Exit, Lost> {
        self.wait(|progress| progress.exit.is_some() || progress.closed).exit.ok_or(Lost)
    }
}
