//! The stream of events: progress, and what no poll shows. It may break at any time; nothing is
//! repeated afterwards.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use dcli_core::decode::sse::SseDecoder;
use serde_json::Value;

use super::ears::Word;
use super::http::Client;
use super::operations::EVENTS;
use super::wire::{self, Permission, Question};

/// Before a new try.
const AGAIN: Duration = Duration::from_millis(500);

/// What an event says that matters here.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// The stream began, or began anew.
    Connected,
    /// The stream is there.
    Beat,
    /// A piece of a message grew.
    Grew { session: String },
    /// Something about this session is new.
    Changed { session: String },
    /// A session has nothing to do any more.
    Idle { session: String },
    /// A session went wrong; it may go on.
    Error { session: Option<String>, error: Value },
    /// A permission is asked for.
    Permission(Permission),
    /// A question is asked.
    Question(Question),
    /// A permission was answered.
    Replied { session: String, request: String, reply: String },
    /// What came, for the log.
    Raw(Vec<u8>),
}

/// Listens until told otherwise, on a thread of its own. It ends by itself soon after the server
/// does, or after three heartbeats that did not come.
pub(super) fn listen(client: Client, words: Sender<Word>, is_over: Arc<AtomicBool>) {
    let listening = move || {
        while !is_over.load(Ordering::Relaxed) {
            let heard = |event| words.send(Word::Event(event)).is_ok();
            if let Ok(stream) = client.events(&EVENTS)
                && !follow(stream, &is_over, heard)
            {
                break;
            }
            std::thread::park_timeout(AGAIN);
        }
    };
    // Without the thread there are the polls.
    let _ = std::thread::Builder::new().name("opencode events".to_owned()).spawn(listening);
}

/// One stream to its end; false: nobody listens any more.
fn follow(mut stream: impl Read, is_over: &AtomicBool, heard: impl Fn(Event) -> bool) -> bool {
    let mut decoder = SseDecoder::default();
    let mut chunk = vec![0; 64 * 1024];
    let mut listened = heard(Event::Connected);
    while listened && !is_over.load(Ordering::Relaxed) {
        let Ok(read @ 1..) = stream.read(&mut chunk) else { return true };
        decoder.push(&chunk[..read], |event| {
            for event in events(&event.data) {
                listened &= heard(event);
            }
        });
    }
    false
}

/// What one event says. What cannot be read says nothing: the polls have the truth.
fn events(data: &str) -> Vec<Event> {
    let Ok(value) = serde_json::from_str::<Value>(data) else { return Vec::new() };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let said = value.get("properties").unwrap_or(&Value::Null);
    let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
    let session = text("sessionID")
        .or_else(|| said.pointer("/info/sessionID")?.as_str().map(str::to_owned))
        .or_else(|| said.pointer("/part/sessionID")?.as_str().map(str::to_owned));
    if kind == "server.heartbeat" {
        return vec![Event::Beat];
    }
    if kind == "message.part.delta" {
        return session.map(|session| Event::Grew { session }).into_iter().collect();
    }
    let event = match kind {
        "session.idle" => session.map(|session| Event::Idle { session }),
        "session.error" => {
            let error = said.get("error").cloned().unwrap_or_default();
            Some(Event::Error { session, error })
        }
        "permission.asked" => wire::permission(said).ok().map(Event::Permission),
        "question.asked" => wire::question(said).ok().map(Event::Question),
        "permission.replied" => session.zip(text("requestID")).map(|(session, request)| {
            Event::Replied { session, request, reply: text("reply").unwrap_or_default() }
        }),
        _ => session.map(|session| Event::Changed { session }),
    };
    let raw = Event::Raw(format!("{data}\n").into_bytes());
    std::iter::once(raw).chain(event).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    fn said(kind: &str, properties: Value) -> Vec<Event> {
        let all = events(&json!({"type": kind, "properties": properties}).to_string());
        all.into_iter().filter(|event| !matches!(event, Event::Raw(_))).collect()
    }

    #[test]
    fn events_that_matter_are_read_and_others_pass() {
        let session = || "ses_1".to_owned();
        assert_eq!(
            said("session.idle", json!({"sessionID": "ses_1"})),
            [Event::Idle { session: session() }]
        );
        let replied = json!({"sessionID": "ses_1", "requestID": "per_1", "reply": "once"});
        assert_eq!(
            said("permission.replied", replied),
            [Event::Replied { session: session(), request: "per_1".into(), reply: "once".into() }]
        );
        let grew = json!({"sessionID": "ses_1", "delta": "x"});
        assert_eq!(said("message.part.delta", grew), [Event::Grew { session: session() }]);
        let part = json!({"part": {"sessionID": "ses_1"}});
        assert_eq!(said("message.part.updated", part), [Event::Changed { session: session() }]);
        assert_eq!(said("plugin.added", json!({})), []);
        assert_eq!(said("permission.asked", json!({"id": 5})), []);
        assert_eq!(events("no json"), []);
    }

    #[test]
    fn a_stream_in_any_chunks_gives_its_events_and_its_end_asks_for_another() {
        let text = "data: {\"type\":\"session.idle\",\"properties\":{\"sessionID\":\"s\"}}\n\n";
        let got = RefCell::new(Vec::new());
        let over = AtomicBool::new(false);
        let goes_on = follow(text.as_bytes(), &over, |event| {
            got.borrow_mut().push(event);
            true
        });
        assert!(goes_on);
        assert!(got.borrow().contains(&Event::Idle { session: "s".into() }));
        assert!(!follow(text.as_bytes(), &over, |_| false));
    }
}
