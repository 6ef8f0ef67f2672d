//! Messages of sessions as the records that `opencode run --format json` prints, each once and in
//! order, so that the rules of the executor's record judge them.
//!
//! Beside those: `tool_start` and `tool_end` in place of `tool_use`, since a server shows both; and
//! `child_step_finish` for steps that cost and answer nothing, those of child sessions and summaries.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::wire::{Message, Part};

/// A step that answers nothing.
const ASIDE: &str = "child_step_finish";

/// How much of a part was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// That a tool began.
    Begun,
    /// All.
    Whole,
}

/// What was told of all sessions.
#[derive(Debug, Default)]
pub(super) struct Projection {
    root: String,
    told: BTreeMap<(String, String), Told>,
    sizes: BTreeMap<String, usize>,
    /// A step that says that it was the last, until it is known to be.
    held: Option<Value>,
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedCall {
    pub session: String,
    pub message: String,
    pub call: String,
}

/// What is new.
#[derive(Debug, Default, PartialEq)]
pub(super) struct News {
    pub records: Vec<Value>,
    /// Calls that ended well.
    pub ran: Vec<EndedCall>,
    /// Something grew that is no record yet.
    pub grew: bool,
}

impl Projection {
    /// Nothing told; `root` is the job's session.
    pub(super) fn new(root: &str) -> Self {
        Self { root: root.to_owned(), ..Self::default() }
    }

    /// Takes all messages of one session in.
    pub(super) fn take(&mut self, session: &str, messages: &[Message]) -> News {
        let mut news = News::default();
        let mut size = 0;
        for message in messages.iter().filter(|message| message.is_assistant) {
            for part in &message.parts {
                size += extent(part);
                self.part(session, message, part, &mut news);
            }
        }
        let before = self.sizes.insert(session.to_owned(), size);
        news.grew = before != Some(size) && (before.is_some() || size > 0);
        news
    }

    /// The last step, once the session has come to its end with it.
    pub(super) fn release(&mut self) -> Option<Value> {
        self.held.take()
    }

    fn part(&mut self, session: &str, message: &Message, part: &Part, news: &mut News) {
        let key = (session.to_owned(), part.id.clone());
        let told = self.told.get(&key).copied();
        if told == Some(Told::Whole) {
            return;
        }
        let is_over = message.is_completed || message.error.is_some();
        let is_aside = session != self.root || message.is_summary;
        let now = match part.kind.as_str() {
            "tool" => self.tool(session, message, (part, told), news),
            "text" | "reasoning" if is_over || has_ended(part) => {
                if !is_aside {
                    self.tell(news, self.record(&part.kind, session, part.value.clone()));
                }
                Some(Told::Whole)
            }
            "step-start" => {
                if !is_aside {
                    self.tell(news, self.record("step_start", session, part.value.clone()));
                }
                Some(Told::Whole)
            }
            "step-finish" => {
                self.step(session, is_aside, part, news);
                Some(Told::Whole)
            }
            _ => None,
        };
        if let Some(now) = now {
            self.told.insert(key, now);
        }
    }

    fn step(&mut self, session: &str, is_aside: bool, part: &Part, news: &mut News) {
        let kind = if is_aside { ASIDE } else { "step_finish" };
        let finished = self.record(kind, session, part.value.clone());
        if is_aside || part.value.get("reason").and_then(Value::as_str) != Some("stop") {
            return self.tell(news, finished);
        }
        let earlier = self.held.replace(finished);
        news.records.extend(earlier.map(aside));
    }

    fn tool(
        &mut self,
        session: &str,
        message: &Message,
        (part, told): (&Part, Option<Told>),
        news: &mut News,
    ) -> Option<Told> {
        let status = part.value.pointer("/state/status").and_then(Value::as_str);
        let has_ended = matches!(status, Some("completed" | "error"));
        if status == Some("pending") {
            return told;
        }
        let own = part.value.get("callID").and_then(Value::as_str).unwrap_or_default();
        let mut value = part.value.clone();
        if session != self.root {
            // Providers number calls within a session.
            value["callID"] = format!("{session}/{own}").into();
        }
        if told.is_none() {
            self.tell(news, self.record("tool_start", session, value.clone()));
        }
        if !has_ended {
            return Some(Told::Begun);
        }
        self.tell(news, self.record("tool_end", session, value));
        if status == Some("completed") {
            let (session, message, call) = (session.to_owned(), message.id.clone(), own.to_owned());
            news.ran.push(EndedCall { session, message, call });
        }
        Some(Told::Whole)
    }

    /// A record names the job's session, whichever of its tree it is of.
    fn record(&self, kind: &str, session: &str, part: Value) -> Value {
        match session == self.root {
            true => json!({"type": kind, "sessionID": self.root, "part": part}),
            false => {
                json!({"type": kind, "sessionID": self.root, "child": session, "part": part})
            }
        }
    }

    /// What comes after a last step in the job's own session shows that it was not the last, and
    /// proves nothing any more.
    fn tell(&mut self, news: &mut News, record: Value) {
        let is_own = record.get("child").is_none();
        if is_own && record.get("type").and_then(Value::as_str) != Some(ASIDE) {
            news.records.extend(self.held.take().map(aside));
        }
        news.records.push(record);
    }
}

fn aside(mut step: Value) -> Value {
    step["type"] = ASIDE.into();
    step
}

/// The record of a session that failed.
pub(super) fn error(session: &str, error: &Value) -> Value {
    json!({"type": "error", "sessionID": session, "error": error})
}

fn has_ended(part: &Part) -> bool {
    part.value.pointer("/time/end").is_some_and(|end| !end.is_null())
}

/// A measure that changes when a part grows.
fn extent(part: &Part) -> usize {
    let text =
        |pointer: &str| part.value.pointer(pointer).and_then(Value::as_str).map_or(0, str::len);
    1 + text("/text") + text("/state/status") + text("/state/metadata/output") + text("/state/raw")
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
