//! What the server says of itself: the operations that dcli may use, as a reduced OpenAPI document.

use serde_json::{Map, Value, json};

/// Method, path, keys of the request, keys of the answer or of each of its elements.
type Operation = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const SESSION: &[&str] =
    &["id", "slug", "projectID", "directory", "parentID", "title", "version", "time", "permission"];

pub(super) const OPERATIONS: [Operation; 22] = [
    ("GET", "/global/health", &[], &["healthy", "version"]),
    ("GET", "/global/config", &[], &[]),
    ("GET", "/path", &[], &["home", "state", "config", "worktree", "directory"]),
    ("GET", "/project/current", &[], &["id", "worktree", "time", "sandboxes"]),
    ("GET", "/config", &[], &[]),
    ("GET", "/config/providers", &[], &["providers", "default"]),
    ("GET", "/agent", &[], &["name", "mode", "permission", "options"]),
    ("GET", "/event", &[], &[]),
    ("GET", "/doc", &[], &[]),
    ("GET", "/session", &[], SESSION),
    (
        "POST",
        "/session",
        &["title", "permission", "parentID", "agent", "model", "metadata"],
        SESSION,
    ),
    ("GET", "/session/status", &[], &[]),
    ("GET", "/session/{sessionID}", &[], SESSION),
    ("PATCH", "/session/{sessionID}", &["title", "permission"], SESSION),
    ("GET", "/session/{sessionID}/children", &[], SESSION),
    ("GET", "/session/{sessionID}/message", &[], &["info", "parts"]),
    ("POST", "/session/{sessionID}/abort", &[], &[]),
    (
        "POST",
        "/session/{sessionID}/prompt_async",
        &["messageID", "model", "agent", "system", "variant", "tools", "format", "parts"],
        &[],
    ),
    (
        "GET",
        "/permission",
        &[],
        &["id", "sessionID", "permission", "patterns", "metadata", "always", "tool"],
    ),
    ("POST", "/permission/{requestID}/reply", &["reply", "message"], &[]),
    ("GET", "/question", &[], &["id", "sessionID", "questions", "tool"]),
    ("POST", "/question/{requestID}/reply", &["answers"], &[]),
];

/// An operation without request or answer of its own.
pub(super) const REJECT: Operation = ("POST", "/question/{requestID}/reject", &[], &[]);

/// The operation that is called by this, as `GET /path`, and what fills its gap.
pub(super) fn operation(method: &str, path: &str) -> Option<(String, String)> {
    let fit = |pattern: &str| -> Option<String> {
        let (mut id, mut parts) = (String::new(), path.split('/'));
        for expected in pattern.split('/') {
            let part = parts.next()?;
            match expected.starts_with('{') {
                true => part.clone_into(&mut id),
                false if part == expected => {}
                false => return None,
            }
        }
        parts.next().is_none().then_some(id)
    };
    // A path that is written in full comes before one with a gap.
    let mut all: Vec<_> =
        OPERATIONS.iter().chain([&REJECT]).filter(|one| one.0 == method).collect();
    all.sort_by_key(|one| one.1.contains('{'));
    all.iter().find_map(|one| Some((format!("{method} {}", one.1), fit(one.1)?)))
}

/// `GET /doc`, without what `lacks` names.
pub(super) fn document(lacks: &[String]) -> Value {
    let mut paths = Map::new();
    for (method, path, sends, reads) in OPERATIONS.iter().chain([&REJECT]) {
        if lacks.contains(&format!("{method} {path}")) {
            continue;
        }
        let mut one = json!({"responses": {"200": content(reads)}});
        if !sends.is_empty()
            && let Some(one) = one.as_object_mut()
        {
            one.insert("requestBody".to_owned(), content(sends));
        }
        let entry = paths.entry(*path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(method.to_lowercase(), one);
        }
    }
    json!({"openapi": "3.1.0", "info": {"title": "opencode", "version": "1.0.0"}, "paths": paths})
}

fn content(keys: &[&str]) -> Value {
    let schema = match keys {
        [] => json!({}),
        keys => {
            let keys = keys.iter().map(|key| ((*key).to_owned(), json!({})));
            json!({"type": "object", "properties": keys.collect::<Map<_, _>>()})
        }
    };
    json!({"content": {"application/json": {"schema": schema}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_operation_that_is_written_in_full_before_one_with_a_gap() {
        let named = |method, path| operation(method, path).unwrap_or_default();
        assert_eq!(named("GET", "/session/status").0, "GET /session/status");
        let (route, id) = named("POST", "/session/ses_1/abort");
        assert_eq!((&*route, &*id), ("POST /session/{sessionID}/abort", "ses_1"));
        assert!(operation("GET", "/session/ses_1/abort/x").is_none());
        assert!(operation("GET", "/permission/per_1/reply").is_none());
    }

    #[test]
    fn what_a_script_lacks_is_not_described() {
        let whole = document(&[]);
        assert!(whole.pointer("/paths/~1question/get").is_some());
        let lacking = document(&["GET /question".to_owned()]);
        assert!(lacking.pointer("/paths/~1question/get").is_none());
    }
}
