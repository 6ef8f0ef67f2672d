//! Bad input to the commands over jobs: ids, records, states and arguments.

use std::os::unix::fs::PermissionsExt as _;

use dcli_testkit::agent::Step;
use dcli_testkit::process::ORDINARY_USER;
use serde_json::{Value, json};

use crate::common::{Dialect, Outcome, Stage, shown};

/// An id that no job has.
const NOBODY: &str = "20200101T000000Z-abcdefgh";

pub(crate) fn answering() -> Stage {
    Stage::new([Dialect::of("codex").ok("Done.").told()])
}

pub(crate) fn hanging() -> Stage {
    let stage = Stage::new([]);
    stage.play([Step::Touch(stage.path("tmp/ready")), Step::Hang(true)]);
    stage
}

/// A job that is done.
pub(crate) fn done(stage: &Stage) -> String {
    let id = stage.submit("codex");
    assert_eq!(stage.waited(&id)["state"], "done");
    id
}

/// An error: this exit code, and its report, which says what standard error says.
pub(crate) fn refused(outcome: &Outcome, code: i32) -> Value {
    let report = outcome.json("error");
    assert_eq!(
        (outcome.code(), &report["error"]["exit_code"]),
        (code, &json!(code)),
        "{outcome:?}"
    );
    let message = report["error"]["message"].as_str().unwrap().lines().next().unwrap();
    assert!(outcome.stderr.contains(message), "{outcome:?}");
    report
}

/// The verbs over one job.
fn each(stage: &Stage, id: &str) -> Vec<Outcome> {
    let verbs = ["status", "wait", "read", "tail", "debug", "cancel"];
    verbs.map(|verb| stage.over(&[verb, id, "--json"])).into()
}

#[test]
fn an_id_that_is_none_and_one_that_no_job_has() {
    let stage = answering();
    for id in ["x", "20200101T000000Z-ABCDEFGH", "../20200101T000000Z-abcdefgh", ""] {
        for outcome in each(&stage, id) {
            refused(&outcome, 2);
        }
    }
    // Nothing is there at all, then other jobs are.
    for _ in 0..2 {
        for outcome in each(&stage, NOBODY) {
            let report = refused(&outcome, 3);
            assert_eq!(report["error"]["code"], "not_found");
            assert!(report["error"]["hint"].as_str().unwrap().contains("dcli list"), "{report:#}");
        }
        done(&stage);
    }
    shown("15", "bad-id", "no id: 2; an id of no job: 3, by every verb");
}

#[test]
fn what_cannot_be_looked_into_proves_no_absence() {
    let stage = answering();
    stage.room.file("state/jobs", "").unwrap();
    for outcome in each(&stage, NOBODY) {
        assert_ne!(outcome.code(), 3, "{outcome:?}");
    }
    let user = Stage::of_user(ORDINARY_USER, [Dialect::of("codex").ok("Done.").told()]);
    let id = done(&user);
    let repository = user.job_dir(&id).parent().unwrap().to_owned();
    let mode = |mode| {
        std::fs::set_permissions(&repository, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o000);
    for outcome in each(&user, &id).into_iter().chain(each(&user, NOBODY)) {
        refused(&outcome, 17);
    }
    mode(0o700);
    assert_eq!(user.over(&["read", &id]).text(), "Done.");
    shown("15", "unreadable-jobs", "a directory of jobs that cannot be read: 17, not 3");
}

#[test]
fn a_record_that_cannot_be_read_is_17_and_stays_as_it_is() {
    let stage = answering();
    let (other, id) = (done(&stage), done(&stage));
    let dir = stage.job_dir(&id);
    let kept = Stage::files(&dir);
    let restore = || kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    let journal = std::fs::read_to_string(dir.join("journal.jsonl")).unwrap();
    let damages: [(&str, String); 3] = [
        ("no JSON", journal.replacen('{', "!", 1)),
        ("a line is missing", journal.lines().skip(1).map(|line| format!("{line}\n")).collect()),
        ("out of order", journal.replacen("\"seq\":2", "\"seq\":9", 1)),
    ];
    for (what, damage) in damages {
        std::fs::remove_file(dir.join("status.json")).unwrap();
        std::fs::write(dir.join("journal.jsonl"), &damage).unwrap();
        for verb in ["status", "wait", "read", "cancel"] {
            let report = refused(&stage.over(&[verb, &id, "--json"]), 17);
            assert_eq!(report["error"]["code"], "unreadable_record", "{what}: {report:#}");
            let message = report["error"]["message"].as_str().unwrap();
            assert!(message.contains(&id) && message.contains("journal"), "{message}");
        }
        assert_eq!(std::fs::read_to_string(dir.join("journal.jsonl")).unwrap(), damage, "{what}");
        let listed = stage.over(&["list", "--all-repos", "--json"]);
        let jobs = listed.json("jobs")["jobs"].clone();
        assert_eq!(jobs.as_array().unwrap().len(), 1, "{listed:?}");
        assert_eq!(jobs[0]["job_id"], other.as_str());
        assert!(listed.stderr.contains(&id), "nobody is told: {listed:?}");
        let cleanup = stage.over(&["cleanup", "--keep", "9", "--all-repos", "--json"]);
        let skipped = cleanup.json("cleanup")["skipped"].clone();
        assert_eq!(skipped[0]["job_id"], id.as_str(), "{cleanup:?}");
        restore();
    }
    assert_eq!(stage.over(&["read", &id]).text(), "Done.");
    shown("15", "unreadable-record", "a damaged journal: 17, named, never overwritten, never 3");
}

#[test]
fn a_job_that_runs_is_not_read_and_a_wait_runs_out() {
    let stage = hanging();
    let id = stage.submit("codex");
    stage.wait_running(&id);
    for partial in [&["--json"][..], &["--json", "--partial"]] {
        let outcome = stage.over(&[&["read", &id][..], partial].concat());
        let report = refused(&outcome, 4);
        assert!(report["error"]["hint"].as_str().unwrap().contains("dcli wait"), "{report:#}");
    }
    let wait = stage.over(&["wait", &id, "--timeout-sec", "0.2", "--json"]);
    assert_eq!((wait.code(), &wait.json("job")["state"]), (20, &json!("running")), "{wait:?}");
    let all = stage.over(&["wait", "--all", "--timeout-sec", "0.2", "--json"]);
    assert_eq!((all.code(), &all.json("jobs")["jobs"][0]["state"]), (20, &json!("running")));
    refused(&stage.over(&["wait", "--json"]), 2);
    assert_eq!(stage.status(&id)["state"], "running");
    assert_eq!(stage.over(&["cancel", &id]).code(), 0);
    let read = stage.over(&["read", &id, "--json"]);
    assert_eq!(refused(&read, 30)["error"]["code"], "cancelled");
    assert_eq!(
        refused(&stage.over(&["read", &id, "--partial", "--json"]), 11)["error"]["job_created"],
        false
    );
    shown(
        "15",
        "not-terminal",
        "read of a running job: 4; a wait that runs out: 20; of nothing: 2",
    );
}

#[test]
fn a_failed_job_is_read_with_its_own_code_and_its_rest_with_partial() {
    let codex = Dialect::of("codex");
    let answer = codex.tale([codex.answer("Half.")]).told();
    let stage = Stage::new([answer, Step::Exit(3)]);
    let id = stage.submit("codex");
    let status = stage.waited(&id);
    let code = i32::try_from(status["command_exit_code"].as_i64().unwrap()).unwrap();
    assert_eq!((&status["state"], code), (&json!("failed"), 10), "{status:#}");
    let report = refused(&stage.over(&["read", &id, "--json"]), code);
    assert!(report["error"]["hint"].as_str().unwrap().contains("--partial"), "{report:#}");
    let plain = stage.over(&["read", &id]);
    assert_eq!((plain.code(), plain.text()), (code, ""));
    let partial = stage.over(&["read", &id, "--partial"]);
    assert_eq!((partial.code(), partial.text()), (code, "Half."), "{partial:?}");
    shown(
        "15",
        "read-failed",
        "read of a failed job: its class's code; what it left with --partial",
    );
}

#[test]
fn arguments_that_are_none_make_no_job() {
    let stage = answering();
    for words in [
        ["--mode", "implement"],
        ["--group", "../x"],
        ["--group", ".x"],
        ["--label", ""],
        ["--label", "two\nlines"],
        ["--containment", "wishful"],
        ["--hard-timeout-sec", "-1"],
    ] {
        for verb in ["run", "submit"] {
            let outcome = stage.job(verb, "codex").args(words).arg("--json").words("Do it.");
            let report = refused(&outcome.start().finish_uncontained(), 2);
            assert_eq!(report["error"]["job_created"], false, "{report:#}");
        }
    }
    assert_eq!(stage.jobs(), Vec::<String>::new());
    assert!(!stage.was_started());
    shown("15", "bad-arguments", "--mode implement, groups, labels, values: 2, and no job");
}

#[test]
fn a_containment_that_is_not_there_makes_no_job() {
    let stage = answering();
    for verb in ["run", "submit"] {
        let job = stage.job(verb, "codex").args(["--containment", "job-object", "--json"]);
        let report = refused(&job.words("Do it.").start().finish_uncontained(), 12);
        assert_eq!(report["error"]["job_created"], false, "{report:#}");
    }
    assert_eq!(stage.jobs(), Vec::<String>::new());
    shown("15", "bad-containment", "a containment that this host has not: 12, and no job");
}

#[test]
fn a_broken_configuration_keeps_nobody_from_the_end_of_a_job() {
    let stage = hanging();
    let id = stage.submit("codex");
    stage.wait_running(&id);
    stage.room.file("home/.config/dcli/config.toml", "wishful = 1").unwrap();
    for verb in ["status", "wait"] {
        refused(&stage.over(&[verb, &id, "--json"]), 2);
    }
    assert_eq!(stage.over(&["tail", &id]).code(), 0);
    assert_eq!(stage.over(&["debug", &id]).code(), 0);
    assert_eq!(stage.over(&["cancel", &id, "--json"]).json("job")["state"], "cancelled");
    refused(&stage.over(&["read", &id, "--json"]), 30);
    shown("15", "broken-configuration", "status: 2; tail, debug, cancel and read work");
}

#[test]
fn jobs_are_listed_by_an_alias_of_their_backend() {
    let stage = Stage::new([Dialect::of("claude").ok("Done.").told()]);
    let id = stage.submit("claude-code");
    assert_eq!(stage.waited(&id)["backend"], "claude");
    let listed = |backend| {
        stage.over(&["list", "--json", "--backend", backend]).json("jobs")["jobs"].clone()
    };
    assert_eq!(listed("claude-code")[0]["job_id"], id.as_str());
    assert_eq!(listed("claude"), listed("claude-code"));
    assert_eq!(listed("codex"), json!([]));
}

#[test]
fn a_message_names_what_is_missing() {
    let stage = answering();
    for (words, missing) in [(&["status"][..], "<ID>"), (&["cleanup"], "--older-than <AGE>")] {
        let report = stage.over(&[words, &["--json"]].concat()).json("error");
        let error = &report["error"];
        assert!(error["message"].as_str().unwrap().ends_with(missing), "{report:#}");
        assert!(error["hint"].as_str().unwrap().contains(words[0]), "{report:#}");
    }
    let report = refused(&stage.over(&["list", "--cwd", "/nowhere", "--json"]), 2);
    assert!(report["error"]["message"].as_str().unwrap().contains("/nowhere"), "{report:#}");
    stage.play([Step::Exit(3)]);
    let id = stage.submit("codex");
    stage.waited(&id);
    let read = stage.over(&["read", &id, "--json"]).json("error");
    assert!(!read["error"]["hint"].as_str().unwrap().contains("--partial"), "{read:#}");
}
