//! What the session's thread is told: answers, an end, and events of the server, in one queue.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use dcli_core::interaction::Reply;

use super::events::Event;

/// Something that the thread is told.
#[derive(Debug)]
pub(super) enum Word {
    /// What was decided about an ask.
    Reply(Reply),
    /// The turn was told to stop: whatever is idle now is over.
    Aborted,
    /// Nothing is wanted any more.
    Close,
    /// The server said something.
    Event(Event),
}

/// The thread was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told;

/// The thread's end of the queue.
pub(super) struct Ears {
    words: Receiver<Word>,
    kept: VecDeque<Word>,
}

impl Ears {
    /// A queue.
    pub(super) fn new() -> (Sender<Word>, Self) {
        let (sender, words) = channel();
        (sender, Self { words, kept: VecDeque::new() })
    }

    /// Waits so long; what is said meanwhile is kept. An abort or a close ends it.
    pub(super) fn pause(&mut self, time: Duration) -> Result<(), Told> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.words.recv_timeout(left) {
                Ok(Word::Close | Word::Aborted) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Told);
                }
                Ok(word) => self.kept.push_back(word),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
            }
        }
    }

    /// The next word within so long.
    pub(super) fn next(&mut self, time: Duration) -> Option<Word> {
        if let Some(word) = self.kept.pop_front() {
            return Some(word);
        }
        match self.words.recv_timeout(time) {
            Ok(word) => Some(word),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Word::Close),
        }
    }
}
