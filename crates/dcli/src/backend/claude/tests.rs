//! A scripted backend at the other end of the pipe: what it asks, and what it reads.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex};

use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::json;

use super::*;

/// A conversation, and the end of the pipe that the backend reads.
struct Scene {
    conversation: Conversation,
    read: BufReader<File>,
}

fn scene(policy: Policy) -> Scene {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let directory = PathBuf::from("/no/such/work");
    let mut conversation = Conversation::new(writer, "do it\n\"now\"", directory, policy);
    conversation.pen.begin().unwrap();
    Scene { conversation, read: BufReader::new(File::from(reader)) }
}

impl Scene {
    /// The next line that the backend reads; `None` at the end.
    fn heard(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn asks(&mut self, key: &str, detail: Value) -> Option<Heard> {
        self.conversation.read(Request::Asked { key: key.to_owned(), detail })
    }

    fn is_told(&mut self, key: &str, verdict: Verdict) {
        self.conversation.reply(Reply { key: key.to_owned(), verdict });
    }

    fn answer(&mut self, key: &str) -> Value {
        let heard = self.heard().unwrap();
        assert_eq!(heard["type"], "control_response");
        assert_eq!(
            (&heard["response"]["subtype"], &heard["response"]["request_id"]),
            (&json!("success"), &json!(key))
        );
        heard["response"]["response"].clone()
    }
}

fn bash(command: &str) -> Value {
    json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command, "x": 1.5}})
}

fn rules(rules: &[&str]) -> Vec<dcli_core::interaction::Rule> {
    rules.iter().map(|rule| rule.parse().unwrap()).collect()
}

#[test]
fn the_prompt_is_the_first_line_and_the_end_comes_after_the_last_answer() {
    let mut scene = scene(Policy::default());
    let prompt = json!({"role": "user", "content": "do it\n\"now\""});
    assert_eq!(scene.heard().unwrap(), json!({"type": "user", "message": prompt}));
    scene.asks("1", bash("touch z"));
    scene.is_told("1", Verdict::Allow);
    scene.conversation.close();
    scene.is_told("1", Verdict::Allow);
    assert_eq!(scene.answer("1")["behavior"], "allow");
    assert_eq!(scene.heard(), None);
}

#[test]
fn each_verdict_has_its_words_and_is_said_once() {
    let mut scene = scene(Policy::default());
    scene.heard();
    for (verdict, wanted) in [
        (Verdict::Allow, json!({"behavior": "allow", "updatedInput": {"command": "x", "x": 1.5}})),
        (Verdict::Deny(Some("no".into())), json!({"behavior": "deny", "message": "no"})),
        (Verdict::Deny(None), json!({"behavior": "deny", "message": "Denied.", "interrupt": true})),
    ] {
        let Some(Heard::Asked(ask)) = scene.asks("k", bash("x")) else { panic!("not asked") };
        assert_eq!((&*ask.key, &*ask.permission), ("k", "bash"));
        scene.is_told("other", Verdict::Allow);
        scene.is_told("k", verdict.clone());
        scene.is_told("k", verdict);
        assert_eq!(scene.answer("k"), wanted);
    }
    scene.conversation.close();
    let end = json!({"subtype": "end_session"});
    assert_eq!(scene.heard().unwrap()["request"], end, "the turn was stopped");
    assert_eq!(scene.heard(), None);
}

#[test]
fn questions_are_answered_by_their_own_text() {
    let mut scene = scene(Policy::default());
    scene.heard();
    let questions = json!([{"question": "Which?"}, {"question": "Why?"}, {"question": "When?"}]);
    let input = json!({"questions": questions});
    let request =
        json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": input});
    assert!(matches!(scene.asks("q", request), Some(Heard::Asked(_))));
    scene.is_told("q", Verdict::Answer(vec!["A, B".into(), "because".into()]));
    let answers = json!({"Which?": "A, B", "Why?": "because"});
    let wanted = json!({"behavior": "allow", "updatedInput": {"questions": questions,
        "answers": answers}});
    assert_eq!(scene.answer("q"), wanted);
}

#[test]
fn an_agent_that_another_one_started_is_stopped_together_with_it() {
    let mut scene = scene(Policy::default());
    scene.heard();
    let mut request = bash("x");
    request["agent_id"] = json!("a1");
    let Some(Heard::Asked(ask)) = scene.asks("1", request) else { panic!("not asked") };
    assert_eq!(ask.detail["session"], "child");
    scene.is_told("1", Verdict::Deny(None));
    assert_eq!(scene.heard().unwrap()["request"], json!({"subtype": "interrupt"}));
}

#[test]
fn what_is_not_asked_any_more_is_not_answered() {
    let mut scene = scene(Policy::default());
    scene.heard();
    scene.asks("1", bash("x"));
    let withdrawn = scene.conversation.read(Request::Withdrawn { key: "1".into() });
    assert!(matches!(withdrawn, Some(Heard::Withdrawn(key)) if key == "1"));
    scene.is_told("1", Verdict::Allow);
    scene.conversation.close();
    assert_eq!(scene.heard(), None);
}

#[test]
fn what_cannot_be_read_is_refused_and_only_leave_that_cannot_be_read_fails_the_run() {
    let mut scene = scene(Policy::default());
    scene.heard();
    for (detail, fails) in [
        (json!({"subtype": "elicitation"}), false),
        (json!("control_request"), false),
        (json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}), true),
        (json!({"subtype": "can_use_tool"}), true),
    ] {
        match scene.asks("k", detail) {
            None => assert!(!fails),
            Some(Heard::Failed(failure)) => {
                assert!(fails && failure.class == FailureClass::Protocol)
            }
            other => panic!("{other:?}"),
        }
        let heard = scene.heard().unwrap();
        assert_eq!(heard["response"]["subtype"], "error");
        assert_eq!(heard["response"]["request_id"], "k");
    }
    let refused = json!({"subtype": "error", "request_id": "dcli-end", "error": "unknown"});
    assert!(scene.asks("dcli-end", refused).is_none());
}

#[test]
fn what_a_policy_says_anything_of_has_to_be_asked_and_nothing_else() {
    let policy = Policy {
        allow: rules(&["bash:touch allowed"]),
        ask: rules(&["webfetch"]),
        deny: rules(&["bash:rm *"]),
    };
    let mut scene = scene(policy);
    let hook = scene.heard().unwrap();
    assert_eq!(hook["request"]["subtype"], "initialize");
    assert!(hook["request"]["hooks"]["PreToolUse"][0]["hookCallbackIds"].is_array());
    assert_eq!(scene.heard().unwrap()["type"], "user");
    for (tool, input, asks) in [
        ("Bash", json!({"command": "touch a && rm b"}), true),
        ("Bash", json!({"command": "X=1 rm b > /dev/null"}), true),
        ("Bash", json!({"command": "touch a"}), false),
        ("Bash", json!({"command": "touch allowed"}), true),
        ("WebFetch", json!({"url": "http://h/"}), true),
        ("Write", json!({"file_path": "f"}), false),
        ("Write", json!({"no": "path"}), true),
    ] {
        let input = json!({"tool_name": tool, "tool_input": input});
        assert!(scene.asks("h", json!({"subtype": "hook_callback", "input": input})).is_none());
        let decision = scene.answer("h")["hookSpecificOutput"]["permissionDecision"].clone();
        assert_eq!(decision == "ask", asks, "{input}");
    }
    let refused = json!({"subtype": "error", "request_id": "dcli-hook", "error": "unknown"});
    assert!(matches!(scene.asks("dcli-hook", refused), Some(Heard::Failed(_))));
}

#[test]
fn a_conversation_begins_with_a_thread_of_its_own_and_says_nothing() {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut session = session(writer, &"x".repeat(1 << 20), PathBuf::from("/"), Policy::default());
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let hear: Hear = Arc::new(move |what| {
        heard.lock().unwrap().push(what);
        true
    });
    session.begin(&Identity::current().unwrap(), hear);
    session.close();
    let read = std::io::read_to_string(File::from(reader)).unwrap();
    assert!(read.len() > 1 << 20 && read.ends_with("\n"));
    assert!(said.lock().unwrap().is_empty());
}
