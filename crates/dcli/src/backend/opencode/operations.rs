//! The operations that are used, as data: what each is sent, and what is read of its answer.
//!
//! The server's own description of itself (`GET /doc`) is held against it before anything is created.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// One operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// As the description writes it.
    pub path: &'static str,
    /// Keys of the object that it is sent.
    pub sends: &'static [&'static str],
    /// Keys of the answer, or of each of its elements, that are read.
    pub reads: &'static [&'static str],
}

impl Operation {
    const fn get(path: &'static str, reads: &'static [&'static str]) -> Self {
        Self { method: "GET", path, sends: &[], reads }
    }

    const fn post(
        path: &'static str,
        sends: &'static [&'static str],
        reads: &'static [&'static str],
    ) -> Self {
        Self { method: "POST", path, sends, reads }
    }

    /// What tells it from the others.
    pub(super) fn name(&self) -> (&'static str, &'static str) {
        (self.method, self.path)
    }

    /// The path with `id` in its one gap.
    pub(super) fn path_of(&self, id: &str) -> String {
        match (self.path.find('{'), self.path.find('}')) {
            (Some(from), Some(to)) => {
                format!("{}{id}{}", &self.path[..from], &self.path[to + 1..])
            }
            _ => self.path.to_owned(),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.method, self.path)
    }
}

pub(super) static HEALTH: Operation = Operation::get("/global/health", &["healthy", "version"]);
pub(super) static DOC: Operation = Operation::get("/doc", &[]);
pub(super) static PLACE: Operation = Operation::get("/path", &["directory"]);
pub(super) static PROJECT: Operation = Operation::get("/project/current", &["id"]);
pub(super) static CONFIG: Operation = Operation::get("/config", &[]);
pub(super) static USER_CONFIG: Operation = Operation::get("/global/config", &[]);
pub(super) static AGENTS: Operation = Operation::get("/agent", &["name", "permission"]);
pub(super) static PROVIDERS: Operation = Operation::get("/config/providers", &["providers"]);
pub(super) static EVENTS: Operation = Operation::get("/event", &[]);
pub(super) static STATUS: Operation = Operation::get("/session/status", &[]);
pub(super) static PERMISSIONS: Operation =
    Operation::get("/permission", &["id", "sessionID", "permission", "patterns"]);
pub(super) static QUESTIONS: Operation =
    Operation::get("/question", &["id", "sessionID", "questions"]);
pub(super) static SESSIONS: Operation =
    Operation::get("/session", &["id", "directory", "projectID", "title"]);
pub(super) static CHILDREN: Operation =
    Operation::get("/session/{sessionID}/children", &["id", "directory", "projectID"]);
pub(super) static MESSAGES: Operation =
    Operation::get("/session/{sessionID}/message", &["info", "parts"]);
pub(super) static CREATE: Operation =
    Operation::post("/session", &["title", "permission"], &["id", "directory", "projectID"]);
pub(super) static PROMPT: Operation = Operation::post(
    "/session/{sessionID}/prompt_async",
    &["messageID", "model", "variant", "parts"],
    &[],
);
pub(super) static ABORT: Operation = Operation::post("/session/{sessionID}/abort", &[], &[]);
pub(super) static ANSWER_PERMISSION: Operation =
    Operation::post("/permission/{requestID}/reply", &["reply", "message"], &[]);
pub(super) static ANSWER_QUESTION: Operation =
    Operation::post("/question/{requestID}/reply", &["answers"], &[]);
pub(super) static REJECT_QUESTION: Operation =
    Operation::post("/question/{requestID}/reject", &[], &[]);

/// All that are in the description.
static ALL: [&Operation; 19] = [
    &HEALTH,
    &PLACE,
    &PROJECT,
    &CONFIG,
    &USER_CONFIG,
    &AGENTS,
    &PROVIDERS,
    &EVENTS,
    &STATUS,
    &PERMISSIONS,
    &QUESTIONS,
    &SESSIONS,
    &CHILDREN,
    &MESSAGES,
    &CREATE,
    &PROMPT,
    &ABORT,
    &ANSWER_PERMISSION,
    &ANSWER_QUESTION,
];

/// What is proven of a server of this version whose description lacks nothing: all that is used.
pub(super) fn label(version: &str) -> String {
    let used = format!("{ALL:?} {REJECT_QUESTION:?}");
    let digest = Sha256::digest(used.as_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("opencode {version}, operations {digest}")
}

/// The first thing that is used and not described: what, and of which operation.
pub(super) fn missing(doc: &Value) -> Option<(String, String)> {
    ALL.iter().chain([&&REJECT_QUESTION]).find_map(|operation| {
        let what = missing_in(doc, operation)?;
        Some((what, operation.to_string()))
    })
}

fn missing_in(doc: &Value, operation: &Operation) -> Option<String> {
    let described = doc
        .get("paths")
        .and_then(|paths| paths.get(operation.path))
        .and_then(|path| path.get(operation.method.to_lowercase()));
    let Some(described) = described else { return Some("such operation".to_owned()) };
    if let Some(key) = unsent(doc, described, operation) {
        return Some(key);
    }
    let answer = described.pointer("/responses/200/content/application~1json/schema");
    let read = operation
        .reads
        .iter()
        .find(|key| answer.is_some_and(|schema| !has_property(doc, schema, key, 0)));
    read.map(|key| format!("field {key:?} of the answer"))
}

/// A key that is sent and not taken, or demanded and not sent.
fn unsent(doc: &Value, described: &Value, operation: &Operation) -> Option<String> {
    let schema = described.pointer("/requestBody/content/application~1json/schema");
    let Some(schema) = schema else {
        let key = operation.sends.first()?;
        return Some(format!("field {key:?} of the request"));
    };
    let lost = operation.sends.iter().find(|key| !has_property(doc, schema, key, 0));
    if let Some(key) = lost {
        return Some(format!("field {key:?} of the request"));
    }
    let required = resolved(doc, schema).get("required").and_then(Value::as_array)?;
    let mut required = required.iter().filter_map(Value::as_str);
    let unknown = required.find(|key| !operation.sends.contains(key))?;
    Some(format!("request without a field {unknown:?}"))
}

fn resolved<'d>(doc: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    target.and_then(|pointer| doc.pointer(pointer)).unwrap_or(schema)
}

/// Whether an object of this schema, or an element of its list, may hold `key`. What describes
/// neither properties nor elements says nothing against it.
fn has_property(doc: &Value, schema: &Value, key: &str, depth: u8) -> bool {
    let schema = resolved(doc, schema);
    if depth > 8 {
        return true;
    }
    let branches =
        ["anyOf", "oneOf", "allOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    if let Some(branches) = branches {
        return branches.iter().any(|branch| has_property(doc, branch, key, depth + 1));
    }
    if let Some(items) = schema.get("items") {
        return has_property(doc, items, key, depth + 1);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_none_or(|properties| properties.contains_key(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described() -> Value {
        let mut paths = json!({});
        for operation in ALL.iter().chain([&&REJECT_QUESTION]) {
            let object = |keys: &[&str]| {
                let keys = keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"})));
                json!({"type": "object", "properties": keys.collect::<serde_json::Map<_, _>>()})
            };
            let json_of =
                |schema: Value| json!({"content": {"application/json": {"schema": schema}}});
            let mut one = json!({"responses": {"200": json_of(object(operation.reads))}});
            if !operation.sends.is_empty() {
                one["requestBody"] = json_of(object(operation.sends));
            }
            paths[operation.path][operation.method.to_lowercase()] = one;
        }
        json!({"paths": paths})
    }

    #[test]
    fn a_description_that_has_all_of_it_lacks_nothing() {
        assert_eq!(missing(&described()), None);
    }

    #[test]
    fn what_is_missing_is_named_with_its_operation() {
        let mut doc = described();
        let removed = doc["paths"].as_object_mut().unwrap().remove("/question");
        assert!(removed.is_some());
        let (what, operation) = missing(&doc).unwrap();
        assert_eq!((&*what, &*operation), ("such operation", "GET /question"));
        let mut doc = described();
        let schema = "/paths/~1session~1{sessionID}~1prompt_async/post/requestBody/content/\
                      application~1json/schema";
        let prompt = doc.pointer_mut(schema).unwrap();
        prompt["properties"].as_object_mut().unwrap().remove("variant");
        let (what, operation) = missing(&doc).unwrap();
        assert!(what.contains("\"variant\"") && operation.contains("prompt_async"), "{what}");
        let mut doc = described();
        doc.pointer_mut(schema).unwrap()["required"] = json!(["parts", "token"]);
        assert!(missing(&doc).unwrap().0.contains("\"token\""));
    }

    #[test]
    fn a_field_behind_a_reference_and_in_a_list_is_found() {
        let doc = json!({"components": {"schemas": {"One": {"properties": {"id": {}}}}}});
        let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/One"}});
        assert!(has_property(&doc, &list, "id", 0));
        assert!(!has_property(&doc, &list, "name", 0));
        let looped = json!({"anyOf": [{"$ref": "#"}]});
        assert!(has_property(&looped, &looped, "x", 0));
    }

    #[test]
    fn an_id_fills_the_gap_of_a_path() {
        assert_eq!(ABORT.path_of("ses_1"), "/session/ses_1/abort");
        assert_eq!(STATUS.path_of(""), "/session/status");
    }
}
