//! One poll: what the server says now of its sessions, of what it asks and of what was written.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dcli_core::fact::InteractionKind;
use serde_json::json;

use super::super::fault::{Fault, Stage};
use super::super::link::{read, refused};
use super::super::operations as ops;
use super::super::wire::{self, Message, Status};
use super::rhythm::REREAD;
use super::{Seen, Watch};
use crate::backend::session::Heard;

/// Messages are read at most with this many times their own cost between.
const REREAD_COST: u32 = 5;
/// Pending asks that cannot be listed, and none of them known, are waited for so long.
const UNLISTED: Duration = Duration::from_secs(10);

impl Watch {
    /// False: it did not come through.
    pub(super) fn statuses(&mut self) -> Result<bool, Fault> {
        let answer = self.link.attempt(&ops::STATUS, "", None);
        let Some(answer) = answer.map_err(|error| refused(error, Stage::Work))? else {
            return Ok(false);
        };
        let now = read("GET /session/status", Stage::Work, wire::statuses(&answer))?;
        self.activity.listed(now.get(&self.root));
        if now.keys().any(|session| !self.tree.contains_key(session)) {
            self.times.children = None;
        }
        for (session, seen) in &mut self.tree {
            seen.is_new |= now.contains_key(session) != self.statuses.contains_key(session);
        }
        self.statuses = now;
        self.retries()?;
        Ok(true)
    }

    fn retries(&mut self) -> Result<(), Fault> {
        let mut told = Vec::new();
        for (session, seen) in &mut self.tree {
            let Some(Status::Retry { attempt, message, next }) = self.statuses.get(session) else {
                continue;
            };
            let this = (*attempt, next.to_string());
            if seen.retry.as_ref() != Some(&this) {
                seen.retry = Some(this);
                told.push(json!({
                    "type": "retry", "sessionID": self.root, "session": session,
                    "attempt": attempt, "next": next, "message": message,
                }));
            }
        }
        told.into_iter().try_for_each(|record| self.say(Heard::Record(record.to_string())))
    }

    pub(super) fn permissions(&mut self) -> Result<bool, Fault> {
        let answer = match self.link.attempt(&ops::PERMISSIONS, "", None) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(false),
            // 1.18.33 cannot list some permissions (webfetch without a timeout, glob, grep); the
            // event tells of them, and they can be answered.
            Err(error) if error.status() == Some(400) => return self.unlisted(&error.to_string()),
            Err(error) => return Err(refused(error, Stage::Work)),
        };
        self.times.unlisted = None;
        let pending = read("GET /permission", Stage::Work, wire::permissions(&answer))?;
        for asked in &pending {
            if let Some(ask) = self.asks.permission(asked, &self.root) {
                self.asked(ask)?;
            }
        }
        let ids = pending.into_iter().map(|asked| asked.id).collect();
        self.gone(InteractionKind::Permission, &ids)?;
        Ok(true)
    }

    fn unlisted(&mut self, last: &str) -> Result<bool, Fault> {
        let since = *self.times.unlisted.get_or_insert_with(Instant::now);
        if self.asks.are_open() || !self.outbox.is_empty() {
            self.times.unlisted = None;
        } else if since.elapsed() >= UNLISTED {
            let last = last.to_owned();
            return Err(Fault::Unlisted { sec: UNLISTED.as_secs(), last });
        }
        Ok(true)
    }

    pub(super) fn questions(&mut self) -> Result<bool, Fault> {
        let answer = self.link.attempt(&ops::QUESTIONS, "", None);
        let Some(answer) = answer.map_err(|error| refused(error, Stage::Work))? else {
            return Ok(false);
        };
        let pending = read("GET /question", Stage::Work, wire::questions(&answer))?;
        for asked in &pending {
            if let Some(ask) = self.asks.question(asked, &self.root) {
                self.asked(ask)?;
            }
        }
        let ids = pending.into_iter().map(|asked| asked.id).collect();
        self.gone(InteractionKind::Question, &ids)?;
        Ok(true)
    }

    fn gone(&mut self, kind: InteractionKind, pending: &BTreeSet<String>) -> Result<(), Fault> {
        let (statuses, activity, root) = (&self.statuses, &self.activity, &self.root);
        let is_idle = |session: &str| match session == root {
            true => activity.is_idle(),
            false => !statuses.contains_key(session),
        };
        let gone = self.asks.listed(kind, pending, is_idle);
        let gone = gone.map_err(|what| Fault::Foreign { what })?;
        gone.into_iter().try_for_each(|key| self.say(Heard::Withdrawn(key)))
    }

    /// Children of children too: a configuration may let them have some.
    pub(super) fn children(&mut self) -> Result<bool, Fault> {
        let again = REREAD[usize::from(self.is_calm())];
        let is_due = self.times.children.is_none_or(|last| last.elapsed() >= again);
        let is_busy = self.statuses.contains_key(&self.root);
        if !is_due || (self.times.children.is_some() && !is_busy) {
            return Ok(true);
        }
        let mut open: Vec<String> = vec![self.root.clone()];
        let mut asked = BTreeSet::new();
        while let Some(session) = open.pop() {
            if !asked.insert(session.clone()) {
                continue;
            }
            let answer = match self.link.attempt(&ops::CHILDREN, &session, None) {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(false),
                Err(error) if error.status() == Some(404) && session != self.root => continue,
                Err(error) => return Err(refused(error, Stage::Work)),
            };
            let name = "GET /session/{sessionID}/children";
            for child in read(name, Stage::Work, wire::sessions(&answer))? {
                let new = || Seen { is_new: true, ..Seen::default() };
                self.tree.entry(child.id.clone()).or_insert_with(new);
                open.push(child.id);
            }
        }
        self.times.children = Some(Instant::now());
        Ok(true)
    }

    pub(super) fn is_due(&self, session: &str) -> bool {
        let Some(seen) = self.tree.get(session) else { return false };
        let Some(read) = seen.read else { return true };
        let again = REREAD[usize::from(self.is_calm())];
        let is_late = self.statuses.contains_key(session) && read.elapsed() >= again;
        (seen.is_new || is_late) && read.elapsed() >= seen.cost * REREAD_COST
    }

    /// Reads the messages of one session; `None`: they did not come through.
    pub(super) fn messages(&mut self, session: &str) -> Result<Option<Vec<Message>>, Fault> {
        let began = Instant::now();
        let answer = match self.link.attempt(&ops::MESSAGES, session, None) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(None),
            Err(error) if error.status() == Some(404) && session != self.root => {
                // A child that is gone says nothing more.
                self.tree.remove(session);
                return Ok(Some(Vec::new()));
            }
            Err(error) => return Err(refused(error, Stage::Work)),
        };
        let all = read("GET /session/{sessionID}/message", Stage::Work, wire::messages(&answer))?;
        if let Some(seen) = self.tree.get_mut(session) {
            seen.is_new = false;
            seen.read = Some(Instant::now());
            seen.cost = began.elapsed();
        }
        if session == self.root && all.iter().any(|message| message.is_assistant) {
            self.activity.wrote();
        }
        let news = self.projection.take(session, &all);
        if !news.records.is_empty() {
            self.times.news = Instant::now();
        }
        for record in news.records {
            self.say(Heard::Record(record.to_string()))?;
        }
        for ran in news.ran {
            let checked = self.asks.ran(&ran.session, &ran.message, &ran.call);
            checked.map_err(|what| Fault::Foreign { what })?;
        }
        if news.grew {
            self.lives()?;
        }
        Ok(Some(all))
    }
}
