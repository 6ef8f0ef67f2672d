//! Holds what was printed to its published JSON Schema.

use dcli_testkit::schema::{Change, check, mutations};
use serde_json::Value;

/// Fails unless `value` fits the schema of this name, closed.
pub(crate) fn fits(name: &str, value: &Value) {
    if let Err(fault) = check(&schema(name), value) {
        panic!("{fault}");
    }
}

/// The changes to `value` in one place that its schema lets pass, as `retyped /a/b`.
pub(crate) fn unnoticed(name: &str, value: &Value) -> Vec<String> {
    fits(name, value);
    let schema = schema(name);
    let passing = mutations(value).into_iter().filter(|m| check(&schema, &m.value).is_ok());
    let told = passing.map(|mutation| {
        let change = match mutation.change {
            Change::Retyped => "retyped",
            Change::Removed => "removed",
            Change::Added => "added to",
        };
        format!("{change} {}", mutation.at)
    });
    told.collect()
}

fn schema(name: &str) -> Value {
    dcli_core::schema::find(name).unwrap_or_else(|| panic!("no schema {name}")).schema()
}
