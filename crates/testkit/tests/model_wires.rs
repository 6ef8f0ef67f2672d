//! Each wire format, driven by a raw client: text, reasoning, a tool call, usage, the whole body.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

mod common;

use common::{events, joined, json_body, post};
use dcli_testkit::model::{Scenario, Server, Tool, Turn, Usage};
use serde_json::{Value, json};

fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: Value =
        arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"name": name, "parameters": {"type": "object", "properties": properties}})
}

fn anthropic(stream: bool) -> Value {
    let mut write = tool("Write", &["file_path", "content"]);
    write["input_schema"] = write["parameters"].take();
    let bash = json!({"name": "Bash", "input_schema": {"properties": {"command": {}}}});
    json!({"model": "m", "stream": stream, "tools": [write, bash]})
}

fn chat(stream: bool) -> Value {
    let write = json!({"type": "function", "function": tool("write", &["filePath", "content"])});
    let bash = json!({"type": "function", "function": tool("bash", &["command", "description"])});
    json!({"model": "m", "stream": stream, "tools": [write, bash]})
}

fn responses(stream: bool) -> Value {
    let mut exec = tool("exec_command", &["cmd"]);
    exec["type"] = json!("function");
    let space = json!({"type": "namespace", "name": "agents", "tools": [tool("spawn", &[])]});
    json!({"model": "m", "stream": stream, "tools": [exec, space]})
}

fn gemini() -> Value {
    let write = tool("write_file", &["file_path", "content"]);
    let shell = tool("run_shell_command", &["command", "is_background"]);
    json!({"tools": [{"functionDeclarations": [write, shell]}]})
}

fn full_turn() -> Turn {
    let write = Tool::Write { path: "/w/a".into(), content: "it's".into() };
    Turn {
        text: Some("héllo there".into()),
        reasoning: Some("because of that".into()),
        tools: vec![write],
        shell: Some("ls".into()),
        ..Turn::default()
    }
}

fn full_server() -> Server {
    Server::start(Scenario::of([full_turn()])).unwrap()
}

#[test]
fn anthropic_streams_blocks_in_order_with_usage_at_both_ends() {
    let events = events(&post(&full_server(), "/v1/messages?beta=true", &anthropic(true)));
    assert_eq!(joined(&events, "/delta/thinking"), "because of that");
    assert_eq!(joined(&events, "/delta/text"), "héllo there");
    let starts = events.iter().filter_map(|event| event.pointer("/content_block/type"));
    let starts: Vec<_> = starts.collect();
    assert_eq!(starts, ["thinking", "text", "tool_use", "tool_use"]);
    let args = joined(&events, "/delta/partial_json");
    assert_eq!(args, r#"{"file_path":"/w/a","content":"it's"}{"command":"ls"}"#);
    let usage = &events[0]["message"]["usage"];
    assert_eq!(usage["input_tokens"], 11);
    assert_eq!(usage["cache_creation_input_tokens"], 3);
    assert_eq!(usage["cache_read_input_tokens"], 5);
    let end = &events[events.len() - 2];
    assert_eq!(end["usage"]["output_tokens"], 7);
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn anthropic_answers_whole_when_no_stream_was_asked_for() {
    let body = json_body(&post(&full_server(), "/v1/messages", &anthropic(false)));
    assert_eq!(body["content"][0]["thinking"], "because of that");
    assert_eq!(body["content"][1]["text"], "héllo there");
    assert_eq!(body["content"][2]["input"]["file_path"], "/w/a");
    assert_eq!(body["usage"]["output_tokens"], 7);
}

#[test]
fn responses_stream_repeats_every_item_in_its_last_event() {
    let events = events(&post(&full_server(), "/v1/responses", &responses(true)));
    assert_eq!(events[0]["type"], "response.created");
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    let last = &events.last().unwrap()["response"];
    assert_eq!(done, last["output"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(done[0]["summary"][0]["text"], "because of that");
    assert_eq!(done[1]["content"][0]["text"], "héllo there");
    let shell: Value = serde_json::from_str(done[2]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(shell, json!({"cmd": r"printf %s 'it'\''s' > '/w/a'"}));
    assert_eq!(done[3]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(last["usage"]["total_tokens"], 26);
    assert_eq!(last["usage"]["input_tokens_details"]["cached_tokens"], 5);
    let numbers: Vec<u64> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn responses_call_a_free_form_patch_tool_with_a_patch() {
    let mut body = responses(true);
    let patch = json!({"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}});
    body["tools"].as_array_mut().unwrap().push(patch);
    let events = events(&post(&full_server(), "/v1/responses", &body));
    let call = &events.last().unwrap()["response"]["output"][2];
    assert_eq!(call["type"], "custom_tool_call");
    assert!(call["input"].as_str().unwrap().contains("*** Add File: /w/a\n+it's\n"));
}

#[test]
fn chat_streams_deltas_then_usage_then_done() {
    let events = events(&post(&full_server(), "/v1/chat/completions", &chat(true)));
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "because of that");
    assert_eq!(joined(&events, "/choices/0/delta/content"), "héllo there");
    let calls: Vec<&Value> =
        events.iter().filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0")).collect();
    assert_eq!(calls[0]["function"]["arguments"], r#"{"filePath":"/w/a","content":"it's"}"#);
    assert_eq!(calls[1]["index"], 1);
    let shell = r#"{"command":"ls","description":"run it"}"#;
    assert_eq!(calls[1]["function"]["arguments"], shell);
    assert_eq!(events.last().unwrap(), "[DONE]");
    let usage = &events[events.len() - 2]["usage"];
    assert_eq!(usage["total_tokens"], 26);
    let finish = joined(&events, "/choices/0/finish_reason");
    assert_eq!(finish, "tool_calls");
}

#[test]
fn chat_answers_whole_when_no_stream_was_asked_for() {
    let body = json_body(&post(&full_server(), "/v1/chat/completions", &chat(false)));
    let message = &body["choices"][0]["message"];
    assert_eq!(message["content"], "héllo there");
    assert_eq!(message["tool_calls"][0]["function"]["name"], "write");
}

#[test]
fn gemini_streams_parts_and_counts_thoughts_apart() {
    let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
    let server = full_server();
    let events = events(&post(&server, path, &gemini()));
    let parts: Vec<&Value> =
        events.iter().map(|event| &event["candidates"][0]["content"]["parts"][0]).collect();
    let text = |thought: bool| {
        let wanted =
            parts.iter().filter(|part| part["thought"].as_bool() == thought.then_some(true));
        wanted.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    assert_eq!(text(true), "because of that");
    assert_eq!(text(false), "héllo there");
    let calls: Vec<&Value> = parts.iter().filter_map(|part| part.get("functionCall")).collect();
    assert_eq!(calls[0]["args"], json!({"file_path": "/w/a", "content": "it's"}));
    assert_eq!(calls[1]["args"], json!({"command": "ls", "is_background": false}));
    let last = events.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["candidatesTokenCount"], 5);
    assert_eq!(last["usageMetadata"]["thoughtsTokenCount"], 2);
    assert_eq!(server.requests()[0].model, "gemini-x");
}

#[test]
fn gemini_answers_whole_and_gives_a_classifier_json() {
    let server = full_server();
    let path = "/v1beta/models/gemini-x:generateContent";
    let body = json_body(&post(&server, path, &gemini()));
    assert_eq!(body["candidates"][0]["content"]["parts"][1]["text"], "héllo there");
    let classify = json!({"generationConfig": {"responseMimeType": "application/json"}});
    let body = json_body(&post(&server, path, &classify));
    let text = body["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(text).unwrap()["next_speaker"].is_string());
}

#[test]
fn a_usage_override_reaches_the_answer_and_the_log() {
    let usage = Usage { input: 1000, cached: 100, cache_write: 10, output: 50, reasoning: 0 };
    let turn = Turn { usage: Some(usage), ..Turn::text("x") };
    let server = Server::start(Scenario::of([turn])).unwrap();
    let events = events(&post(&server, "/v1/messages", &anthropic(true)));
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 890);
    assert_eq!(server.requests()[0].usage, Some(usage));
}
