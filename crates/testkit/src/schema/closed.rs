//! A schema that also refuses keys which it does not name, so that a test notices a key without one.

use serde_json::{Map, Value};

/// Keywords whose schemas speak about the same value as the schema around them.
const IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// `schema` with every object closed that does not say itself what else it may hold.
#[must_use]
pub fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(schema) => Value::Object(close(schema, false)),
        other => other.clone(),
    }
}

/// A branch of an object that has properties of its own sees only a part of them: it stays open, and
/// the object around it is closed over all of them.
fn close(schema: &Map<String, Value>, is_part: bool) -> Map<String, Value> {
    let has_properties = schema.contains_key("properties");
    let is_object = has_properties || schema.get("type").is_some_and(names_object);
    let says_itself = schema.contains_key("additionalProperties");
    let mut closed: Map<String, Value> = schema
        .iter()
        .map(|(key, value)| {
            let in_part = IN_PLACE.contains(&key.as_str()) && (has_properties || is_part);
            (key.clone(), below(key, value, in_part))
        })
        .collect();
    if is_object && !says_itself && !is_part {
        closed.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
    closed
}

fn names_object(kind: &Value) -> bool {
    let is_object = |kind: &Value| kind == "object";
    is_object(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_object))
}

fn below(key: &str, value: &Value, is_part: bool) -> Value {
    let schema = |value: &Value| match value {
        Value::Object(schema) => Value::Object(close(schema, is_part)),
        other => other.clone(),
    };
    match (key, value) {
        ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
            named.iter().map(|(name, value)| (name.clone(), schema(value))).collect()
        }
        ("items" | "additionalProperties" | "not", value) => schema(value),
        (key, Value::Array(list)) if IN_PLACE.contains(&key) || key == "prefixItems" => {
            list.iter().map(schema).collect()
        }
        (_, value) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_closed_but_not_the_branches_that_share_their_keys() {
        let schema = json!({"properties": {"a": {"type": "object"}}, "oneOf": [
            {"properties": {"b": {"properties": {}}}}]});
        let wanted = json!({"properties": {"a": {"type": "object", "unevaluatedProperties": false}},
            "oneOf": [{"properties": {"b": {"properties": {}, "unevaluatedProperties": false}}}],
            "unevaluatedProperties": false});
        assert_eq!(closed(&schema), wanted);
    }

    #[test]
    fn a_map_stays_open_and_a_choice_of_objects_is_closed_one_by_one() {
        let map = json!({"type": ["object", "null"], "additionalProperties": true});
        assert_eq!(closed(&map), map);
        let choice = json!({"anyOf": [{"type": "object"}, {"$ref": "#/$defs/X"}],
            "$defs": {"X": {"properties": {}}}});
        assert_eq!(
            closed(&choice),
            json!({"anyOf": [{"type": "object", "unevaluatedProperties": false},
                             {"$ref": "#/$defs/X"}],
                   "$defs": {"X": {"properties": {}, "unevaluatedProperties": false}}})
        );
    }
}
