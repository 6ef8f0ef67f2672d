//! The projection of a journal: what each event changes in the status of its job.

use super::event::{BackendEnded, BackendStarted, Ended, Event};
use super::state::{AttemptState, JobPhase, JobState};
use super::status::Status;
use crate::envelope::ExitKind;
use crate::interaction::{Decision, Interaction};

impl Status {
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
