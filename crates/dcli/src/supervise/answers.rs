//! Answers from outside to what a run asks, given from any thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dcli_core::interaction::Answer;

/// Answers whether anybody still listens.
type Listener = Box<dyn Fn(Answer) -> bool + Send>;
/// Shuts the door for one interaction: an answer that came before is the answer.
type Door = Box<dyn Fn(&str) -> Option<Answer> + Send>;

/// Where answers are given. Clones share one place.
#[derive(Clone, Default)]
pub struct Answers {
    shared: Arc<Mutex<Place>>,
}

#[derive(Default)]
struct Place {
    waiting: Vec<Answer>,
    listener: Option<Listener>,
    door: Option<Door>,
}

impl Answers {
    /// Nobody has answered anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers. The first answer to an interaction is the one that counts.
    pub fn give(&self, answer: Answer) {
        let mut place = self.lock();
        match &place.listener {
            Some(listener) => drop(listener(answer)),
            None => place.waiting.push(answer),
        }
    }

    /// Calls `listener` for every answer from now on, and at once for those already given.
    pub(crate) fn listen(&self, listener: impl Fn(Answer) -> bool + Send + 'static) {
        let mut place = self.lock();
        for answer in place.waiting.drain(..) {
            listener(answer);
        }
        place.listener = Some(Box::new(listener));
    }

    /// Whoever takes answers elsewhere shuts its door with `door` when the time is over.
    pub(crate) fn close_with(&self, door: impl Fn(&str) -> Option<Answer> + Send + 'static) {
        self.lock().door = Some(Box::new(door));
    }

    /// From now on nobody can answer this any more; one who has, has.
    pub(crate) fn close(&self, interaction_id: &str) -> Option<Answer> {
        self.lock().door.as_ref().and_then(|door| door(interaction_id))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Place> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
