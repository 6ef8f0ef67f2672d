//! What a request asks for, read from its path and body, whichever wire format it is in.

use serde_json::Value;

use super::http::Incoming;
use super::log::Auth;
use super::wire::Wire;

/// A tool that the client offered to the model.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) name: String,
    /// A free-form tool takes one string in place of an object.
    pub(super) free_form: bool,
    /// The JSON schema of its arguments; null where none was given.
    pub(super) schema: Value,
}

impl Offered {
    /// The schema of one argument, when the tool has it.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }
}

/// The parts of a request that decide its answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) wire: Wire,
    pub(super) model: String,
    pub(super) stream: bool,
    /// The client wants JSON back (a classifier, not a conversation).
    pub(super) wants_json: bool,
    pub(super) tools: Vec<Offered>,
}

impl Asked {
    /// Reads a request; `None` when its path belongs to no wire format.
    pub(super) fn read(incoming: &Incoming) -> Option<Self> {
        let wire = Wire::of_path(incoming.bare_path())?;
        let body: Value = serde_json::from_slice(&incoming.body).unwrap_or(Value::Null);
        let stream = match wire {
            Wire::Gemini => incoming.bare_path().ends_with(":streamGenerateContent"),
            _ => body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        };
        let mime = body.pointer("/generationConfig/responseMimeType");
        Some(Self {
            wire,
            model: model(wire, incoming.bare_path(), &body),
            stream,
            wants_json: mime.and_then(Value::as_str) == Some("application/json"),
            tools: offered(&body),
        })
    }
}

fn model(wire: Wire, path: &str, body: &Value) -> String {
    let in_path = || {
        let name = path.rsplit('/').next()?.split(':').next()?;
        Some(name.to_owned())
    };
    let in_body = || Some(body.get("model")?.as_str()?.to_owned());
    if wire == Wire::Gemini { in_path() } else { in_body() }.unwrap_or_default()
}

fn offered(body: &Value) -> Vec<Offered> {
    let tools = body.get("tools").and_then(Value::as_array);
    tools.into_iter().flatten().flat_map(group).collect()
}

/// One entry of `tools` is a single tool (Anthropic, Responses, chat), a namespace of several
/// (Responses), or a list of function declarations (Gemini).
fn group(entry: &Value) -> Vec<Offered> {
    if let Some(list) = entry.get("functionDeclarations").and_then(Value::as_array) {
        return list.iter().filter_map(|tool| single(tool, "")).collect();
    }
    if entry.get("type").and_then(Value::as_str) == Some("namespace") {
        let space = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        let inner = entry.get("tools").and_then(Value::as_array);
        let prefix = format!("{space}/");
        return inner.into_iter().flatten().filter_map(|tool| single(tool, &prefix)).collect();
    }
    single(entry.get("function").unwrap_or(entry), "").into_iter().collect()
}

fn single(tool: &Value, prefix: &str) -> Option<Offered> {
    let kind = tool.get("type").and_then(Value::as_str);
    let name = tool.get("name").and_then(Value::as_str).or(kind)?;
    let schema = ["input_schema", "parameters", "parametersJsonSchema"];
    let schema = schema.iter().find_map(|key| tool.get(*key)).cloned().unwrap_or(Value::Null);
    let free_form = kind == Some("custom") && tool.get("format").is_some();
    Some(Offered { name: format!("{prefix}{name}"), free_form, schema })
}

/// Which kind of credential came along; the credential itself is not kept.
pub(super) fn auth(incoming: &Incoming) -> Option<Auth> {
    [
        ("authorization", Auth::Bearer),
        ("x-api-key", Auth::ApiKey),
        ("x-goog-api-key", Auth::GoogleApiKey),
    ]
    .into_iter()
    .find_map(|(header, kind)| incoming.header(header).map(|_| kind))
}
