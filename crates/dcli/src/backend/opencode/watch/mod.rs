//! The watch over a session that works: polls have the truth, events only make them come sooner.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dcli_core::executor::access::Access;
use dcli_core::fact::InteractionKind;
use dcli_core::interaction::{Ask, Reply};
use serde_json::Value;

use super::asks::Asks;
use super::ears::{Ears, Word};
use super::events::Event;
use super::fault::Fault;
use super::judge::Activity;
use super::link::Link;
use super::negotiate::Ground;
use super::project::Projection;
use super::wire::Status;
use crate::backend::session::{Hear, Heard};

mod conclude;
mod outbox;
mod poll;
mod rhythm;

use rhythm::{LIFE, Times, soon};

/// A watch.
pub(super) struct Watch {
    pub link: Link,
    pub ground: Ground,
    pub hear: Hear,
    root: String,
    prompt: String,
    asks: Asks,
    projection: Projection,
    activity: Activity,
    /// All sessions of the tree, each with what was last seen of it.
    tree: BTreeMap<String, Seen>,
    statuses: BTreeMap<String, Status>,
    /// Answers that did not come through yet.
    outbox: Vec<(InteractionKind, Reply)>,
    /// What the server said went wrong in the job's session.
    error: Option<Value>,
    times: Times,
    is_aborted: bool,
    is_looked_into: bool,
}

#[derive(Debug, Default)]
struct Seen {
    is_new: bool,
    read: Option<Instant>,
    cost: Duration,
    retry: Option<(u64, String)>,
}

/// What is watched over.
pub(super) struct Of<'a> {
    /// The job's session.
    pub root: &'a str,
    /// The message that was just sent to it.
    pub prompt: &'a str,
    pub access: Access,
}

/// Whether the watch goes on.
type Goes = std::ops::ControlFlow<()>;

impl Watch {
    /// From now on.
    pub(super) fn new(link: Link, ground: Ground, hear: Hear, of: Of<'_>) -> Self {
        let Of { root, prompt, access } = of;
        Self {
            link,
            ground,
            hear,
            root: root.to_owned(),
            prompt: prompt.to_owned(),
            asks: Asks::new(access),
            projection: Projection::new(root),
            activity: Activity::default(),
            tree: BTreeMap::from([(root.to_owned(), Seen { is_new: true, ..Seen::default() })]),
            statuses: BTreeMap::new(),
            outbox: Vec::new(),
            error: None,
            times: Times::new(),
            is_aborted: false,
            is_looked_into: false,
        }
    }

    /// Watches until the session has come to its end.
    pub(super) fn run(&mut self, ears: &mut Ears, tree: impl Fn(Vec<String>)) -> Result<(), Fault> {
        let mut known = 0;
        loop {
            self.listen(ears)?;
            if self.poll()?.is_break() {
                return Ok(());
            }
            if self.tree.len() != known {
                known = self.tree.len();
                tree(self.tree.keys().cloned().collect());
            }
        }
    }

    fn say(&self, heard: Heard) -> Result<(), Fault> {
        if (self.hear)(heard) { Ok(()) } else { Err(Fault::Told) }
    }

    /// Takes words in until the next poll is due.
    fn listen(&mut self, ears: &mut Ears) -> Result<(), Fault> {
        let mut until = Instant::now() + self.pause();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match ears.next(left) {
                None => return Ok(()),
                Some(Word::Close) => return Err(Fault::Told),
                Some(Word::Aborted) => {
                    self.is_aborted = true;
                    self.asks.aborted();
                    return Ok(());
                }
                Some(Word::Reply(reply)) => self.reply(reply)?,
                Some(Word::Event(event)) => {
                    let within = soon(&event);
                    self.times.event = Some(Instant::now());
                    self.event(event)?;
                    until = within.map_or(until, |within| until.min(Instant::now() + within));
                }
            }
            // However much is said, the truth is asked for in time.
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn reply(&mut self, reply: Reply) -> Result<(), Fault> {
        let Some(kind) = self.asks.tell(&reply.key, &reply.verdict) else { return Ok(()) };
        self.times.news = Instant::now();
        self.outbox.push((kind, reply));
        self.send()
    }

    fn event(&mut self, event: Event) -> Result<(), Fault> {
        match event {
            Event::Raw(line) => return self.say(Heard::Raw(line)),
            Event::Grew { session } if self.tree.contains_key(&session) => return self.lives(),
            Event::Changed { session } => self.changed(&session),
            Event::Idle { session } => {
                self.changed(&session);
                if session == self.root {
                    self.activity.idle();
                }
            }
            Event::Error { session, error } => {
                if session.as_ref().is_none_or(|session| *session == self.root) {
                    self.error.get_or_insert(error);
                }
            }
            Event::Permission(asked) => {
                if let Some(ask) = self.asks.permission(&asked, &self.root) {
                    return self.asked(ask);
                }
            }
            Event::Question(asked) => {
                if let Some(ask) = self.asks.question(&asked, &self.root) {
                    return self.asked(ask);
                }
            }
            Event::Replied { session, request, reply } => {
                let replied = self.asks.replied(&session, &request, &reply);
                replied.map_err(|what| Fault::Foreign { what })?;
            }
            Event::Connected => self.tree.values_mut().for_each(|seen| seen.is_new = true),
            Event::Grew { .. } | Event::Beat => {}
        }
        Ok(())
    }

    fn asked(&mut self, ask: Ask) -> Result<(), Fault> {
        if self.asks.is_flooded() {
            return Err(Fault::Flood);
        }
        self.times.news = Instant::now();
        self.say(Heard::Asked(ask))
    }

    fn changed(&mut self, session: &str) {
        match self.tree.get_mut(session) {
            Some(seen) => seen.is_new = true,
            None => self.times.children = None,
        }
    }

    fn lives(&mut self) -> Result<(), Fault> {
        if self.times.life.is_some_and(|last| last.elapsed() < LIFE) {
            return Ok(());
        }
        self.times.life = Some(Instant::now());
        self.times.news = Instant::now();
        self.say(Heard::Active)
    }

    fn poll(&mut self) -> Result<Goes, Fault> {
        self.link.silence()?;
        self.send()?;
        if !self.statuses()? || !self.permissions()? || !self.questions()? || !self.children()? {
            return Ok(Goes::Continue(()));
        }
        let due: Vec<String> =
            self.tree.keys().filter(|session| self.is_due(session)).cloned().collect();
        for session in due {
            self.messages(&session)?;
        }
        self.judge()
    }
}
