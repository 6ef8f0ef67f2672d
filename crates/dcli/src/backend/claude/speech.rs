//! What is said to Claude Code: one JSON object each, as 2.1.197 and 2.1.332 read them.

use dcli_core::interaction::Verdict;
use serde_json::{Map, Value, json};

/// By this name the request for a hook is answered.
pub(super) const HOOK: &str = "dcli-hook";

/// What is told where the words for a denial are missing.
const DENIED: &str = "Denied.";

/// The first turn.
pub(super) fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

/// Wants to be told of each use of a tool before it happens.
pub(super) fn hook() -> Value {
    let hooks = json!({"PreToolUse": [{"matcher": null, "hookCallbackIds": ["policy"]}]});
    request(HOOK, json!({"subtype": "initialize", "hooks": hooks}))
}

/// The answer to the hook: go on by your own rules, or ask.
pub(super) fn hooked(key: &str, asks: bool) -> Value {
    let output = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "the policy of this job",
    });
    response(key, &if asks { json!({"hookSpecificOutput": output}) } else { json!({}) })
}

/// Stops the turn with all that it waits for; the process stays.
pub(super) fn interrupt() -> Value {
    request("dcli-interrupt", json!({"subtype": "interrupt"}))
}

/// Ends the process, with all that runs in its background.
pub(super) fn end() -> Value {
    request("dcli-end", json!({"subtype": "end_session"}))
}

/// What cannot be read is refused; a request without an answer would wait for ever.
pub(super) fn unreadable(key: &str) -> Value {
    let error = "this request is not understood here";
    let response = json!({"subtype": "error", "request_id": key, "error": error});
    json!({"type": "control_response", "response": response})
}

/// The answer to a request.
pub(super) fn response(key: &str, answer: &Value) -> Value {
    let response = json!({"subtype": "success", "request_id": key, "response": answer});
    json!({"type": "control_response", "response": response})
}

/// What was decided of a tool that was to be used with `input`, or of these questions in it. The
/// input has to come back: without it 2.1.197 uses no tool, and questions cannot be answered.
pub(super) fn answer(verdict: Verdict, input: Value, questions: &[String]) -> Value {
    let allow = |input: Value| json!({"behavior": "allow", "updatedInput": input});
    match verdict {
        Verdict::Allow => allow(input),
        Verdict::Deny(Some(words)) => json!({"behavior": "deny", "message": words}),
        Verdict::Deny(None) => json!({"behavior": "deny", "message": DENIED, "interrupt": true}),
        Verdict::Answer(words) => {
            let words = words.into_iter().map(Value::String);
            let answers: Map<String, Value> = questions.iter().cloned().zip(words).collect();
            let mut input = input;
            if let Value::Object(input) = &mut input {
                input.insert("answers".to_owned(), Value::Object(answers));
            }
            allow(input)
        }
    }
}

fn request(key: &str, request: Value) -> Value {
    json!({"type": "control_request", "request_id": key, "request": request})
}
