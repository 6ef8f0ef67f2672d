//! What the commands over jobs print as JSON fits its published schema, and the schema notices a
//! change anywhere but in what a vendor says in a form of its own.

use dcli_core::envelope::ENGINE_KEYS;
use dcli_testkit::agent::Step;
use serde_json::Value;

use crate::common::schema::unnoticed;
use crate::common::{Stage, golden, say};

/// Fails where a change passes that `may` does not let pass.
fn notices(name: &str, value: &Value, may: impl Fn(&str) -> bool) {
    let mut passed = unnoticed(name, value);
    passed.retain(|change| !may(change));
    assert_eq!(passed, [] as [String; 0], "{name}: {value:#}");
}

/// Keys whose values have no shape of dcli's own here: they are put aside before a change is made.
const FOREIGN: [&str; 9] = [
    "capabilities_snapshot",
    "usage_windows",
    "backend_state",
    "retry_at",
    "request",
    "command",
    "journal",
    "facts",
    "machine",
];

/// The same value with nothing in its foreign parts.
fn own(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                let empty = match field {
                    Value::Array(_) => Value::Array(Vec::new()),
                    _ => Value::Null,
                };
                let is_foreign = FOREIGN.contains(&key.as_str());
                *field = if is_foreign { empty } else { own(field.take()) };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = own(item.take())),
        _ => {}
    }
    value
}

/// What may change in the foreign parts, and in what an envelope may leave out or a record names.
fn may_change(change: &str) -> bool {
    let path = change.find('/').map_or("", |at| &change[at..]);
    let last = path.rsplit('/').next().unwrap_or_default();
    let below = path.split_once("/data/").map(|(_, key)| key.split('/').next().unwrap_or(key));
    let optional = ["changedPaths", "errors", "stdoutTruncated", "stderrTruncated"];
    FOREIGN.contains(&last)
        || optional.contains(&last)
        || last == "malformedStreamLines"
        || (change.starts_with("added") && last == "data")
        || below.is_some_and(|key| !ENGINE_KEYS.contains(&key))
}

#[test]
fn a_change_anywhere_in_what_is_printed_of_jobs_is_noticed() {
    let stage = Stage::new([say(golden("claude", "multi-step"))]);
    let words = ["--json", "--label", "a label", "--group", "g"];
    let submit = stage.job("submit", "claude").args(words).words("Do it.");
    let submitted = submit.start().finish_uncontained().json("submit");
    notices("submit", &submitted, |_| false);
    let done = stage.waited(submitted["job_id"].as_str().unwrap());
    assert_eq!(done["state"], "done");
    notices("job", &own(done), may_change);
    stage.play([say(golden("claude", "error-400")), Step::Exit(1)]);
    let failed = stage.job("run", "claude").arg("--json").words("Do it.").run().json("job");
    assert!(failed["failure"].is_object() && failed["envelope"]["errors"].is_array());
    notices("job", &own(failed), may_change);
    let listing = stage.over(&["list", "--json"]).json("jobs");
    assert_eq!(listing["jobs"].as_array().unwrap().len(), 2);
    notices("jobs", &own(listing), may_change);
}

#[test]
fn a_change_anywhere_in_a_bundle_or_a_clean_up_is_noticed() {
    let stage = Stage::new([say(golden("codex", "multi-step"))]);
    let id = stage.submit("codex");
    stage.waited(&id);
    let bundle = stage.over(&["debug", &id]).json("debug");
    let mut bundle = own(bundle);
    // The envelope is kept without its result, and has a shape of its own elsewhere.
    bundle["envelope"] = Value::Null;
    bundle["files"].as_array_mut().unwrap().truncate(2);
    notices("debug", &bundle, |change| may_change(change) || change.ends_with("/envelope"));
    let cleanup = ["cleanup", "--older-than", "0s", "--json"];
    let report = stage.over(&cleanup).json("cleanup");
    assert_eq!(report["removed"].as_array().unwrap().len(), 1, "{report:#}");
    notices("cleanup", &report, |_| false);
}
