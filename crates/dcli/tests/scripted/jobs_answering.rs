//! Who may answer, as options and configuration say it: at which doors, for which backends, and how
//! the record and the schemas have it.

use serde_json::{Value, json};

use crate::common::asking::Asks;
use crate::common::schema::unnoticed;
use crate::common::{Dialect, Stage, shown};

const PUSH: &[Asks] = &[Asks::Bash("git push origin main")];
const OPTIONS: [&[&str]; 4] =
    [&["--attended"], &["--allow", "bash"], &["--ask", "bash"], &["--deny", "bash:rm *"]];

/// The message of a refusal with exit 2; nothing was made.
fn refused(stage: &Stage, door: &str, backend: &str, options: &[&str]) -> String {
    let exec = stage.job(door, backend).args(options).words("Do it.");
    let outcome = exec.run();
    assert_eq!(outcome.code(), 2, "{outcome:?}");
    assert!(!stage.was_started() && !stage.room.state().join("jobs").exists(), "{outcome:?}");
    outcome.stderr
}

#[test]
fn a_run_that_is_no_job_cannot_be_answered_and_says_so() {
    let stage = Stage::new([]);
    for options in OPTIONS {
        let message = refused(&stage, "exec", "claude", options);
        assert!(message.contains("nobody can answer a run that is no job"), "{message}");
    }
    let message = refused(&stage, "exec", "opencode", &["--isolated-state"]);
    assert!(message.contains("no server and no database of its own"), "{message}");
    let help = stage.dcli().args(["exec", "--help"]).run();
    assert!(!help.text().contains("--attended"), "{help:?}");
    let help = stage.dcli().args(["submit", "--help"]).run();
    for option in ["--attended", "--allow", "--ask", "--deny", "--isolated-state"] {
        assert!(help.text().contains(option), "{option}: {help:?}");
    }
}

#[test]
fn a_backend_that_cannot_be_answered_makes_no_job_and_names_those_that_can() {
    for backend in ["codex", "qwen", "gemini"] {
        let stage = Stage::new([]);
        for (options, door) in OPTIONS.into_iter().zip(["run", "submit", "run", "submit"]) {
            let message = refused(&stage, door, backend, options);
            let asks = format!("dcli capabilities --backend {backend} --json");
            for needle in [backend, "--backend claude", "no job was created", &asks] {
                assert!(message.contains(needle), "{needle:?} is not in: {message}");
            }
        }
    }
    shown("17", "scripted-not-answerable", "codex, qwen, gemini: exit 2, no job, the alternative");
}

#[test]
fn what_is_no_rule_and_no_time_is_a_wrong_command_line() {
    let stage = Stage::new([]);
    for (options, needle) in [
        (&["--allow", "rm -rf"][..], "NAME:PATTERN"),
        (&["--deny", ""], "names no permission"),
        (&["--ask", "bash:"], "its pattern is empty"),
        (&["--attended=0"], "more than 0 seconds"),
        (&["--attended=-5"], "more than 0 seconds"),
        (&["--attended=nan"], "more than 0 seconds"),
        (&["--attended=1e300"], "not a time limit"),
        (&["--attended="], "not a number of seconds"),
        (&["--allow", "edit"], "read-only forbids"),
    ] {
        let message = refused(&stage, "run", "claude", options);
        assert!(message.contains(needle), "{options:?}: {message}");
    }
    // The words of a prompt are no value of it.
    let message = refused(&stage, "run", "codex", &["--attended", "in", "10", "words"]);
    assert!(message.contains("cannot be answered"), "{message}");
}

/// What a job's own record has of the terms.
fn terms(stage: &Stage, id: &str) -> Value {
    let request = std::fs::read(stage.job_dir(id).join("request.json")).unwrap();
    serde_json::from_slice::<Value>(&request).unwrap()["terms"].clone()
}

#[test]
fn configured_rules_are_defaults_where_they_can_be_kept_and_nothing_elsewhere() {
    let stage = Stage::asking(PUSH);
    let user =
        "[interactions]\nallow = ['bash:git *', 'edit']\ndeny = ['webfetch']\nattended_sec = 77";
    stage.room.file("home/.config/dcli/config.toml", user).unwrap();
    let policy = json!({"delegation": {"ask": ["websearch"], "deny": ["bash:rm *"]}});
    stage.room.file("work/.dcli/policy.json", &policy.to_string()).unwrap();
    let submit = stage.workspace("submit").args(["--deny", "task", "--attended=5"]);
    let id = stage.submitted(submit.words("Do it."));
    let job = stage.waited(&id);
    assert_eq!(job["interactions"][0]["responder"], "policy bash:git *", "{job:#}");
    let kept = terms(&stage, &id);
    assert_eq!(
        kept["policy"],
        json!({
            "allow": ["bash:git *", "edit"], "ask": ["websearch"],
            "deny": ["task", "webfetch", "bash:rm *"],
        })
    );
    assert_eq!(kept["attended"]["secs"], 5, "{kept}");
    let id = stage.submitted(stage.job("submit", "claude").words("Do it."));
    stage.waited(&id);
    let kept = terms(&stage, &id);
    assert_eq!(
        (&kept["policy"]["allow"], &kept["attended"]["secs"]),
        (&json!(["bash:git *"]), &json!(77))
    );
    let text = stage.dcli().arg("config").run();
    for needle in ["interactions.attended_sec", "bash:rm *", "backends that can be answered"] {
        assert!(text.text().contains(needle), "{needle}: {text:?}");
    }

    stage.play(stage.hear().into_iter().chain([Dialect::of("codex").ok("Done.").told()]));
    let id = stage.submitted(stage.job("submit", "codex").words("Do it."));
    assert_eq!(stage.waited(&id)["state"], "done");
    let plain = json!({"policy": {"allow": [], "ask": [], "deny": []}, "attended": null});
    assert_eq!(terms(&stage, &id), plain);
    stage.play(stage.hear().into_iter().chain([Dialect::of("claude").ok("Done.").told()]));
    let exec = stage.exec("claude").words("Do it.").run();
    assert_eq!(exec.code(), 0, "{exec:?}");
}

#[test]
fn a_configuration_that_holds_no_rules_is_named_and_starts_nothing() {
    let stage = Stage::new([]);
    let user = "home/.config/dcli/config.toml";
    for (text, needle) in [
        ("[interactions]\nallow = ['rm -rf']", "NAME:PATTERN"),
        ("[interactions]\nattended_sec = 0", "interactions.attended_sec"),
        ("[interactions]\nattend = 1", "attend"),
    ] {
        stage.room.file(user, text).unwrap();
        let message = refused(&stage, "run", "claude", &[]);
        assert!(message.contains(needle) && message.contains("config.toml"), "{message}");
    }
    std::fs::remove_file(stage.path(user)).unwrap();
    let policy = r#"{"delegation": {"allow": ["bash"]}}"#;
    stage.room.file("work/.dcli/policy.json", policy).unwrap();
    let message = refused(&stage, "run", "claude", &[]);
    assert!(message.contains("allow") && message.contains("policy.json"), "{message}");
}

/// Fails where a change passes that is not in what a backend says in a form of its own.
fn notices(name: &str, value: &Value) {
    let mut passed = unnoticed(name, value);
    passed.retain(|change| !change.contains("/detail"));
    assert_eq!(passed, [] as [String; 0], "{name}: {value:#}");
}

#[test]
fn a_change_anywhere_in_what_is_printed_of_interactions_is_noticed() {
    let stage = Stage::asking(&[Asks::Bash("one"), Asks::Questions(&["Which?"])]);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    notices("interactions", &stage.over(&["interactions", "--json"]).json("interactions"));
    let answered = stage.respond(&id, &["i1", "allow", "--json"]);
    notices("respond", &answered.json("respond"));
    stage.wait_open(&id, "i2");
    let listing = stage.over(&["interactions", &id, "--json"]).json("interactions");
    let order = listing["interactions"].as_array().unwrap().iter();
    let order: Vec<&Value> = order.map(|one| &one["interaction_id"]).collect();
    assert_eq!((&listing["job_id"], order), (&json!(id), vec![&json!("i2"), &json!("i1")]));
    notices("interactions", &listing);
    let open = stage.over(&["interactions", "--json"]).json("interactions");
    assert_eq!(open["interactions"].as_array().unwrap().len(), 1, "{open:#}");
    let all = stage.over(&["interactions", "--all", "--json"]).json("interactions");
    assert_eq!(all["interactions"].as_array().unwrap().len(), 2, "{all:#}");
    assert_eq!(stage.respond(&id, &["i2", "answer", "red"]).code(), 0);
    let job = stage.waited(&id);
    fits_job(&job);
    let missing = stage.over(&["interactions", "20260102T030405Z-abcdefgh", "--json"]);
    assert_eq!((missing.code(), &missing.json("error")["error"]["code"]), (3, &"not_found".into()));
    let chosen = stage.dcli().args(["--backend", "claude", "interactions"]).run();
    assert_eq!(chosen.code(), 2, "{chosen:?}");
}

fn fits_job(job: &Value) {
    crate::common::schema::fits("job", job);
    for fact in ["interactions", "warnings"] {
        assert!(job[fact].is_array(), "{job:#}");
    }
}

#[test]
fn a_projects_rules_that_no_backend_holds_are_a_warning() {
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    let policy = r#"{"delegation": {"deny": ["bash:rm *"]}}"#;
    stage.room.file("work/.dcli/policy.json", policy).unwrap();
    let job = stage.job("run", "codex").arg("--json").words("Do it.").run().json("job");
    assert_eq!(job["state"], "done", "{job:#}");
    assert!(job["warnings"].to_string().contains("policy_not_held"), "{job:#}");
    stage.room.file("work/.dcli/policy.json", r#"{"delegation": {}}"#).unwrap();
    let job = stage.job("run", "codex").arg("--json").words("Do it.").run().json("job");
    assert!(!job["warnings"].to_string().contains("policy_not_held"), "{job:#}");
}
