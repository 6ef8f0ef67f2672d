//! `dcli config`: what is in force in a directory, and who set it.

use serde_json::{Value, json};

use crate::common::Stage;
use crate::common::schema::unnoticed;

fn shown(stage: &Stage) -> Value {
    stage.dcli().args(["config", "--json"]).run().json("config")
}

/// Value, who set it, and the files that say so, below the room.
fn setting(stage: &Stage, report: &Value, key: &str) -> Value {
    let settings = report["settings"].as_array().unwrap();
    let found = settings.iter().find(|setting| setting["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no {key}: {report:#}"));
    let room = format!("{}/", stage.room.path().display());
    let files = found["set_in"].as_array().unwrap().iter();
    let files: Vec<String> = files.map(|file| file.as_str().unwrap().replace(&room, "")).collect();
    json!([found["value"], found["set_by"], files])
}

#[test]
fn without_files_everything_is_a_default() {
    let stage = Stage::new([]);
    let report = shown(&stage);
    for found in report["settings"].as_array().unwrap() {
        assert_eq!((&found["set_by"], &found["set_in"]), (&json!("default"), &json!([])));
    }
    assert_eq!(setting(&stage, &report, "executor"), json!(["claude", "default", []]));
    assert_eq!(setting(&stage, &report, "limits.max_jobs")[0], 5);
    assert_eq!(setting(&stage, &report, "caps.max_tokens_per_day")[0], Value::Null);
    let root = &report["places"][0];
    assert_eq!(
        (&root["set_by"], &root["set_in"]),
        (&json!("environment"), &json!("DCLI_STATE_ROOT"))
    );
    assert_eq!(root["path"], stage.room.state().to_str().unwrap());
}

#[test]
fn each_setting_names_the_file_that_decided() {
    let stage = Stage::new([]);
    let user = "home/.config/dcli/config.toml";
    let text = "executor = \"codex\"\nallowed_backends = [\"codex\", \"claude\", \"qwen\"]\n\
                [limits]\nmax_jobs = 4\n[limits.backend]\ncodex = 3\n\
                [caps]\nmax_tokens_per_day = 5e6\nmax_concurrent = 9";
    stage.room.file(user, text).unwrap();
    let policy = "work/.dcli/policy.json";
    let text = r#"{"delegation": {"allowed_backends": ["claude", "codex"], "max_jobs": 2,
                   "max_concurrent": 20, "hard_timeout_sec": 60}}"#;
    stage.room.file(policy, text).unwrap();
    let report = shown(&stage);
    for (key, value) in [
        ("executor", json!(["codex", "user", [user]])),
        ("allowed_backends", json!([["codex", "claude"], "project", [policy]])),
        ("limits.max_jobs", json!([2, "project", [policy]])),
        ("limits.backend.codex", json!([2, "project", [policy]])),
        ("limits.max_depth", json!([1, "default", []])),
        ("caps.max_tokens_per_day", json!([5_000_000, "user", [user]])),
        ("caps.max_concurrent", json!([9, "user", [user]])),
        ("hard_timeout_sec", json!([60, "project", [policy]])),
        ("read_only", json!([false, "default", []])),
    ] {
        assert_eq!(setting(&stage, &report, key), value, "{key}");
    }
    let places = report["places"].as_array().unwrap().iter();
    let known: Vec<&str> =
        places.filter(|p| p["exists"] == true).map(|p| p["what"].as_str().unwrap()).collect();
    assert!(known.contains(&"settings") && known.contains(&"policy"), "{report:#}");
    // A value may be whatever a key takes.
    let mut passed = unnoticed("config", &report);
    passed.retain(|change| !change.contains("/value"));
    assert_eq!(passed, [] as [String; 0]);
    let text = stage.dcli().arg("config").run();
    assert!(text.text().contains("limits.max_jobs"), "{text:?}");
}

#[test]
fn a_file_that_cannot_be_used_is_named_and_no_secret_of_the_environment_is_shown() {
    let stage = Stage::new([]);
    let secret = "sk-0123456789abcdef";
    for words in [&["config"][..], &["config", "--json"]] {
        let outcome = stage.dcli().args(words).env("ANTHROPIC_API_KEY", secret).run();
        assert!(outcome.code() == 0 && !outcome.text().contains(secret), "{outcome:?}");
    }
    stage.room.file("home/.config/dcli/config.toml", "max_jobs = 1").unwrap();
    let outcome = stage.dcli().args(["config", "--json"]).run();
    let error = outcome.json("error")["error"].clone();
    assert_eq!(outcome.code(), 2);
    assert!(error["message"].as_str().unwrap().contains("config.toml"), "{error:#}");
    let outcome = stage.dcli().args(["config", "--cwd", "/nowhere"]).run();
    assert!(outcome.code() == 2 && outcome.stderr.contains("/nowhere"), "{outcome:?}");
}
