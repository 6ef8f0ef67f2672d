//! How a leader ended, and what was left of its tree.

use serde::{Deserialize, Serialize};

/// How the leader ended. Exactly one of the two is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, 0–255.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// An exit with `code`.
    #[must_use]
    pub const fn with_code(code: i32) -> Self {
        Self { code: Some(code), signal: None }
    }

    /// A death by `signal`.
    #[must_use]
    pub const fn by_signal(signal: i32) -> Self {
        Self { code: None, signal: Some(signal) }
    }

    /// Whether the program itself reported success.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// A process of the tree that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Its pid, as seen from here.
    pub pid: i32,
    /// When it started, in clock ticks since boot (`proc_pid_stat(5)`, field 22).
    pub start_time: u64,
    /// Its command name, at most 15 bytes.
    pub comm: String,
}

/// What ending a tree found and achieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aftermath {
    /// Live processes other than the leader that had to be ended; zombies do not count.
    pub left_behind: u32,
    /// `None`: no tree kill could run. `Some` and empty: one ran, and nothing was left.
    pub survivors: Option<Vec<Survivor>>,
    /// How the leader ended, if that is known.
    pub leader: Option<Exit>,
}
