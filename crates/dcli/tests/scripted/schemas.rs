//! Whatever is printed as JSON fits its published schema, and the schema notices a change anywhere.

use dcli_core::envelope::ENGINE_KEYS;
use dcli_core::schema::SHAPES;
use dcli_testkit::agent::Step;
use dcli_testkit::schema::check;
use serde_json::Value;

use crate::common::schema::{fits, unnoticed};
use crate::common::{Stage, golden, say};

/// The only keys that an envelope may leave out.
const OPTIONAL: [&str; 5] = [
    "removed /changedPaths",
    "removed /data/malformedStreamLines",
    "removed /data/stderrTruncated",
    "removed /data/stdoutTruncated",
    "removed /errors",
];

/// What a vendor says in a form of its own.
const VENDORS_OWN: &str = "retyped /data/run/failure/retry_at";

/// Fails where a change passes that `may` does not let pass.
fn notices(name: &str, value: &Value, may: impl Fn(&str) -> bool) {
    let mut passed = unnoticed(name, value);
    passed.retain(|change| !may(change));
    assert_eq!(passed, [] as [String; 0], "{name}: {value:#}");
}

/// What a change is about, below the data of an envelope.
fn key_of_data(change: &str) -> Option<&str> {
    change.split_once(" /data/").map(|(_, path)| path.split('/').next().unwrap_or(path))
}

fn envelopes() -> [Value; 4] {
    let stage = Stage::new([say(golden("claude", "multi-step"))]);
    let ok = stage.exec("claude").words("Do it.").run().json("envelope");
    let noise = Step::Stdout("no JSON\n".into());
    stage.play([noise, say(golden("claude", "error-400")), Step::Exit(1)]);
    let failed = stage.exec("claude").words("Do it.").run().json("envelope");
    stage.play([Step::Stdout(golden("codex", "multi-step").chars().take(900).collect())]);
    let cut = stage.exec("codex").words("Do it.").run().json("envelope");
    let refused = stage.exec("nobody").words("Do it.").run().json("envelope");
    [ok, failed, cut, refused]
}

#[test]
fn a_change_anywhere_in_an_envelope_is_noticed() {
    let envelopes = envelopes();
    let errors = envelopes.iter().filter(|envelope| envelope["errors"].is_array());
    assert_eq!(errors.count(), 3, "{envelopes:#?}");
    assert!(envelopes[1]["data"]["run"]["failure"].is_object(), "{:#}", envelopes[1]);
    assert!(envelopes[1]["data"]["malformedStreamLines"].is_u64(), "{:#}", envelopes[1]);
    for envelope in envelopes {
        notices("envelope", &envelope, |change| {
            let metadata = |key: &str| !ENGINE_KEYS.contains(&key);
            let is_refusal = envelope["data"] == Value::Object(serde_json::Map::new());
            OPTIONAL.contains(&change)
                || change == VENDORS_OWN
                || key_of_data(change).is_some_and(metadata)
                || (change == "added to /data" && !is_refusal)
        });
    }
}

#[test]
fn a_change_anywhere_in_a_line_of_events_is_noticed() {
    for id in ["claude", "codex", "opencode"] {
        let stage = Stage::new([say(golden(id, "multi-step"))]);
        let outcome = stage.exec(id).arg("--events").words("Do it.").run();
        let (facts, _) = outcome.events();
        for fact in facts {
            fits("fact", &fact);
            notices("event", &fact, |_| false);
        }
    }
}

#[test]
fn a_change_anywhere_in_the_list_of_backends_is_noticed() {
    let stage = Stage::new([]);
    stage.room.file("home/.config/dcli/executors/bad.toml", "id = 1").unwrap();
    let listing = stage.dcli().args(["backends", "--json"]).run().json("backends");
    assert_eq!(listing["refused"].as_array().unwrap().len(), 1, "{listing:#}");
    notices("backends", &listing, |_| false);
}

#[test]
fn a_change_anywhere_in_an_error_or_in_the_list_of_schemas_is_noticed() {
    let stage = Stage::new([]);
    let error = stage.dcli().args(["schema", "nothing", "--json"]).run().json("error");
    notices("error", &error, |_| false);
    let listing = stage.dcli().args(["schema", "--json"]).run().json("schemas");
    notices("schemas", &listing, |_| false);
}

#[test]
fn a_change_anywhere_in_what_a_backend_can_do_or_a_doctor_saw_is_noticed() {
    let stage = Stage::new([]);
    let printed = |words: &[&str], name: &str| stage.dcli().args(words).run().json(name);
    let one = printed(&["capabilities", "--json", "--backend", "codex"], "capability");
    notices("capability", &one, |_| false);
    let all = printed(&["capabilities", "--json"], "capabilities");
    assert!(all["backends"].as_array().unwrap().contains(&one), "{all:#}");
    let seen = printed(&["doctor", "--json", "--live-smoke-timeout-sec", "0"], "doctor");
    notices("doctor", &seen, |_| false);
}

#[test]
fn the_demo_prints_envelopes_and_what_the_commands_over_jobs_answer() {
    let outcome = Stage::new([]).dcli().args(["demo", "--json"]).run();
    let lines: Vec<Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shapes = ["envelope", "envelope", "envelope", "submit", "job", "jobs"];
    assert_eq!((outcome.code(), lines.len()), (0, shapes.len()), "{outcome:?}");
    shapes.into_iter().zip(&lines).for_each(|(shape, line)| fits(shape, line));
}

#[test]
fn every_schema_is_one_that_the_validator_understands_and_that_refuses_something() {
    let stage = Stage::new([]);
    for shape in SHAPES {
        let outcome = stage.dcli().args(["schema", shape.name]).run();
        let schema: Value = serde_json::from_str(outcome.text()).unwrap();
        assert_eq!(schema, shape.schema());
        if let Err(fault) = check(&schema, &Value::Bool(true)) {
            assert!(!fault.contains("cannot validate"), "{}: {fault}", shape.name);
        } else {
            // Only where the validator is missing, which the run has said or failed for.
            assert!(std::env::var_os("DCLI_REQUIRE_ALL").is_none(), "{}", shape.name);
        }
    }
}
