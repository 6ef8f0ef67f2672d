//! FIELD 6 at job level: agents that run dcli, and what they may have it do.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{Dialect, Exec, Stage, shown};

/// What every agent begins with: it prints no version, hears its prompt, and names its parts.
const BEGINNING: &str = r#"#!/bin/sh
case " $* " in *" --version "*) exit 0 ;; esac
cat > /dev/null
ask() { # NAME WORDS…: what dcli answers, and its exit code
    name=$1; shift
    DCLI "$@" < /dev/null > "TMP/$name" 2> "TMP/$name.err"
    echo $? > "TMP/$name.code"
}
until_there() { while [ ! -e "$1" ]; do sleep 0.02; done; }
"#;

/// A stage on which each backend's agent, as the file `agent-ID`, is this script.
fn stage(agents: &[(&str, &str)]) -> Stage {
    let stage = Stage::new([]);
    for (backend, script) in agents {
        let answer = Dialect::of(backend).ok("Done.").text();
        let answer = stage.room.file(format!("answer-{backend}"), &answer).unwrap();
        let script = format!("{BEGINNING}{script}\ncat '{}'\n", answer.display());
        let room = stage.room.path().display().to_string();
        let script = script
            .replace("DCLI \"$@\"", &format!("'{}' \"$@\"", env!("CARGO_BIN_EXE_dcli")))
            .replace("TMP/", &format!("{}/", stage.room.tmp().display()))
            .replace("ROOM/", &format!("{room}/"));
        let file = stage.room.file(format!("agent-{backend}"), &script).unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
    }
    stage
}

fn job<'s>(stage: &'s Stage, verb: &str, backend: &str) -> Exec<'s> {
    let agent = stage.path(&format!("agent-{backend}"));
    stage.dcli().args([verb, "--backend", backend, "--command"]).arg(agent)
}

/// What was answered to an agent: the exit code, and what was printed for programs and people.
fn answered(stage: &Stage, name: &str) -> (i32, String, String) {
    let read = |name: String| std::fs::read_to_string(stage.room.tmp().join(name)).unwrap();
    let code = read(format!("{name}.code")).trim().parse().unwrap();
    (code, read(name.to_owned()), read(format!("{name}.err")))
}

fn error(stage: &Stage, name: &str) -> (i32, Value) {
    let (code, text, _) = answered(stage, name);
    let report: Value = serde_json::from_str(&text).unwrap();
    (code, report["error"].clone())
}

fn nested(stage: &Stage, id: &str) -> PathBuf {
    stage.room.state().join("nested").join(id)
}

#[test]
fn job_field_06_an_agent_in_a_job_makes_no_job_and_may_run_one_prompt() {
    let stage = stage(&[
        (
            "claude",
            "for verb in run submit; do ask $verb $verb --json --backend codex --command ROOM/agent-codex hi; done\n\
             ask exec exec --backend codex --command ROOM/agent-codex hi",
        ),
        ("codex", "ask deeper exec --backend claude --command ROOM/agent-claude hi"),
    ]);
    let outcome = job(&stage, "run", "claude").arg("--json").words("Go.").run();
    assert_eq!(outcome.json("job")["state"], "done", "{outcome:?}");
    for verb in ["run", "submit"] {
        let (code, error) = error(&stage, verb);
        assert_eq!((code, &error["class"]), (15, &"permission_or_sandbox".into()), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("--delegate"), "{error}");
    }
    assert_eq!(answered(&stage, "exec").0, 0);
    assert_eq!(answered(&stage, "deeper").0, 28);
    let listing = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
    assert_eq!(listing["jobs"].as_array().unwrap().len(), 1, "{listing}");
}

#[test]
fn job_field_06_a_job_that_may_delegate_has_a_store_of_its_own() {
    let stage = stage(&[
        (
            "claude",
            "ask self submit --json --backend claude --command ROOM/agent-claude hi\n\
             ask submit submit --backend codex --command ROOM/agent-codex hi\n\
             id=$(cat TMP/submit)\n\
             ask wait wait \"$id\" --json\n\
             ask read read \"$id\"\n\
             ask list list --json",
        ),
        (
            "codex",
            "ask below submit --json --backend claude --command ROOM/agent-claude hi\n\
             ask deeper exec --backend claude --command ROOM/agent-claude hi",
        ),
    ]);
    let id = stage.submitted(job(&stage, "submit", "claude").arg("--delegate").words("Go."));
    assert_eq!(stage.waited(&id)["state"], "done");
    assert_eq!(error(&stage, "self").0, 2);
    let (code, inner, said) = answered(&stage, "submit");
    assert_eq!(code, 0, "{said}");
    let (code, text, said) = answered(&stage, "wait");
    assert_eq!(code, 0, "{text} {said}");
    let job: Value = serde_json::from_str(&text).unwrap();
    let above = ["parent_job_id", "root_job_id", "state"].map(|key| job[key].as_str().unwrap());
    assert_eq!(above, [&*id, &*id, "done"]);
    assert_eq!(answered(&stage, "read"), (0, "Done.".to_owned(), String::new()));
    let (_, text, _) = answered(&stage, "list");
    assert!(
        text.contains(inner.trim()) && !text.contains(&format!("\"job_id\":\"{id}\"")),
        "{text}"
    );
    assert_eq!(error(&stage, "below").0, 15);
    assert_eq!(answered(&stage, "deeper").0, 28);
    let outer = stage.over(&["list", "--all-repos", "--json"]);
    assert!(!outer.text().contains(inner.trim()), "{outer:?}");
    assert_eq!(stage.over(&["status", inner.trim()]).code(), 3);
    assert!(nested(&stage, &id).join("jobs").is_dir());
    let cleaned = stage.over(&["cleanup", "--keep", "0", "--json"]).json("cleanup");
    assert_eq!(cleaned["removed"][0]["job_id"], *id, "{cleaned}");
    assert!(!nested(&stage, &id).exists());
    let places = stage.room.state().join("locks/descendants").join(&id);
    assert!(!places.exists());
    shown("14", "job-field-06", "self 2, without --delegate 15, too deep 28, a store of its own");
}

#[test]
fn job_field_06_so_many_runs_are_alive_below_a_job_and_no_more() {
    let stage = stage(&[
        (
            "claude",
            "to='--backend codex --command ROOM/agent-codex hi'\n\
             ask one submit $to\n\
             ask two submit --json $to\n\
             ask three run --json $to\n\
             ask four exec $to\n\
             : > TMP/go\n\
             ask wait wait \"$(cat TMP/one)\"\n\
             ask five run $to",
        ),
        ("codex", "until_there TMP/go"),
    ]);
    let config = "[limits]\nmax_descendants = 1\n";
    stage.room.file("home/.config/dcli/config.toml", config).unwrap();
    let outcome = job(&stage, "run", "claude").args(["--delegate", "--json"]).words("Go.").run();
    assert_eq!(outcome.json("job")["state"], "done", "{outcome:?}");
    assert_eq!((answered(&stage, "one").0, answered(&stage, "wait").0), (0, 0));
    for name in ["two", "three"] {
        let (code, error) = error(&stage, name);
        assert_eq!((code, &error["class"]), (28, &"cap_exceeded".into()), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("max_descendants") && message.contains("1 runs"), "{message}");
    }
    let (code, text, said) = answered(&stage, "four");
    assert!(code == 28 && text.contains("executorCapExceeded"), "{text} {said}");
    let (code, text, said) = answered(&stage, "five");
    assert_eq!((code, &*text), (0, "Done."), "{said}");
}

#[test]
fn job_field_06_a_store_of_its_own_is_no_way_round_the_caps() {
    let stage = stage(&[
        ("claude", "ask submit submit --json --backend codex --command ROOM/agent-codex hi"),
        ("codex", ""),
    ]);
    let config = "[caps]\nmax_invocations_per_day = 1\n";
    stage.room.file("home/.config/dcli/config.toml", config).unwrap();
    let outcome = job(&stage, "run", "claude").args(["--delegate", "--json"]).words("Go.").run();
    assert_eq!(outcome.json("job")["state"], "done", "{outcome:?}");
    let (code, error) = error(&stage, "submit");
    assert_eq!((code, &error["class"]), (28, &"cap_exceeded".into()), "{error}");
    assert!(error["message"].as_str().unwrap().contains("max_invocations_per_day"), "{error}");
}
