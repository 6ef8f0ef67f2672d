//! When the next poll is due: soon after an event that may have changed something, and rarely while
//! nothing happens, since each costs the server.

use std::time::{Duration, Instant};

use super::super::events::Event;
use super::Watch;

/// After an event that may have changed something.
const BRISK: Duration = Duration::from_millis(300);
/// While events come, each poll costs the server 30 ms of CPU and shows nothing that they do not.
const WITH_EVENTS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// Without them.
const WITHOUT_EVENTS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(2)];
/// A stream of events without a heartbeat for so long is none.
const BEAT: Duration = Duration::from_secs(25);
/// Without news for so long it is calm, and the second of each pair holds.
const CALMS_AFTER: Duration = Duration::from_secs(5);
/// Messages are read at least so often while a session is busy; the same for the tree of sessions.
pub(super) const REREAD: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(15)];
/// Signs of life are told at most so often.
pub(super) const LIFE: Duration = Duration::from_millis(500);

/// When what was last.
pub(super) struct Times {
    pub prompted: Instant,
    pub news: Instant,
    pub life: Option<Instant>,
    pub event: Option<Instant>,
    pub children: Option<Instant>,
    pub unlisted: Option<Instant>,
    pub unfinished: Option<Instant>,
}

impl Times {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            prompted: now,
            news: now,
            life: None,
            event: None,
            children: None,
            unlisted: None,
            unfinished: None,
        }
    }
}

impl Watch {
    pub(super) fn pause(&self) -> Duration {
        let heard = self.times.event.is_some_and(|last| last.elapsed() < BEAT);
        let pauses = if heard { WITH_EVENTS } else { WITHOUT_EVENTS };
        if self.is_aborted { BRISK } else { pauses[usize::from(self.is_calm())] }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.times.news.elapsed() > CALMS_AFTER
    }
}

/// Within what time an event wants a poll.
pub(super) fn soon(event: &Event) -> Option<Duration> {
    match event {
        Event::Idle { .. } => Some(Duration::ZERO),
        Event::Connected | Event::Changed { .. } | Event::Error { .. } => Some(BRISK),
        _ => None,
    }
}
