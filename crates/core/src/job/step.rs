//! What goes into the machine of a job, and what comes out of it.

use serde_json::Value;

use super::event::{BackendEnded, BackendStarted, Event, WorkerIdentity};
use super::verdict::{Conclusion, Loss};
use crate::fact::{InteractionKind, InteractionOutcome};
use crate::failure::Failure;
use crate::interaction::Decision;
use crate::outcome::Limit;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A worker took the job.
    WorkerStarted(WorkerIdentity),
    /// There was no free place.
    PlaceRefused,
    /// A place was taken.
    PlaceTaken,
    /// The attempt has its directory.
    AttemptMade {
        /// A name that no other attempt has.
        attempt_id: String,
    },
    /// Nothing was started, for this reason.
    Refused(Box<Failure>),
    /// The backend runs.
    BackendStarted(Box<BackendStarted>),
    /// The backend named its session.
    SessionNamed(String),
    /// What this backend alone has changed.
    BackendState(Value),
    /// The backend asks something.
    InteractionPending {
        /// Which.
        interaction_id: String,
        /// Leave, or words.
        kind: InteractionKind,
        /// What.
        detail: Value,
        /// `awaiting_authorized_responder`, or `None` where it is decided at once.
        outcome: Option<InteractionOutcome>,
    },
    /// It was decided.
    InteractionResolved {
        /// Which.
        interaction_id: String,
        /// How it was dealt with.
        outcome: InteractionOutcome,
        /// What was decided.
        decision: Option<Decision>,
        /// By whom or what.
        responder: Option<String>,
    },
    /// Completion was observed.
    Completed,
    /// More came after it.
    Resumed,
    /// Somebody wants the job to end.
    CancelAsked {
        /// Who.
        by: String,
    },
    /// A deadline was reached.
    DeadlineReached(Limit),
    /// The backend's tree has ended.
    BackendEnded(Box<BackendEnded>),
    /// What it left was judged and saved.
    Concluded(Box<Conclusion>),
    /// The worker died; said by whoever holds its lease now.
    WorkerGone(Box<Loss>),
}

impl Input {
    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::WorkerStarted(_) => "worker started",
            Self::PlaceRefused => "place refused",
            Self::PlaceTaken => "place taken",
            Self::AttemptMade { .. } => "attempt made",
            Self::Refused(_) => "refused",
            Self::BackendStarted(_) => "backend started",
            Self::SessionNamed(_) => "session named",
            Self::BackendState(_) => "backend state",
            Self::InteractionPending { .. } => "interaction pending",
            Self::InteractionResolved { .. } => "interaction resolved",
            Self::Completed => "completed",
            Self::Resumed => "resumed",
            Self::CancelAsked { .. } => "cancel asked",
            Self::DeadlineReached(_) => "deadline reached",
            Self::BackendEnded(_) => "backend ended",
            Self::Concluded(_) => "concluded",
            Self::WorkerGone(_) => "worker gone",
        }
    }

    /// Whether it is what a working backend says of itself, which decides nothing.
    pub(super) fn is_told(&self) -> bool {
        matches!(
            self,
            Self::SessionNamed(_)
                | Self::BackendState(_)
                | Self::InteractionPending { .. }
                | Self::InteractionResolved { .. }
        )
    }

    /// What a working backend says of itself, as the event that keeps it.
    pub(super) fn told(self) -> Option<Event> {
        Some(match self {
            Self::SessionNamed(backend_session_id) => Event::SessionNamed { backend_session_id },
            Self::BackendState(state) => Event::BackendState { state },
            Self::InteractionPending { interaction_id, kind, detail, outcome } => {
                Event::InteractionPending { interaction_id, kind, detail, outcome }
            }
            Self::InteractionResolved { interaction_id, outcome, decision, responder } => {
                Event::InteractionResolved { interaction_id, outcome, decision, responder }
            }
            _ => return None,
        })
    }
}

/// Something to do. Each but `Append` and `Settle` is answered by an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write this event to the journal.
    Append(Event),
    /// Take a free place: [`Input::PlaceTaken`] or [`Input::PlaceRefused`].
    TakePlace,
    /// Wait for a place: [`Input::PlaceTaken`].
    AwaitPlace,
    /// Make the attempt's directory: [`Input::AttemptMade`].
    MakeAttempt,
    /// Start the backend and follow it: [`Input::BackendStarted`] to [`Input::BackendEnded`].
    StartBackend,
    /// Judge and save what it left: [`Input::Concluded`].
    SaveOutput,
    /// Remove what only a living job needs, and give its place back.
    Settle,
}

impl Effect {
    /// Every name, in the order of the variants.
    pub const NAMES: [&str; 7] = [
        "append",
        "take place",
        "await place",
        "make attempt",
        "start backend",
        "save output",
        "settle",
    ];

    /// Its name, for messages and tests.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Append(_) => Self::NAMES[0],
            Self::TakePlace => Self::NAMES[1],
            Self::AwaitPlace => Self::NAMES[2],
            Self::MakeAttempt => Self::NAMES[3],
            Self::StartBackend => Self::NAMES[4],
            Self::SaveOutput => Self::NAMES[5],
            Self::Settle => Self::NAMES[6],
        }
    }
}
