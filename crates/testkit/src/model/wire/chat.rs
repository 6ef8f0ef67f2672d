//! OpenAI chat completions: deltas of one choice, a last chunk with usage, then `[DONE]`.

use serde_json::{Value, json};

use crate::model::Usage;
use crate::model::answer::{Answer, Call, Frame, Frames, pieces};

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut frames = Frames::default();
    let delta = |delta: Value| choice(answer, &delta, &Value::Null);
    frames.data(delta(json!({"role": "assistant", "content": ""})));
    for piece in answer.reasoning.iter().flat_map(|reasoning| pieces(reasoning)) {
        frames.data(delta(json!({"reasoning_content": piece})));
    }
    for piece in answer.text_to_send().into_iter().flat_map(pieces) {
        frames.data(delta(json!({"content": piece})));
        frames.middle();
    }
    frames.middle();
    for (index, call) in answer.calls.iter().enumerate() {
        let mut call = call_value(call);
        call["index"] = json!(index);
        frames.data(delta(json!({"tool_calls": [call]})));
    }
    frames.data(choice(answer, &json!({}), &json!(finish_reason(answer))));
    let mut last = envelope(answer, "chat.completion.chunk", &json!([]));
    last["usage"] = usage(answer.usage);
    frames.data(last);
    frames.data("[DONE]");
    frames.finish()
}

pub(super) fn plain(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text_to_send()});
    if let Some(reasoning) = &answer.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.iter().map(call_value).collect();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(answer)});
    let mut body = envelope(answer, "chat.completion", &json!([choice]));
    body["usage"] = usage(answer.usage);
    body
}

fn choice(answer: &Answer, delta: &Value, finish_reason: &Value) -> Value {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    envelope(answer, "chat.completion.chunk", &choices)
}

fn envelope(answer: &Answer, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-scripted-{:06}", answer.serial),
        "object": object,
        "created": 1,
        "model": answer.model,
        "choices": choices,
    })
}

fn call_value(call: &Call) -> Value {
    let arguments = call.args.to_string();
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}
