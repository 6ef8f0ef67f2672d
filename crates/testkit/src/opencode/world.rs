//! What the server knows: sessions with their messages, who is busy, what is asked, who listens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::fault::Kind;
use super::script::Script;

/// All of it, shared by connections and turns.
#[derive(Debug)]
pub(super) struct World {
    pub(super) script: Script,
    /// Where it works.
    pub(super) directory: String,
    facts: Mutex<Facts>,
    changed: Condvar,
}

/// How something that was asked was answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// The word of a permission's reply.
    Word(String, Option<String>),
    /// The answers to questions.
    Answers(Value),
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    serial: u64,
    pub(super) sessions: Vec<Value>,
    pub(super) messages: BTreeMap<String, Vec<Value>>,
    pub(super) status: BTreeMap<String, Value>,
    pub(super) permissions: Vec<Value>,
    pub(super) questions: Vec<Value>,
    pub(super) replies: BTreeMap<String, Reply>,
    pub(super) aborted: BTreeSet<String>,
    /// Permissions that were listed at least once.
    pub(super) listed: BTreeSet<String>,
    listeners: Vec<Sender<String>>,
    pub(super) prompts: usize,
    calls: BTreeMap<String, usize>,
    since_prompt: BTreeMap<String, usize>,
}

impl World {
    pub(super) fn new(script: Script, directory: String) -> Self {
        Self { script, directory, facts: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks or changes; whoever waits looks again.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Facts) -> T) -> T {
        let result = act(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits until there is something to find.
    pub(super) fn wait<T>(&self, mut find: impl FnMut(&mut Facts) -> Option<T>) -> T {
        let mut facts = self.lock();
        loop {
            if let Some(found) = find(&mut facts) {
                return found;
            }
            facts = self.changed.wait(facts).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts this call, and says which fault strikes it.
    pub(super) fn fault(&self, route: &str) -> Option<Kind> {
        let (nth, since) = self.with(|facts| {
            let nth = count(&mut facts.calls, route);
            let prompted = facts.prompts > 0;
            (nth, if prompted { count(&mut facts.since_prompt, route) } else { 0 })
        });
        let mut faults = self.script.faults.iter();
        let fault = faults.find(|fault| fault.strikes(route, nth, since))?;
        Some(fault.is.clone())
    }

    /// Whatever is told from now on.
    pub(super) fn listen(&self) -> Receiver<String> {
        let (sender, receiver) = channel();
        self.with(|facts| facts.listeners.push(sender));
        receiver
    }

    /// A new session; its id.
    pub(super) fn open(&self, asked: &Value, parent: Option<&str>) -> Value {
        self.with(|facts| {
            let id = facts.name("ses");
            let now = now();
            let mut session = json!({
                "id": id, "slug": "quiet-otter", "projectID": "global",
                "directory": self.directory, "path": "work", "cost": 0, "tokens": no_tokens(),
                "title": asked.get("title").cloned().unwrap_or_else(|| json!("New session")),
                "version": self.script.version, "time": {"created": now, "updated": now},
                "permission": asked.get("permission").cloned().unwrap_or_else(|| json!([])),
            });
            if let Some(parent) = parent {
                put(&mut session, "parentID", json!(parent));
            }
            facts.sessions.push(session.clone());
            facts.messages.insert(id.clone(), Vec::new());
            facts.tell("session.created", json!({"sessionID": id, "info": session}));
            session
        })
    }
}

fn count(calls: &mut BTreeMap<String, usize>, route: &str) -> usize {
    let calls = calls.entry(route.to_owned()).or_default();
    *calls += 1;
    *calls
}

impl Facts {
    /// A name that nothing else has; later ones sort after earlier ones.
    pub(super) fn name(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{kind}_{:012x}fake", self.serial)
    }

    /// Tells everybody who listens.
    pub(super) fn tell(&mut self, what: &str, properties: Value) {
        let id = self.name("evt");
        let event = json!({"id": id, "type": what, "properties": properties}).to_string();
        self.listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }

    /// Every event stream ends.
    pub(super) fn cut_events(&mut self) {
        self.listeners.clear();
    }

    /// Whether there is such a session.
    pub(super) fn has(&self, session: &str) -> bool {
        self.messages.contains_key(session)
    }

    /// The session is busy, or whatever else this says.
    pub(super) fn busy(&mut self, session: &str, status: Value) {
        self.status.insert(session.to_owned(), status.clone());
        self.tell("session.status", json!({"sessionID": session, "status": status}));
    }

    /// The session waits for nothing.
    pub(super) fn idle(&mut self, session: &str) {
        self.status.remove(session);
        let status = json!({"sessionID": session, "status": {"type": "idle"}});
        self.tell("session.status", status);
        self.tell("session.idle", json!({"sessionID": session}));
    }

    /// Adds a message.
    pub(super) fn say(&mut self, session: &str, info: Value, parts: Vec<Value>) {
        let told = json!({"sessionID": session, "info": info});
        let message = json!({"info": info, "parts": parts});
        self.messages.entry(session.to_owned()).or_default().push(message);
        self.tell("message.updated", told);
    }

    /// Changes the last message of a session.
    pub(super) fn amend(
        &mut self,
        session: &str,
        change: impl FnOnce(&mut Value, &mut Vec<Value>),
    ) {
        let last = self.messages.get_mut(session).and_then(|messages| messages.last_mut());
        let Some(last) = last else { return };
        let mut info = last.get("info").cloned().unwrap_or_default();
        let mut parts = last.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
        change(&mut info, &mut parts);
        *last = json!({"info": info, "parts": parts});
        let part = parts.last().cloned().unwrap_or_default();
        self.tell("message.updated", json!({"sessionID": session, "info": info}));
        self.tell("message.part.updated", json!({"sessionID": session, "part": part}));
    }

    /// Takes a reply in; false: nothing of that name is asked.
    pub(super) fn reply(&mut self, id: &str, reply: Reply) -> bool {
        let is_it = |asked: &Value| asked.get("id").and_then(Value::as_str) == Some(id);
        let found = self.permissions.iter().chain(&self.questions).find(|one| is_it(one)).cloned();
        let Some(asked) = found else { return false };
        self.permissions.retain(|one| !is_it(one));
        self.questions.retain(|one| !is_it(one));
        let session = asked.get("sessionID").cloned().unwrap_or_default();
        let (what, more) = match (&reply, asked.get("questions").is_some()) {
            (Reply::Word(word, _), false) => ("permission.replied", json!({"reply": word})),
            (Reply::Word(..), true) => ("question.rejected", json!({})),
            (Reply::Answers(answers), _) => ("question.replied", json!({"answers": answers})),
        };
        let mut told = json!({"sessionID": session, "requestID": id});
        for (key, value) in more.as_object().into_iter().flatten() {
            put(&mut told, key, value.clone());
        }
        let sweeps = matches!(&reply, Reply::Word(word, _) if word == "reject");
        self.replies.insert(id.to_owned(), reply);
        self.tell(what, told);
        if sweeps {
            self.sweep(&session);
        }
        true
    }

    /// A reject takes along all that is asked in the same session.
    fn sweep(&mut self, session: &Value) {
        let of_session = |one: &&Value| one.get("sessionID") == Some(session);
        let ids = self.permissions.iter().filter(of_session).filter_map(|one| one.get("id"));
        let ids: Vec<String> = ids.filter_map(Value::as_str).map(str::to_owned).collect();
        if let Some(id) = ids.first() {
            self.reply(id, Reply::Word("reject".to_owned(), None));
        }
    }
}

/// Sets a key of an object.
pub(super) fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn no_tokens() -> Value {
    json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}})
}
