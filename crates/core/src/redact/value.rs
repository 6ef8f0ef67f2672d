//! JSON values: strings and names are redacted, numbers and the shape stay.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Redactor, key};

/// Redacts in place. `credential` is the name above, if it says that what it names is one.
pub(super) fn redact(redactor: &Redactor, value: &mut Value, credential: Option<&str>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => string(redactor, text, credential),
        Value::Array(values) => {
            for value in values {
                redact(redactor, value, credential);
            }
        }
        Value::Object(members) => object(redactor, members, credential),
    }
}

fn string(redactor: &Redactor, text: &mut String, credential: Option<&str>) {
    if let Cow::Owned(redacted) = redactor.text(text) {
        *text = redacted;
    }
    if let Some(name) = credential
        && !text.is_empty()
        && !redactor.is_mark(text)
    {
        *text = redactor.mark(name);
    }
}

/// Names first: what a name says of its value is read from what is left of it.
fn object(redactor: &Redactor, members: &mut Map<String, Value>, credential: Option<&str>) {
    if members.keys().any(|name| matches!(redactor.text(name), Cow::Owned(_))) {
        for (name, value) in std::mem::take(members) {
            members.insert(unused(members, redactor.text(&name).into_owned()), value);
        }
    }
    for (name, value) in members.iter_mut() {
        let credential = if key::is_credential(name) { Some(name.as_str()) } else { credential };
        redact(redactor, value, credential);
    }
}

/// Two names may become one mark; neither member is lost.
fn unused(members: &Map<String, Value>, name: String) -> String {
    let mut candidate = name.clone();
    let mut count = 1;
    while members.contains_key(&candidate) {
        count += 1;
        candidate = format!("{name} {count}");
    }
    candidate
}
