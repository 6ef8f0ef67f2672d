//! Values that differ from a good one in a single place: a schema worth its name refuses them.

use serde_json::{Value, json};

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A value became one of another type.
    Retyped,
    /// A key was taken out.
    Removed,
    /// A key was put in that nobody knows.
    Added,
}

/// One changed value.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    /// Where, as a JSON Pointer (RFC 6901); for an added key, the object.
    pub at: String,
    /// What was changed there.
    pub change: Change,
    /// The whole value, changed.
    pub value: Value,
}

/// Every value that differs from `value` in one place. Of a list, each element is changed.
#[must_use]
pub fn mutations(value: &Value) -> Vec<Mutation> {
    let mut places = Vec::new();
    walk(value, String::new(), &mut places);
    places.iter().flat_map(|at| at_place(value, at)).collect()
}

fn walk(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                walk(inner, format!("{at}/{key}"), places);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                walk(inner, format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

fn at_place(whole: &Value, at: &str) -> Vec<Mutation> {
    let changed = |change, edit: &dyn Fn(&mut Value)| {
        let mut value = whole.clone();
        value.pointer_mut(at).map(edit)?;
        Some(Mutation { at: at.to_owned(), change, value })
    };
    let retyped = changed(Change::Retyped, &|value| *value = of_another_type(value));
    let added = changed(Change::Added, &|value| {
        if let Value::Object(fields) = value {
            fields.insert("mutated".to_owned(), true.into());
        }
    });
    let added = added.filter(|_| whole.pointer(at).is_some_and(Value::is_object));
    [retyped, added, removed(whole, at)].into_iter().flatten().collect()
}

fn of_another_type(value: &Value) -> Value {
    match value {
        Value::Object(_) => json!("mutated"),
        // Where nothing is there, a text or a map may be.
        Value::Null => json!([{"mutated": true}]),
        _ => json!({"mutated": true}),
    }
}

fn removed(whole: &Value, at: &str) -> Option<Mutation> {
    let (parent, key) = at.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    let mut value = whole.clone();
    value.pointer_mut(parent)?.as_object_mut()?.remove(&key)?;
    Some(Mutation { at: at.to_owned(), change: Change::Removed, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_retyped_each_key_removed_and_each_object_given_one_more() {
        let found = mutations(&json!({"a/b": [1], "c": null}));
        let told: Vec<(String, Change, String)> = found
            .into_iter()
            .map(|mutation| (mutation.at, mutation.change, mutation.value.to_string()))
            .collect();
        let told: Vec<(&str, Change, &str)> =
            told.iter().map(|(at, change, value)| (&**at, *change, &**value)).collect();
        assert_eq!(
            told,
            [
                ("/a~1b/0", Change::Retyped, r#"{"a/b":[{"mutated":true}],"c":null}"#),
                ("/a~1b", Change::Retyped, r#"{"a/b":{"mutated":true},"c":null}"#),
                ("/a~1b", Change::Removed, r#"{"c":null}"#),
                ("/c", Change::Retyped, r#"{"a/b":[1],"c":[{"mutated":true}]}"#),
                ("/c", Change::Removed, r#"{"a/b":[1]}"#),
                ("", Change::Retyped, r#""mutated""#),
                ("", Change::Added, r#"{"a/b":[1],"c":null,"mutated":true}"#),
            ]
        );
    }
}
