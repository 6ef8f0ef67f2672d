//! The watch over a session that works: polls have the truth, events only make them come sooner.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dcli_core::executor::access::Access;
use dcli_core::fact::InteractionKind;
use dcli_core::interaction::{Reply, Verdict};
use serde_json::{Value, json};

use super::asks::Asks;
use super::ears::{Ears, Word};
use super::events::Event;
use super::fault::{Fault, Stage};
use super::judge::{Activity, End, end};
use super::link::{Link, read, refused};
use super::negotiate::Ground;
use super::operations as ops;
use super::project::{self, Projection};
use super::wire::{self, Message, Status};
use crate::backend::session::{Hear, Heard};

/// Between two polls while something happens, and the most when nothing does.
const BRISK: Duration = Duration::from_millis(200);
const CALM: Duration = Duration::from_secs(1);
/// Without news for so long it is calm.
const CALMS_AFTER: Duration = Duration::from_secs(5);
/// Messages are read at least so often while a session is busy.
const REREAD: Duration = Duration::from_secs(3);
/// And at most with this many times their own cost between.
const REREAD_COST: u32 = 5;
/// Signs of life are told at most so often.
const LIFE: Duration = Duration::from_millis(500);
/// A session of which nothing was seen for so long is looked into.
const UNSEEN: Duration = Duration::from_secs(30);
/// A message that is not ended although its session is idle is waited for so long.
const UNFINISHED: Duration = Duration::from_secs(10);
/// Pending asks that cannot be listed, and none of them known, are waited for so long.
const UNLISTED: Duration = Duration::from_secs(10);

/// How 1.18.33 says that a refusal ended a turn.
const REJECTED: &str = "The user rejected permission";

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

struct Times {
    prompted: Instant,
    news: Instant,
    life: Option<Instant>,
    children: Option<Instant>,
    unlisted: Option<Instant>,
    unfinished: Option<Instant>,
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
        let now = Instant::now();
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
            times: Times {
                prompted: now,
                news: now,
                life: None,
                children: None,
                unlisted: None,
                unfinished: None,
            },
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

    /// Takes words in until the next poll is due. What needs a poll ends it.
    fn listen(&mut self, ears: &mut Ears) -> Result<(), Fault> {
        let is_calm = self.times.news.elapsed() > CALMS_AFTER && !self.is_aborted;
        let until = Instant::now() + if is_calm { CALM } else { BRISK };
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
                Some(Word::Event(event)) => self.event(event)?,
            }
        }
    }

    fn reply(&mut self, reply: Reply) -> Result<(), Fault> {
        let Some(kind) = self.asks.tell(&reply.key, &reply.verdict) else { return Ok(()) };
        self.times.news = Instant::now();
        self.outbox.push((kind, reply));
        self.send()
    }

    /// Sends what was not sent yet; what does not come through stays. Sent twice it is refused as
    /// unknown, which is as good.
    fn send(&mut self) -> Result<(), Fault> {
        for (kind, reply) in std::mem::take(&mut self.outbox) {
            let (operation, body) = answer(kind, &reply.verdict);
            match self.link.attempt(operation, &reply.key, body.as_ref()) {
                Ok(Some(_)) => {}
                Ok(None) => self.outbox.push((kind, reply)),
                Err(error) if error.status() == Some(404) => {}
                Err(error) => return Err(refused(error, Stage::Work)),
            }
        }
        Ok(())
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
            Event::Grew { .. } => {}
        }
        Ok(())
    }

    fn asked(&mut self, ask: dcli_core::interaction::Ask) -> Result<(), Fault> {
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

    /// False: it did not come through.
    fn statuses(&mut self) -> Result<bool, Fault> {
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
                    "type": "retry", "sessionID": session, "attempt": attempt, "next": next,
                    "message": message,
                }));
            }
        }
        told.into_iter().try_for_each(|record| self.say(Heard::Record(record.to_string())))
    }

    fn permissions(&mut self) -> Result<bool, Fault> {
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

    fn questions(&mut self) -> Result<bool, Fault> {
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
    fn children(&mut self) -> Result<bool, Fault> {
        let is_due = self.times.children.is_none_or(|last| last.elapsed() >= REREAD);
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

    fn is_due(&self, session: &str) -> bool {
        let Some(seen) = self.tree.get(session) else { return false };
        let Some(read) = seen.read else { return true };
        let is_late = self.statuses.contains_key(session) && read.elapsed() >= REREAD;
        (seen.is_new || is_late) && read.elapsed() >= seen.cost * REREAD_COST
    }

    /// Reads the messages of one session; `None`: they did not come through.
    fn messages(&mut self, session: &str) -> Result<Option<Vec<Message>>, Fault> {
        let began = Instant::now();
        let answer = match self.link.attempt(&ops::MESSAGES, session, None) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(None),
            Err(error) if error.status() == Some(404) && session != self.root => return Ok(None),
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

    fn judge(&mut self) -> Result<Goes, Fault> {
        if self.activity.is_unseen() && self.times.prompted.elapsed() >= UNSEEN {
            self.look_into()?;
        }
        if !self.activity.is_idle() {
            self.times.unfinished = None;
            return Ok(Goes::Continue(()));
        }
        let root = self.root.clone();
        let Some(all) = self.messages(&root)? else { return Ok(Goes::Continue(())) };
        let children: Vec<String> = self.tree.keys().filter(|id| **id != root).cloned().collect();
        for child in children {
            if self.messages(&child)?.is_none() {
                return Ok(Goes::Continue(()));
            }
        }
        if self.is_aborted {
            return Ok(Goes::Break(()));
        }
        self.conclude(end(&all, &self.prompt))
    }

    fn conclude(&mut self, end: End) -> Result<Goes, Fault> {
        let record = match end {
            End::Answered => self.projection.release(),
            End::Failed(error) => Some(project::error(&self.root, &error)),
            End::Stopped => self.told_error()?,
            End::Unfinished => {
                let since = *self.times.unfinished.get_or_insert_with(Instant::now);
                if since.elapsed() < UNFINISHED && self.error.is_none() {
                    return Ok(Goes::Continue(()));
                }
                self.told_error()?
            }
            End::Unanswered => match self.told_error()? {
                Some(error) => Some(error),
                None if self.times.prompted.elapsed() < UNSEEN => return Ok(Goes::Continue(())),
                None => {
                    self.look_into()?;
                    return Ok(Goes::Continue(()));
                }
            },
        };
        if let Some(record) = record {
            self.say(Heard::Record(record.to_string()))?;
        }
        Ok(Goes::Break(()))
    }

    /// What the server said went wrong. Of a refusal that ended the turn it says no more than that.
    fn told_error(&mut self) -> Result<Option<Value>, Fault> {
        let Some(error) = self.error.take() else { return Ok(None) };
        let said = error.pointer("/data/message").and_then(Value::as_str).unwrap_or_default();
        match self.asks.refused(&self.root) {
            Some(what) if said.starts_with(REJECTED) => {
                Err(Fault::Refused { what: what.to_owned() })
            }
            _ => Ok(Some(project::error(&self.root, &error))),
        }
    }

    /// Nothing was seen of the session: its model may not exist, for which the server says nothing
    /// that a poll would show.
    fn look_into(&mut self) -> Result<(), Fault> {
        if self.is_looked_into {
            return Ok(());
        }
        let root = self.root.clone();
        let Some(all) = self.messages(&root)? else { return Ok(()) };
        self.is_looked_into = true;
        let asked = all.iter().find(|message| message.id == self.prompt);
        let Some(asked) = asked else {
            let last = "the server had accepted it".to_owned();
            return Err(Fault::Unconfirmed { sec: UNSEEN.as_secs(), last });
        };
        match &asked.model {
            Some(model) => {
                self.ground.has_model(model, "the prompt was sent and nothing came of it")
            }
            None => Ok(()),
        }
    }
}

/// What an answer is sent by.
fn answer(kind: InteractionKind, verdict: &Verdict) -> (&'static ops::Operation, Option<Value>) {
    match (kind, verdict) {
        (InteractionKind::Question, Verdict::Answer(answers)) => {
            let answers: Vec<[&String; 1]> = answers.iter().map(|answer| [answer]).collect();
            (&ops::ANSWER_QUESTION, Some(json!({"answers": answers})))
        }
        (InteractionKind::Question, _) => (&ops::REJECT_QUESTION, None),
        (_, Verdict::Allow) => (&ops::ANSWER_PERMISSION, Some(json!({"reply": "once"}))),
        (_, Verdict::Deny(Some(words))) if !words.is_empty() => {
            (&ops::ANSWER_PERMISSION, Some(json!({"reply": "reject", "message": words})))
        }
        _ => (&ops::ANSWER_PERMISSION, Some(json!({"reply": "reject"}))),
    }
}
