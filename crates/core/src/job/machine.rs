//! One job as a pure state machine: what happened goes in, what to write and to do comes out.
//!
//! The journal is the job: every change of it is an [`Event`], the worker writes that event before
//! anything follows from it, and [`Job::fold`] gives the same job back from what was written. The
//! same [`Job::step`] is used by the living worker and by whoever finds a dead one.

use thiserror::Error;

use super::event::{Created, Ended, Event, JournalLine};
use super::status::Status;
pub use super::step::{Effect, Input};
use super::verdict;
use crate::outcome::Limit;

/// How far a job has come. Finer than its state: each stage is what one effect is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// It has a record; no worker has taken it.
    Made,
    /// A worker has it and looks for a place.
    Claimed,
    /// It waits for a place.
    Waiting,
    /// It has a place; its attempt is being made.
    Admitted,
    /// Its backend is being started.
    Launching,
    /// Its backend works.
    Working,
    /// The backend's tree has ended; what it left is being saved.
    Collecting,
    /// Over.
    Over,
}

impl Stage {
    /// Every stage, in order of life.
    pub const ALL: [Self; 8] = [
        Self::Made,
        Self::Claimed,
        Self::Waiting,
        Self::Admitted,
        Self::Launching,
        Self::Working,
        Self::Collecting,
        Self::Over,
    ];
}

/// What has been journaled first of what can decide an ending. What comes later changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decided {
    /// Completion was observed.
    Completion,
    /// A cancel was requested.
    Cancel,
    /// A deadline was reached.
    Deadline(Limit),
}

/// An input that makes no sense where the job stands.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{what} is illegal for a job that is {stage:?}")]
pub struct Illegal {
    /// Where it stood.
    pub stage: Stage,
    /// What came.
    pub what: String,
}

/// A journal that no job can have.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FoldError {
    /// Nothing is in it.
    #[error("the journal is empty")]
    Empty,
    /// It does not begin with the job's creation.
    #[error("the journal does not begin with the creation of the job")]
    NotCreated,
    /// An event that cannot follow those before it.
    #[error("line {seq} of the journal: {illegal}")]
    Illegal {
        /// Which line.
        seq: u64,
        /// What is wrong with it.
        illegal: Illegal,
    },
}

/// The whole of a job, as its journal tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    status: Status,
    stage: Stage,
    decided: Option<Decided>,
}

impl Job {
    /// A job that was just made, and the event to begin its journal with.
    #[must_use]
    pub fn new(at: &str, created: Created) -> (Self, Event) {
        (Self::made(at, &created), Event::Created(Box::new(created)))
    }

    fn made(at: &str, created: &Created) -> Self {
        Self { status: Status::new(created, at), stage: Stage::Made, decided: None }
    }

    /// The job that a journal tells of.
    ///
    /// # Errors
    /// [`FoldError`]
    pub fn fold(lines: &[JournalLine]) -> Result<Self, FoldError> {
        let (first, rest) = lines.split_first().ok_or(FoldError::Empty)?;
        let Event::Created(created) = &first.event else { return Err(FoldError::NotCreated) };
        let mut job = Self::made(&first.at, created);
        for line in rest {
            job.apply(&line.at, &line.event)
                .map_err(|illegal| FoldError::Illegal { seq: line.seq, illegal })?;
        }
        Ok(job)
    }

    /// All that is known of it.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// How far it has come.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What decides its ending, once that is known.
    #[must_use]
    pub fn decided(&self) -> Option<Decided> {
        self.decided
    }

    /// Takes one input in, at the time `at`. What is to be appended comes out first and is in force
    /// already.
    ///
    /// # Errors
    /// The input is illegal where the job stands; nothing changed.
    pub fn step(&mut self, at: &str, input: Input) -> Result<Vec<Effect>, Illegal> {
        let (events, effects) = self.decide(input)?;
        let mut next = self.clone();
        for event in &events {
            next.apply(at, event)?;
        }
        *self = next;
        Ok(events.into_iter().map(Effect::Append).chain(effects).collect())
    }

    fn decide(&self, input: Input) -> Result<(Vec<Event>, Vec<Effect>), Illegal> {
        let pass = |event: Event, effects: Vec<Effect>| Ok((vec![event], effects));
        match (self.stage, input) {
            // A terminal state absorbs what is still on its way.
            (
                Stage::Over,
                Input::CancelAsked { .. } | Input::DeadlineReached(_) | Input::WorkerGone(_),
            ) => Ok((Vec::new(), Vec::new())),
            (Stage::Made | Stage::Waiting, Input::WorkerStarted(worker)) => {
                pass(Event::WorkerStarted { worker }, vec![Effect::TakePlace])
            }
            (Stage::Claimed, Input::PlaceRefused) => pass(Event::Queued, vec![Effect::AwaitPlace]),
            (Stage::Claimed | Stage::Waiting, Input::PlaceTaken) => {
                pass(Event::Admitted, vec![Effect::MakeAttempt])
            }
            (Stage::Admitted, Input::AttemptMade { attempt_id }) => {
                let attempt = self.status.attempt + 1;
                pass(Event::AttemptCreated { attempt, attempt_id }, vec![Effect::StartBackend])
            }
            (Stage::Launching, Input::BackendStarted(started)) => {
                pass(Event::BackendStarted(started), Vec::new())
            }
            (Stage::Working, input) if input.is_told() => {
                Ok((input.told().into_iter().collect(), Vec::new()))
            }
            (Stage::Working, Input::Completed) => {
                Ok((self.first(Event::CompletionObserved), Vec::new()))
            }
            (Stage::Working, Input::Resumed) => {
                let was = self.decided == Some(Decided::Completion);
                Ok((was.then_some(Event::CompletionWithdrawn).into_iter().collect(), Vec::new()))
            }
            (Stage::Working, Input::DeadlineReached(limit)) => {
                Ok((self.first(Event::DeadlineReached { limit }), Vec::new()))
            }
            (Stage::Working, Input::BackendEnded(ended)) => {
                pass(Event::BackendEnded(ended), vec![Effect::SaveOutput])
            }
            (Stage::Collecting, Input::Concluded(conclusion)) => {
                self.end(verdict::concluded(self.decided, *conclusion))
            }
            (stage, Input::CancelAsked { by }) => Ok(self.cancel(stage, by)),
            (stage, Input::Refused(failure)) if stage < Stage::Working => {
                self.end(verdict::refused(self.decided, *failure))
            }
            (stage, Input::WorkerGone(loss)) => self.end(verdict::lost(stage, self.decided, *loss)),
            (stage, input) => Err(Illegal { stage, what: input.name().to_owned() }),
        }
    }

    fn end(&self, ended: Ended) -> Result<(Vec<Event>, Vec<Effect>), Illegal> {
        Ok((vec![Event::Ended(Box::new(ended))], vec![Effect::Settle]))
    }

    /// `event`, unless the ending is decided already.
    fn first(&self, event: Event) -> Vec<Event> {
        if self.decided.is_none() { vec![event] } else { Vec::new() }
    }

    /// Before the backend is started a cancel ends the job at once; from then on it is for the
    /// ladder to end the tree. After completion it changes nothing.
    fn cancel(&self, stage: Stage, by: String) -> (Vec<Event>, Vec<Effect>) {
        let absorbs = stage == Stage::Collecting;
        let mut events =
            if absorbs { Vec::new() } else { self.first(Event::CancelRequested { by }) };
        if stage >= Stage::Launching {
            return (events, Vec::new());
        }
        events.push(Event::Ended(Box::new(verdict::cancelled_before_start())));
        (events, vec![Effect::Settle])
    }

    /// Takes one event in.
    ///
    /// # Errors
    /// It cannot follow those before it; nothing changed.
    pub fn apply(&mut self, at: &str, event: &Event) -> Result<(), Illegal> {
        let stage = self.next(event)?;
        self.record(at, event);
        self.stage = stage;
        at.clone_into(&mut self.status.updated_at);
        Ok(())
    }

    /// The stage that `event` leads to.
    fn next(&self, event: &Event) -> Result<Stage, Illegal> {
        let free = self.decided.is_none();
        Ok(match (self.stage, event) {
            (Stage::Over, _) => return Err(self.illegal(event)),
            (Stage::Made | Stage::Waiting, Event::WorkerStarted { .. }) => Stage::Claimed,
            (Stage::Claimed, Event::Queued) => Stage::Waiting,
            (Stage::Claimed | Stage::Waiting, Event::Admitted) => Stage::Admitted,
            (Stage::Admitted, Event::AttemptCreated { .. }) => Stage::Launching,
            (Stage::Launching, Event::BackendStarted(_)) => Stage::Working,
            (Stage::Working, Event::SessionNamed { .. } | Event::BackendState { .. }) => {
                Stage::Working
            }
            (Stage::Working, Event::InteractionPending { interaction_id, .. })
                if self.status.interaction(interaction_id).is_none() =>
            {
                Stage::Working
            }
            (Stage::Working, Event::InteractionResolved { interaction_id, .. })
                if self.status.is_open(interaction_id) =>
            {
                Stage::Working
            }
            (Stage::Working, Event::CompletionObserved | Event::DeadlineReached { .. }) if free => {
                Stage::Working
            }
            (Stage::Working, Event::CompletionWithdrawn)
                if self.decided == Some(Decided::Completion) =>
            {
                Stage::Working
            }
            (stage, Event::CancelRequested { .. }) if free && stage <= Stage::Working => stage,
            (Stage::Working, Event::BackendEnded(_)) => Stage::Collecting,
            (_, Event::Ended(ended)) if ended.state.is_terminal() => Stage::Over,
            _ => return Err(self.illegal(event)),
        })
    }

    fn illegal(&self, event: &Event) -> Illegal {
        Illegal { stage: self.stage, what: event.name().to_owned() }
    }

    fn record(&mut self, at: &str, event: &Event) {
        match event {
            Event::CompletionObserved => self.decided = Some(Decided::Completion),
            Event::CompletionWithdrawn => self.decided = None,
            Event::CancelRequested { .. } => self.decided = Some(Decided::Cancel),
            Event::DeadlineReached { limit } => self.decided = Some(Decided::Deadline(*limit)),
            _ => {}
        }
        self.status.record(at, event);
    }
}
