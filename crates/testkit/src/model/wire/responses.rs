//! OpenAI Responses: output items added, filled and done, then the whole response once more.

use serde_json::{Value, json};

use crate::model::Usage;
use crate::model::answer::{Answer, Call, Frame, Frames, pieces};

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut out = Items { frames: Frames::default(), sequence: 0, done: Vec::new() };
    let start = response(answer, "in_progress", &[]);
    out.event("response.created", json!({"response": start}));
    out.event("response.in_progress", json!({"response": start}));
    if let Some(reasoning) = &answer.reasoning {
        out.reasoning(reasoning, answer.serial);
    }
    if let Some(text) = answer.text_to_send() {
        out.message(text, answer.serial);
    }
    out.frames.middle();
    for call in &answer.calls {
        out.call(call);
    }
    let mut end = response(answer, "completed", &out.done);
    end["usage"] = usage(answer.usage);
    out.event("response.completed", json!({"response": end}));
    out.frames.finish()
}

pub(super) fn plain(answer: &Answer) -> Value {
    let reasoning = answer.reasoning.iter().map(|text| reasoning_item(text, answer.serial));
    let message = answer.text_to_send().map(|text| message_item(text, answer.serial));
    let calls = answer.calls.iter().map(call_item);
    let items: Vec<Value> = reasoning.chain(message).chain(calls).collect();
    let mut body = response(answer, "completed", &items);
    body["usage"] = usage(answer.usage);
    body
}

fn response(answer: &Answer, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_scripted_{:06}", answer.serial),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": answer.model,
        "output": output,
    })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    })
}

fn reasoning_item(text: &str, serial: usize) -> Value {
    json!({
        "type": "reasoning",
        "id": format!("rs_scripted_{serial:06}"),
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": "c2NyaXB0ZWQ=",
    })
}

fn message_item(text: &str, serial: usize) -> Value {
    json!({
        "type": "message",
        "id": format!("msg_scripted_{serial:06}"),
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

/// A free-form tool is called with its text, any other with its arguments as a JSON string.
fn call_item(call: &Call) -> Value {
    let (kind, key, prefix) = if call.free_form {
        ("custom_tool_call", "input", "ctc")
    } else {
        ("function_call", "arguments", "fc")
    };
    let text = call.args.as_str().map_or_else(|| call.args.to_string(), ToOwned::to_owned);
    let mut item = json!({
        "type": kind,
        "id": format!("{prefix}_{}", call.id),
        "call_id": call.id,
        "name": call.name,
        "status": "completed",
    });
    item[key] = json!(text);
    item
}

struct Items {
    frames: Frames,
    sequence: usize,
    done: Vec<Value>,
}

impl Items {
    fn reasoning(&mut self, reasoning: &str, serial: usize) {
        let done = reasoning_item(reasoning, serial);
        let empty = json!({"type": "reasoning", "id": done["id"], "summary": []});
        self.added(&empty);
        let place = |mut event: Value| {
            event["item_id"] = done["id"].clone();
            event["summary_index"] = json!(0);
            event
        };
        let part = json!({"type": "summary_text", "text": ""});
        self.inside("response.reasoning_summary_part.added", place(json!({"part": part})));
        for piece in pieces(reasoning) {
            self.inside("response.reasoning_summary_text.delta", place(json!({"delta": piece})));
        }
        self.finished(done);
    }

    fn message(&mut self, text: &str, serial: usize) {
        let done = message_item(text, serial);
        let mut empty = done.clone();
        empty["status"] = json!("in_progress");
        empty["content"] = json!([]);
        self.added(&empty);
        let place = |mut event: Value| {
            event["item_id"] = done["id"].clone();
            event["content_index"] = json!(0);
            event
        };
        let part = json!({"type": "output_text", "text": "", "annotations": []});
        self.inside("response.content_part.added", place(json!({"part": part})));
        for piece in pieces(text) {
            self.inside("response.output_text.delta", place(json!({"delta": piece})));
            self.frames.middle();
        }
        self.finished(done);
    }

    fn call(&mut self, call: &Call) {
        let item = call_item(call);
        self.added(&item);
        self.finished(item);
    }

    fn added(&mut self, item: &Value) {
        self.inside("response.output_item.added", json!({"item": item}));
    }

    fn finished(&mut self, item: Value) {
        self.inside("response.output_item.done", json!({"item": item}));
        self.done.push(item);
    }

    /// An event about the output item that is being written.
    fn inside(&mut self, kind: &str, mut event: Value) {
        event["output_index"] = json!(self.done.len());
        self.event(kind, event);
    }

    fn event(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.frames.named(kind, &event);
    }
}
