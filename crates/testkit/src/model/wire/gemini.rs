//! Gemini generateContent: whole candidates whose parts add up; the last one ends with a reason.

use serde_json::{Value, json};

use crate::model::Usage;
use crate::model::answer::{Answer, Call, Frame, Frames, pieces};

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut frames = Frames::default();
    for piece in answer.reasoning.iter().flat_map(|reasoning| pieces(reasoning)) {
        frames.data(candidate(answer, &json!([thought(piece)])));
    }
    for piece in answer.text_to_send().into_iter().flat_map(pieces) {
        frames.data(candidate(answer, &json!([{"text": piece}])));
        frames.middle();
    }
    frames.middle();
    for call in &answer.calls {
        frames.data(candidate(answer, &json!([call_part(call)])));
    }
    frames.data(finished(answer, &json!([{"text": ""}])));
    frames.finish()
}

pub(super) fn plain(answer: &Answer) -> Value {
    let thoughts = answer.reasoning.iter().map(|reasoning| thought(reasoning));
    let text = answer.text_to_send().map(|text| json!({"text": text}));
    let calls = answer.calls.iter().map(call_part);
    let parts: Vec<Value> = thoughts.chain(text).chain(calls).collect();
    finished(answer, &json!(parts))
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn call_part(call: &Call) -> Value {
    json!({"functionCall": {"id": call.id, "name": call.name, "args": call.args}})
}

fn candidate(answer: &Answer, parts: &Value) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": answer.model,
        "responseId": format!("scripted-{:06}", answer.serial),
    })
}

fn finished(answer: &Answer, parts: &Value) -> Value {
    let mut body = candidate(answer, parts);
    body["candidates"][0]["finishReason"] = json!("STOP");
    body["usageMetadata"] = usage(answer.usage);
    body
}

/// Here the candidates' figure leaves out the thoughts.
fn usage(usage: Usage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    })
}
