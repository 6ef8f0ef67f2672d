//! Anthropic Messages: content blocks opened, filled and closed by index.

use serde_json::{Value, json};

use crate::model::Usage;
use crate::model::answer::{Answer, Call, Frame, Frames, pieces};

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut out = Blocks { frames: Frames::default(), index: 0 };
    let mut message = message(answer, &json!([]), &Value::Null);
    message["usage"]["output_tokens"] = json!(1);
    out.frames.named("message_start", &json!({"type": "message_start", "message": message}));
    if let Some(reasoning) = &answer.reasoning {
        out.reasoning(reasoning);
    }
    if let Some(text) = answer.text_to_send() {
        out.text(text);
    }
    out.frames.middle();
    for call in &answer.calls {
        out.call(call);
    }
    out.frames.named(
        "message_delta",
        &json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
            "usage": {"output_tokens": answer.usage.output},
        }),
    );
    out.frames.named("message_stop", &json!({"type": "message_stop"}));
    out.frames.finish()
}

pub(super) fn plain(answer: &Answer) -> Value {
    let thinking = answer.reasoning.iter().map(
        |reasoning| json!({"type": "thinking", "thinking": reasoning, "signature": SIGNATURE}),
    );
    let text = answer.text_to_send().map(|text| json!({"type": "text", "text": text}));
    let calls = answer.calls.iter().map(
        |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args}),
    );
    let content: Vec<Value> = thinking.chain(text).chain(calls).collect();
    message(answer, &json!(content), &json!(stop_reason(answer)))
}

/// A signature no client can check; base64 of "scripted".
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn message(answer: &Answer, content: &Value, stop_reason: &Value) -> Value {
    json!({
        "id": format!("msg_scripted_{:06}", answer.serial),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(answer.usage),
    })
}

/// Here the input figure leaves out what was cached or is being cached.
fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached + usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    })
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

struct Blocks {
    frames: Frames,
    index: usize,
}

impl Blocks {
    fn reasoning(&mut self, reasoning: &str) {
        self.open(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        for piece in pieces(reasoning) {
            self.delta(&json!({"type": "thinking_delta", "thinking": piece}));
        }
        self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
        self.close();
    }

    fn text(&mut self, text: &str) {
        self.open(&json!({"type": "text", "text": ""}));
        for piece in pieces(text) {
            self.delta(&json!({"type": "text_delta", "text": piece}));
            self.frames.middle();
        }
        self.close();
    }

    fn call(&mut self, call: &Call) {
        self.open(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}));
        let args = call.args.to_string();
        for piece in pieces(&args) {
            self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.close();
    }

    fn open(&mut self, block: &Value) {
        let kind = "content_block_start";
        let data = json!({"type": kind, "index": self.index, "content_block": block});
        self.frames.named(kind, &data);
    }

    fn delta(&mut self, delta: &Value) {
        let kind = "content_block_delta";
        self.frames.named(kind, &json!({"type": kind, "index": self.index, "delta": delta}));
    }

    fn close(&mut self) {
        let kind = "content_block_stop";
        self.frames.named(kind, &json!({"type": kind, "index": self.index}));
        self.index += 1;
    }
}
