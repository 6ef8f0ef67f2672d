//! Generated streams in the shapes of the real CLIs: the same bytes for the same arguments.
//!
//! Only size and shape matter here; what the real CLIs print is held by the golden streams.

use std::io::{self, Write};

use serde_json::{Value, json};

const SESSION: &str = "811285aa-d86d-46cd-b23b-f98a38fd397b";
const CODE: &str =
    "    let path = root.join(\"src\").join(name); // a comment, tabs\tand \\ escapes\n";

/// Which CLI a stream looks like, and what fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Claude Code's stream-json: tool calls and their results, each result twice.
    Claude,
    /// Codex' items: a command with its output once.
    Codex,
    /// opencode's parts: a tool with its output twice.
    Opencode,
    /// The shortest events that carry a fact: opencode's text parts of one word.
    Short,
}

impl Shape {
    pub(super) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Short];

    /// The record that reads it.
    pub(super) fn record(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode | Self::Short => "opencode",
        }
    }

    /// Its name in the results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-like",
            Self::Codex => "codex-like",
            Self::Opencode => "opencode-like",
            Self::Short => "very short events",
        }
    }

    fn step(self, at: usize) -> Vec<Value> {
        match self {
            Self::Claude => claude(at),
            Self::Codex => codex(at),
            Self::Opencode => opencode(at),
            Self::Short => vec![short()],
        }
    }

    fn end(self) -> Value {
        match self {
            Self::Claude => json!({"type": "result", "subtype": "success", "is_error": false,
                "result": "done", "session_id": SESSION, "total_cost_usd": 0.5,
                "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0,
                          "cache_read_input_tokens": 0}}),
            Self::Codex => json!({"type": "turn.completed", "usage": {"input_tokens": 1,
                "cached_input_tokens": 0, "output_tokens": 1, "reasoning_output_tokens": 0}}),
            Self::Opencode | Self::Short => json!({"type": "step_finish", "sessionID": SESSION,
                "part": {"reason": "stop", "tokens": {"total": 2, "input": 1, "output": 1}}}),
        }
    }
}

/// Writes steps of `shape` until `bytes` are reached, then the record that ends a good run.
/// Answers with the number of records.
pub(super) fn write_bytes(out: &mut impl Write, shape: Shape, bytes: usize) -> io::Result<u64> {
    let (mut written, mut lines, mut at) = (0, 0, 0);
    while written < bytes {
        for record in shape.step(at) {
            written += write_line(out, &record)?;
            lines += 1;
        }
        at += 1;
    }
    write_line(out, &shape.end())?;
    Ok(lines + 1)
}

/// Writes exactly `events` records of the shortest kind, the last of which ends a good run.
pub(super) fn write_events(out: &mut impl Write, events: u64) -> io::Result<()> {
    for _ in 1..events {
        write_line(out, &short())?;
    }
    write_line(out, &Shape::Short.end()).map(drop)
}

/// Writes an answer in one line of at least `bytes`, and the record that ends a good run.
pub(super) fn write_long_line(out: &mut impl Write, bytes: usize) -> io::Result<()> {
    let text = CODE.repeat(bytes / CODE.len() + 1);
    write_line(out, &json!({"type": "text", "sessionID": SESSION, "part": {"text": text}}))?;
    write_line(out, &Shape::Short.end()).map(drop)
}

fn write_line(out: &mut impl Write, record: &Value) -> io::Result<usize> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(line.len())
}

/// What a tool prints: from one line to a hundred, some 2.5 KB on average.
fn output(at: usize) -> String {
    CODE.repeat([1, 8, 20, 60, 100, 4][at % 6])
}

fn claude(at: usize) -> Vec<Value> {
    let (call, message) = (format!("toolu_{at:012}"), format!("msg_{at:012}"));
    let usage = json!({"input_tokens": 11, "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5, "output_tokens": 1});
    let assistant = |content: Value| {
        json!({"type": "assistant", "message": {"id": message, "type": "message",
            "role": "assistant", "model": "claude-opus-4-8", "content": [content],
            "stop_reason": null, "stop_sequence": null, "usage": usage},
            "parent_tool_use_id": null, "session_id": SESSION, "uuid": SESSION})
    };
    let output = output(at);
    vec![
        assistant(json!({"type": "text", "text": CODE.repeat(3)})),
        assistant(json!({"type": "tool_use", "id": call, "name": "Bash",
            "input": {"command": "cargo test -p core", "description": "run the tests"}})),
        json!({"type": "user", "message": {"role": "user", "content": [{"tool_use_id": call,
            "type": "tool_result", "content": output, "is_error": false}]},
            "parent_tool_use_id": null, "session_id": SESSION, "uuid": SESSION,
            "timestamp": "2026-01-02T03:04:05.678Z", "tool_use_result": {"stdout": output,
            "stderr": "", "interrupted": false, "isImage": false}}),
    ]
}

fn codex(at: usize) -> Vec<Value> {
    let id = format!("item_{at}");
    let command = "/bin/bash -lc 'cargo test -p core'";
    let item = |text: &str, code: Option<i32>, status: &str| {
        json!({"id": id, "type": "command_execution", "command": command,
            "aggregated_output": text, "exit_code": code, "status": status})
    };
    vec![
        json!({"type": "item.completed", "item": {"id": id, "type": "agent_message",
            "text": CODE.repeat(3)}}),
        json!({"type": "item.started", "item": item("", None, "in_progress")}),
        json!({"type": "item.completed", "item": item(&output(at), Some(0), "completed")}),
    ]
}

fn opencode(at: usize) -> Vec<Value> {
    let (part, message) = (format!("prt_{at:022}"), format!("msg_{at:022}"));
    let event = |kind: &str, mut inner: Value| {
        inner["id"] = json!(part);
        inner["sessionID"] = json!(SESSION);
        inner["messageID"] = json!(message);
        json!({"type": kind, "timestamp": 1_796_047_033_349_u64, "sessionID": SESSION,
            "part": inner})
    };
    let output = output(at);
    let state = json!({"status": "completed", "input": {"command": "cargo test -p core",
        "description": "run the tests"}, "output": output, "metadata": {"output": output,
        "exit": 0, "truncated": false}, "title": "cargo test -p core",
        "time": {"start": 1, "end": 2}});
    let tokens = json!({"total": 26, "input": 14, "output": 5, "reasoning": 2,
        "cache": {"write": 0, "read": 5}});
    vec![
        event("step_start", json!({"type": "step-start"})),
        event("text", json!({"type": "text", "text": CODE.repeat(3), "time": {"start": 1}})),
        event("tool_use", json!({"type": "tool", "tool": "bash", "callID": part, "state": state})),
        event(
            "step_finish",
            json!({"type": "step-finish", "reason": "tool-calls", "tokens": tokens, "cost": 0}),
        ),
    ]
}

fn short() -> Value {
    json!({"type": "text", "sessionID": SESSION, "part": {"messageID": "msg_1", "text": "word"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_the_length_asked_for_and_ends_with_its_own_last_record() {
        for shape in Shape::ALL {
            let mut bytes = Vec::new();
            let lines = write_bytes(&mut bytes, shape, 100_000).unwrap();
            assert!(bytes.len() >= 100_000, "{shape:?}");
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text.lines().count() as u64, lines, "{shape:?}");
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(last, shape.end(), "{shape:?}");
        }
    }

    #[test]
    fn events_are_counted_with_the_one_that_ends_the_run() {
        let mut bytes = Vec::new();
        write_events(&mut bytes, 10).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 10);
    }
}
