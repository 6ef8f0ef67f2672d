//! What the server answers, read tolerantly: a field that is not used may be anything, one that is
//! used and is missing or has another type is an error that names it.
//!
//! Shapes as measured with opencode 1.18.33.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

/// A field that is not as known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at} is {found}, and should be {expected}")]
pub(super) struct Misshapen {
    at: String,
    found: &'static str,
    expected: &'static str,
}

type Read<T> = Result<T, Misshapen>;

/// A value, and where it stands.
#[derive(Clone)]
struct Node<'v> {
    value: &'v Value,
    at: String,
}

impl<'v> Node<'v> {
    fn root(value: &'v Value) -> Self {
        Self { value, at: "it".to_owned() }
    }

    fn field(&self, name: &str) -> Self {
        let at = if self.at == "it" { name.to_owned() } else { format!("{}.{name}", self.at) };
        Self { value: self.value.get(name).unwrap_or(&Value::Null), at }
    }

    fn or<T>(&self, found: Option<T>, expected: &'static str) -> Read<T> {
        let name = match self.value {
            Value::Null => "missing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        found.ok_or_else(|| Misshapen { at: self.at.clone(), found: name, expected })
    }

    fn text(&self) -> Read<String> {
        self.or(self.value.as_str().map(str::to_owned), "a text")
    }

    fn flag(&self) -> Read<bool> {
        self.or(self.value.as_bool(), "true or false")
    }

    /// Absent is `None`; there and of another type is an error.
    fn if_any<T>(&self, read: impl FnOnce(&Self) -> Read<T>) -> Read<Option<T>> {
        if self.value.is_null() { Ok(None) } else { read(self).map(Some) }
    }

    fn list(&self) -> Read<Vec<Self>> {
        let list = self.or(self.value.as_array(), "a list")?;
        let nodes = list.iter().enumerate();
        Ok(nodes.map(|(at, value)| Node { value, at: format!("{}[{at}]", self.at) }).collect())
    }

    fn object(&self) -> Read<Vec<(String, Self)>> {
        let object = self.or(self.value.as_object(), "an object")?;
        Ok(object.iter().map(|(name, _)| (name.clone(), self.field(name))).collect())
    }

    fn texts(&self) -> Read<Vec<String>> {
        self.list()?.iter().map(Self::text).collect()
    }
}

/// `GET /global/health`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Health {
    pub healthy: bool,
    pub version: String,
}

pub(super) fn health(value: &Value) -> Read<Health> {
    let node = Node::root(value);
    Ok(Health { healthy: node.field("healthy").flag()?, version: node.field("version").text()? })
}

/// `GET /path`: the directory in which the server works.
pub(super) fn place(value: &Value) -> Read<String> {
    Node::root(value).field("directory").text()
}

/// `GET /project/current`: its id.
pub(super) fn project(value: &Value) -> Read<String> {
    Node::root(value).field("id").text()
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionInfo {
    pub id: String,
    pub directory: String,
    pub project: String,
    pub title: Option<String>,
}

pub(super) fn session(value: &Value) -> Read<SessionInfo> {
    read_session(&Node::root(value))
}

/// `GET /session` and `GET /session/{id}/children`.
pub(super) fn sessions(value: &Value) -> Read<Vec<SessionInfo>> {
    Node::root(value).list()?.iter().map(read_session).collect()
}

fn read_session(node: &Node<'_>) -> Read<SessionInfo> {
    Ok(SessionInfo {
        id: node.field("id").text()?,
        directory: node.field("directory").text()?,
        project: node.field("projectID").text()?,
        title: node.field("title").if_any(Node::text)?,
    })
}

/// What a session that is not idle does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Status {
    /// It works, or does something that this dcli does not know.
    Busy,
    /// It waits until it asks its provider again.
    Retry {
        attempt: u64,
        message: String,
        /// As it came.
        next: Value,
    },
}

/// `GET /session/status`: the sessions that are not idle.
pub(super) fn statuses(value: &Value) -> Read<BTreeMap<String, Status>> {
    let mut all = BTreeMap::new();
    for (id, node) in Node::root(value).object()? {
        match node.field("type").text()?.as_str() {
            "idle" => {}
            "retry" => {
                let attempt = node.field("attempt");
                let attempt = attempt.or(attempt.value.as_u64(), "a number")?;
                let message = node.field("message").text()?;
                let next = node.field("next").value.clone();
                all.insert(id, Status::Retry { attempt, message, next });
            }
            _ => {
                all.insert(id, Status::Busy);
            }
        }
    }
    Ok(all)
}

/// A call of a tool, by message and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub message: String,
    pub call: String,
}

fn call(node: &Node<'_>) -> Read<Option<Call>> {
    node.field("tool").if_any(|tool| {
        Ok(Call { message: tool.field("messageID").text()?, call: tool.field("callID").text()? })
    })
}

/// A permission that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Permission {
    pub id: String,
    pub session: String,
    pub permission: String,
    pub patterns: Vec<String>,
    pub always: Vec<String>,
    pub metadata: Value,
    pub call: Option<Call>,
}

/// `GET /permission`.
pub(super) fn permissions(value: &Value) -> Read<Vec<Permission>> {
    Node::root(value).list()?.iter().map(read_permission).collect()
}

pub(super) fn permission(value: &Value) -> Read<Permission> {
    read_permission(&Node::root(value))
}

fn read_permission(node: &Node<'_>) -> Read<Permission> {
    Ok(Permission {
        id: node.field("id").text()?,
        session: node.field("sessionID").text()?,
        permission: node.field("permission").text()?,
        patterns: node.field("patterns").texts()?,
        always: node.field("always").if_any(Node::texts)?.unwrap_or_default(),
        metadata: node.field("metadata").value.clone(),
        call: call(node)?,
    })
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    pub id: String,
    pub session: String,
    pub questions: Vec<Value>,
    pub call: Option<Call>,
}

/// `GET /question`.
pub(super) fn questions(value: &Value) -> Read<Vec<Question>> {
    Node::root(value).list()?.iter().map(read_question).collect()
}

pub(super) fn question(value: &Value) -> Read<Question> {
    read_question(&Node::root(value))
}

fn read_question(node: &Node<'_>) -> Read<Question> {
    let questions = node.field("questions").list()?;
    for one in &questions {
        one.field("question").text()?;
    }
    Ok(Question {
        id: node.field("id").text()?,
        session: node.field("sessionID").text()?,
        questions: questions.into_iter().map(|one| one.value.clone()).collect(),
        call: call(node)?,
    })
}

/// A message of a session, with its parts as they came.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub id: String,
    pub is_assistant: bool,
    /// A summary of the session for its own use, and no answer.
    pub is_summary: bool,
    pub is_completed: bool,
    pub error: Option<Value>,
    pub finish: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    pub parts: Vec<Part>,
}

impl Message {
    /// Whether a tool that it called has not ended.
    pub(super) fn has_open_tool(&self) -> bool {
        self.parts.iter().filter(|part| part.kind == "tool").any(|part| {
            let status = part.value.pointer("/state/status").and_then(Value::as_str);
            matches!(status, Some("pending" | "running"))
        })
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub id: String,
    pub kind: String,
    pub value: Value,
}

/// `GET /session/{id}/message`: the oldest first.
pub(super) fn messages(value: &Value) -> Read<Vec<Message>> {
    Node::root(value).list()?.iter().map(read_message).collect()
}

fn read_message(node: &Node<'_>) -> Read<Message> {
    let info = node.field("info");
    let role = info.field("role").text()?;
    let error = info.field("error").value;
    Ok(Message {
        id: info.field("id").text()?,
        is_assistant: role == "assistant",
        is_summary: info.field("summary").value == &Value::Bool(true),
        is_completed: !info.field("time").field("completed").value.is_null(),
        error: (!error.is_null()).then(|| error.clone()),
        finish: info.field("finish").if_any(Node::text)?,
        model: read_model(&info)?,
        parts: node.field("parts").list()?.iter().map(read_part).collect::<Read<_>>()?,
    })
}

/// A user's message names it in an object, an assistant's in itself.
fn read_model(info: &Node<'_>) -> Read<Option<String>> {
    let model = info.field("model");
    let from = if model.value.is_object() { &model } else { info };
    let provider = from.field("providerID").if_any(Node::text)?;
    let name = from.field("modelID").if_any(Node::text)?;
    Ok(provider.zip(name).map(|(provider, name)| format!("{provider}/{name}")))
}

fn read_part(node: &Node<'_>) -> Read<Part> {
    let kind = node.field("type").text()?;
    match kind.as_str() {
        "text" => drop(node.field("text").text()?),
        "tool" => {
            node.field("tool").text()?;
            node.field("callID").text()?;
            node.field("state").field("status").text()?;
        }
        "step-finish" => {
            node.field("reason").text()?;
        }
        _ => {}
    }
    Ok(Part { id: node.field("id").text()?, kind, value: node.value.clone() })
}

/// Of `GET /config/providers`: the models, each with its variants. What else is there, keys among it,
/// is not read.
pub(super) fn models(value: &Value) -> Read<BTreeMap<String, Vec<String>>> {
    let mut all = BTreeMap::new();
    for provider in Node::root(value).field("providers").list()? {
        let id = provider.field("id").text()?;
        for (name, model) in provider.field("models").object()? {
            let variants = model.field("variants").if_any(Node::object)?.unwrap_or_default();
            let variants = variants.into_iter().map(|(name, _)| name).collect();
            all.insert(format!("{id}/{name}"), variants);
        }
    }
    Ok(all)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
