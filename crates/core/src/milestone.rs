//! Milestones: the turns that an attempt took, in the order that decides its ending.

use crate::outcome::Limit;

/// A turn that an attempt took, for whoever keeps a record of it. Their order is what decides: see
/// [`Decision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    /// Success evidence with a usable result, and nothing open.
    Completed,
    /// More work was announced after completion: it is no completion any more.
    Resumed,
    /// The first wish to end the run.
    CancelRequested,
    /// A deadline passed before completion.
    DeadlineReached(Limit),
    /// The session of a backend that does not end by itself came to its end without completion.
    Settled,
    /// The leader ended by itself, or of a rung of the ladder.
    LeaderEnded {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

impl Milestone {
    /// Every name, in the order of the variants.
    pub const NAMES: [&str; 6] =
        ["completed", "resumed", "cancel requested", "deadline reached", "settled", "leader ended"];

    /// Its name, for messages and tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => Self::NAMES[0],
            Self::Resumed => Self::NAMES[1],
            Self::CancelRequested => Self::NAMES[2],
            Self::DeadlineReached(_) => Self::NAMES[3],
            Self::Settled => Self::NAMES[4],
            Self::LeaderEnded { .. } => Self::NAMES[5],
        }
    }
}

/// What the milestones of an attempt, in their order, say about its ending: the first of exit,
/// cancel and deadline decides, unless completion came before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether completion stands.
    pub completed: bool,
    /// What decided: never a cancel or a deadline that came after completion.
    pub by: Option<Milestone>,
}

impl Decision {
    /// Takes the next milestone in.
    pub fn take(&mut self, milestone: Milestone) {
        match milestone {
            Milestone::Completed => self.completed |= !self.is_ended_early(),
            Milestone::Resumed => self.completed = false,
            Milestone::CancelRequested | Milestone::DeadlineReached(_) if self.completed => {}
            decisive => self.by = self.by.or(Some(decisive)),
        }
    }

    fn is_ended_early(&self) -> bool {
        matches!(self.by, Some(Milestone::CancelRequested | Milestone::DeadlineReached(_)))
    }
}
