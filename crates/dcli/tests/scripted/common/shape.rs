//! JSON values that hold what a record's paths and matchers ask for.

use dcli_core::decode::Path;
use dcli_core::decode::path::Segment;
use dcli_core::executor::rule::{Expected, Matcher};
use serde_json::{Value, json};

/// Puts `leaf` at `path`, making objects and arrays on the way.
pub(crate) fn put(value: &mut Value, path: &Path, leaf: Value) {
    put_at(value, path.segments(), leaf);
}

fn put_at(value: &mut Value, segments: &[Segment], leaf: Value) {
    let Some((first, rest)) = segments.split_first() else {
        *value = leaf;
        return;
    };
    let (key, index) = match first {
        Segment::Own { key, index } => (key.as_str(), *index),
        Segment::Each => ("", Some(0)),
    };
    let Some(index) = index.filter(|_| !value.is_object()) else {
        assert!(value.is_object() || value.is_null(), "{value} has no key {key}");
        // Indexing makes an object of null.
        return put_at(&mut value[key], rest, leaf);
    };
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    let elements = value.as_array_mut().unwrap();
    elements.resize(elements.len().max(index + 1), Value::Null);
    put_at(&mut elements[index], rest, leaf);
}

/// A value that the matcher matches.
pub(crate) fn shape(matcher: &Matcher) -> Value {
    let mut value = json!({});
    for (path, expected) in &matcher.0 {
        put(&mut value, path, leaf(expected));
    }
    assert!(matcher.matches(&value), "{value} does not match {matcher:?}");
    value
}

fn leaf(expected: &Expected) -> Value {
    match expected {
        Expected::Flag(flag) => json!(flag),
        Expected::Number(number) => json!(number),
        Expected::Text(text) => json!(text),
        Expected::AnyOf(any) => leaf(&any[0]),
    }
}

/// Both values in one, unless they differ somewhere.
pub(crate) fn merged(one: &Value, other: &Value) -> Option<Value> {
    match (one, other) {
        (Value::Null, value) | (value, Value::Null) => Some(value.clone()),
        (Value::Object(one), Value::Object(other)) => {
            let mut both = one.clone();
            for (key, value) in other {
                let value = merged(one.get(key).unwrap_or(&Value::Null), value)?;
                both.insert(key.clone(), value);
            }
            Some(Value::Object(both))
        }
        (Value::Array(one), Value::Array(other)) => {
            let at = |list: &[Value], index: usize| list.get(index).cloned().unwrap_or_default();
            let longest = one.len().max(other.len());
            let both = (0..longest).map(|index| merged(&at(one, index), &at(other, index)));
            both.collect::<Option<Vec<_>>>().map(Value::Array)
        }
        (one, other) => (one == other).then(|| one.clone()),
    }
}
