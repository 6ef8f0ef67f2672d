//! Records into facts, as a record's rules say.

use std::borrow::Cow;

use serde_json::Value;

use super::rule::{FactKind, FactRule, OneOrMany};
use crate::fact::{Activity, Fact, InteractionOutcome};

/// The longest summary of a tool call, in characters.
const SUMMARY_CHARS: usize = 200;

/// What a backend asks on its standard output, or asks no more. It is no fact: an answer makes it one.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// It waits for an answer.
    Asked {
        /// The backend's own name for it.
        key: String,
        /// All that it says.
        detail: Value,
    },
    /// It does not wait any more.
    Withdrawn {
        /// The same name.
        key: String,
    },
}

/// What `rule` finds asked in `record`.
pub(super) fn request(rule: &FactRule, record: &Value) -> Option<Request> {
    let view = View { rule, record, element: record };
    if !rule.fact.is_request() || !rule.when.matches(record) {
        return None;
    }
    let key = view.text("request_id")?;
    Some(match rule.fact {
        FactKind::Asked => Request::Asked { key, detail: view.value("detail")?.clone() },
        _ => Request::Withdrawn { key },
    })
}

/// Calls `each` for every fact that `rule` makes of `record`.
pub(super) fn make(rule: &FactRule, record: &Value, each: &mut impl FnMut(FactKind, Fact)) {
    if !rule.when.matches(record) {
        return;
    }
    let Some(path) = &rule.each else { return make_one(rule, record, record, each) };
    if let Some(Value::Array(elements)) = path.get(record) {
        for element in elements {
            make_one(rule, record, element, each);
        }
    }
}

fn make_one(
    rule: &FactRule,
    record: &Value,
    element: &Value,
    each: &mut impl FnMut(FactKind, Fact),
) {
    if !rule.element.matches(element) {
        return;
    }
    let view = View { rule, record, element };
    if let Some(prefix) = &rule.prefix
        && !view.words("summary").is_some_and(|text| text.starts_with(prefix))
    {
        return;
    }
    if let Some(fact) = view.fact() {
        each(rule.fact, fact);
    }
}

struct View<'v> {
    rule: &'v FactRule,
    record: &'v Value,
    element: &'v Value,
}

impl View<'_> {
    fn fact(&self) -> Option<Fact> {
        Some(match self.rule.fact {
            FactKind::Started => Fact::Started {
                backend_pid: None,
                backend_session_id: Some(self.text("session_id")?),
            },
            FactKind::AssistantText => Fact::AssistantText {
                message_id: self.text("message_id"),
                text: self.text("text")?,
            },
            FactKind::Reasoning => Fact::Reasoning { message_id: self.text("message_id") },
            FactKind::ToolInvoked => Fact::ToolInvoked {
                call_id: self.text("call_id"),
                tool: self.text("tool").or_else(|| self.rule.tool_name.clone()),
                summary: self.summary(),
            },
            FactKind::ToolResult => Fact::ToolResult {
                call_id: self.text("call_id"),
                ok: !self.rule.failed.as_ref().is_some_and(|failed| failed.matches(self.element)),
                summary: self.summary(),
            },
            FactKind::TaskStarted => Fact::TaskStarted { task_id: self.text("task_id")? },
            FactKind::TaskSettled => {
                Fact::TaskSettled { task_id: self.text("task_id")?, outcome: self.text("outcome") }
            }
            FactKind::Retrying => Fact::BackendStatus {
                status: Activity::Retrying,
                attempt: self.value("attempt").and_then(Value::as_u64),
                next_at: self.value("next_at").cloned(),
            },
            FactKind::PermissionDenied => Fact::InteractionResolved {
                interaction_id: self.text("call_id").unwrap_or_default(),
                outcome: InteractionOutcome::RejectedUnattended,
                decision: Some("deny".to_owned()),
                responder: Some("backend".to_owned()),
            },
            FactKind::Asked | FactKind::Withdrawn => return None,
        })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let fields = self.rule.fields.get(name).map(OneOrMany::fields)?;
        fields
            .iter()
            .find_map(|field| field.get(self.record, self.element).filter(|value| !value.is_null()))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.words(name).map(Cow::into_owned)
    }

    fn words(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.value(name)? {
            Value::String(text) => Some(Cow::Borrowed(text)),
            other => Some(Cow::Owned(other.to_string())),
        }
    }

    fn summary(&self) -> Option<String> {
        let text = self.words("summary")?;
        let line = text.trim().lines().next().unwrap_or("").trim_end();
        let end = line.char_indices().nth(SUMMARY_CHARS).map_or(line.len(), |(at, _)| at);
        Some(line[..end].to_owned())
    }
}
