//! What goes into an attempt and what comes out of it, its limits, and what its stream has shown.

use std::time::Duration;

use crate::executor::record::RungKind;
use crate::milestone::Milestone;
use crate::outcome::Ending;

/// Time limits and the ladder of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Of the whole run.
    pub hard: Duration,
    /// To the first record; `None` where records do not show life.
    pub startup: Option<Duration>,
    /// Without activity; `None` where records do not show life.
    pub idle: Option<Duration>,
    /// How long the tree may linger after completion.
    pub grace: Duration,
    /// How long output may still come after the leader's exit.
    pub drain: Duration,
    /// The rungs of a cancel with the wait for each.
    pub ladder: Vec<(RungKind, Duration)>,
}

/// What the stream has shown up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records of the backend so far.
    pub records: u64,
    /// Those that count as activity.
    pub activity: u64,
    /// Tool calls that are open.
    pub open_tools: u64,
    /// Success evidence with a usable result and nothing open.
    pub complete: bool,
    /// A failing record that nothing recovered up to now.
    pub failed: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The stream was read further.
    Read(Progress),
    /// The tree was looked at: whether it used CPU, whether a tool runs in a session of its own.
    Sampled { busy: bool, tool_session: bool },
    /// The leader ended; everything it wrote up to then has been read.
    LeaderEnded { code: Option<i32>, signal: Option<i32> },
    /// Nothing of the tree is alive but the leader's remains.
    TreeEmpty,
    /// The session of a backend that does not end by itself has come to its end.
    Settled,
    /// Somebody wants the run to end.
    CancelAsked,
    /// The run must end for a reason outside the table: a cap, a capture error, a lost init.
    Broken(Ending),
    /// The tree was ended.
    TreeEnded,
    /// Time passed.
    Ticked,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Keep this milestone. It comes before every other effect of its step that follows from it.
    Note(Milestone),
    /// A rung of the ladder that is not the last.
    Climb(RungKind),
    /// End the whole tree and answer with [`Input::TreeEnded`].
    EndTree,
    /// Look at the tree and answer with [`Input::Sampled`].
    Sample,
    /// See whether the tree is empty; answer with [`Input::TreeEmpty`] if it is.
    LookForRest,
}

impl Effect {
    /// Every name, in the order of the variants.
    pub const NAMES: [&str; 5] = ["note", "climb", "end tree", "sample", "look for rest"];

    /// Its name, for messages and tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note(_) => Self::NAMES[0],
            Self::Climb(_) => Self::NAMES[1],
            Self::EndTree => Self::NAMES[2],
            Self::Sample => Self::NAMES[3],
            Self::LookForRest => Self::NAMES[4],
        }
    }
}
