//! Options of a backend's own, at every door: known ones arrive, foreign ones make no job.

use dcli_testkit::opencode::Script;
use serde_json::json;

use crate::common::served::{PROMPT, Served};
use crate::common::{Dialect, Exec, Outcome, Stage, shown};

const DOORS: [&str; 3] = ["exec", "run", "submit"];

fn stage(backend: &str) -> Stage {
    let stage = Stage::new([]);
    let answer = Dialect::of(backend).ok("Done.").told();
    stage.play(stage.hear().into_iter().chain([answer]));
    stage
}

/// The message of a refusal with this class and code; no job was made and nothing started.
fn refused(stage: &Stage, door: &str, exec: Exec<'_>, (class, code): (&str, i32)) -> String {
    let exec = if door == "exec" { exec } else { exec.arg("--json") };
    let outcome = exec.words("Do it.").run();
    assert_eq!(outcome.code(), code, "{outcome:?}");
    assert!(!stage.was_started() && !stage.room.state().join("jobs").exists(), "{outcome:?}");
    if door == "exec" {
        return outcome.envelope().message().to_owned();
    }
    let error = outcome.json("error")["error"].clone();
    assert_eq!((&error["class"], &error["job_created"]), (&class.into(), &false.into()), "{error}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn an_option_that_a_backend_does_not_have_ends_before_there_is_a_job() {
    let foreign = [
        ("codex", ["--variant", "fast"], "--effort (one of minimal, low, medium, high, xhigh)"),
        ("claude", ["--variant", "fast"], "--effort (one of low, medium, high, xhigh)"),
        ("opencode", ["--effort", "high"], "--variant (any token without blanks)"),
        ("gemini", ["--effort", "high"], "leave --effort out"),
        ("qwen", ["--variant", "fast"], "leave --variant out"),
        ("claude", ["--effort", "minimal"], "one of low, medium, high, xhigh"),
        ("codex", ["--effort", ""], "one of minimal, low"),
        ("opencode", ["--variant", "two words"], "any token"),
    ];
    for (index, (backend, option, alternative)) in foreign.into_iter().enumerate() {
        let stage = stage(backend);
        // The doors share the check; three backends at all of them are enough to see that.
        let doors = if index < 3 { &DOORS[..] } else { &DOORS[index % 3..=index % 3] };
        for &door in doors {
            let exec = stage.job(door, backend).args(option);
            let message = refused(&stage, door, exec, ("unsupported_capability", 2));
            let asks = format!("dcli capabilities --backend {backend} --json");
            let needles = [backend, option[0], alternative, &asks, "no job was created"];
            for needle in needles {
                assert!(message.contains(needle), "{needle:?} is not in: {message}");
            }
        }
    }
    shown("15", "job-foreign-option", "exec, run and submit: exit 2, the alternative, and no job");
}

#[test]
fn a_backend_without_a_model_option_says_so_in_the_same_words() {
    let stage = Stage::new([]);
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/unseen-single.toml");
    for door in DOORS {
        let exec = stage.dcli().args([door, "--record", record, "--model", "m"]);
        let message = refused(&stage, door, exec, ("unsupported_capability", 2));
        for needle in ["unseen-single", "no option --model", "capabilities", "no job was created"] {
            assert!(message.contains(needle), "{needle:?} is not in: {message}");
        }
    }
}

#[test]
fn a_backends_own_option_arrives_as_its_record_writes_it() {
    let known = [
        ("codex", ["--effort", "high"], ["--config", "model_reasoning_effort=\"high\""]),
        ("claude", ["--effort", "low"], ["--effort", "low"]),
        ("opencode", ["--variant", "fast"], ["--variant", "fast"]),
    ];
    for (backend, option, native) in known {
        // A job's server is told in the body of a request: see below.
        let doors = if backend == "opencode" { &DOORS[..1] } else { &DOORS[..] };
        for &door in doors {
            let stage = stage(backend);
            let exec = stage.job(door, backend).args(["--model", "a/b"]).args(option);
            let warned = match door {
                "submit" => {
                    let id = stage.submitted(exec.words("Do it."));
                    let job = stage.waited(&id);
                    assert_eq!((&job["state"], &job["model"]), (&"done".into(), &"a/b".into()));
                    job["warnings"].to_string()
                }
                _ => answered(&exec.words("Do it.").run()),
            };
            let argv = stage.seen().argv;
            let wanted = [["--model", "a/b"], native].concat();
            assert!(argv.windows(4).any(|words| words == wanted), "{backend} {door}: {argv:?}");
            assert!(
                warned.contains("own options were measured with"),
                "{backend} {door}: {warned}"
            );
        }
    }
}

#[test]
fn a_server_is_told_its_model_and_variant_with_the_prompt_and_refuses_what_it_does_not_know() {
    let served = Served::new(&Script::default());
    let (job, _) = served.ran(["--model", "stub/stub-model", "--variant", "high"]);
    assert_eq!(job["state"], "done", "{job:#}");
    let log = served.log();
    let prompt = log.iter().find(|request| request.route == PROMPT).unwrap();
    let model = json!({"providerID": "stub", "modelID": "stub-model"});
    assert_eq!((&prompt.body["model"], &prompt.body["variant"]), (&model, &json!("high")));
    for (words, needle) in [
        (["--model", "stub/nope", "--variant", "high"], "stub/nope"),
        (["--model", "stub/stub-model", "--variant", "bogus"], "bogus"),
    ] {
        let served = Served::new(&Script::default());
        let (job, _) = served.ran(words);
        assert_eq!((&job["state"], served.calls(PROMPT)), (&json!("failed"), 0), "{job:#}");
        let reason = job["failure_reason"].as_str().unwrap();
        assert!(reason.contains(needle), "{reason}");
    }
}

/// Everything that a good foreground run said.
fn answered(outcome: &Outcome) -> String {
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    format!("{}{}", outcome.text(), outcome.stderr)
}

#[test]
fn an_enforcement_that_is_demanded_and_not_proven_starts_nothing() {
    for (backend, why) in [("codex", "dcli did not verify"), ("opencode", "nobody enforces it")] {
        let stage = stage(backend);
        for door in DOORS {
            let exec = stage.job(door, backend).arg("--require-enforcement");
            let message = refused(&stage, door, exec, ("environment", 12));
            assert!(
                message.contains("--require-enforcement") && message.contains(why),
                "{message}"
            );
            assert!(message.contains("nothing was started"), "{message}");
        }
    }
    shown(
        "15",
        "job-require-enforcement",
        "exec, run and submit: exit 12, nothing started, no job",
    );
}

#[test]
fn a_shim_chooses_the_backend_of_every_command_that_has_one() {
    let stage = stage("codex");
    let agent = crate::common::fake_agent();
    let shim = |words: &[&str]| stage.dcli().called("dcli-codex").args(words);
    let submit = shim(&["submit", "--label", "mine", "--group", "g", "--command"]).arg(&agent);
    let id = stage.submitted(submit.words("Do it."));
    let job = stage.waited(&id);
    let told = ["backend", "label", "group", "state"].map(|key| job[key].as_str().unwrap());
    assert_eq!(told, ["codex", "mine", "g", "done"]);
    stage.play([Dialect::of("claude").ok("Other.").told()]);
    let other = stage.submit("claude");
    assert_eq!(stage.waited(&other)["state"], "done");
    let ids = |outcome: &Outcome| -> Vec<String> {
        let listing = outcome.json("jobs");
        let jobs = listing["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&shim(&["list", "--json"]).run()), std::slice::from_ref(&id));
    assert_eq!(ids(&stage.over(&["list", "--json"])).len(), 2);
    assert_eq!(ids(&stage.over(&["list", "--group", "g", "--label", "mine", "--json"])), [id]);
    // A job's id says which job is meant.
    let status = shim(&["status", &other, "--json"]).run();
    assert_eq!(status.json("job")["backend"], "claude", "{status:?}");
    assert_eq!(shim(&["read", &other]).run().text(), "Other.");
    for words in [&["cleanup", "--keep", "0"][..], &["wait", "--all"], &["wait", "--group", "g"]] {
        let refused = shim(words).arg("--json").run();
        assert_eq!(refused.code(), 2, "{refused:?}");
        assert_eq!(refused.json("error")["error"]["code"], "usage_error");
    }
    for verb in ["run", "submit", "list", "status", "doctor"] {
        let twice = shim(&[verb, "--backend", "claude", "--json"]).run();
        let message = twice.json("error")["error"]["message"].to_string();
        assert!(twice.code() == 2 && message.contains("already chooses"), "{twice:?}");
    }
    assert_eq!(ids(&stage.over(&["list", "--json"])).len(), 2);
}

#[test]
fn a_command_line_that_no_command_over_jobs_reads_is_json_where_json_was_asked_for() {
    let stage = Stage::new([]);
    let verbs =
        ["run", "submit", "status", "wait", "read", "list", "tail", "debug", "cancel", "cleanup"];
    for verb in verbs {
        let outcome = stage.over(&[verb, "--json", "--frobnicate"]);
        let error = outcome.json("error")["error"].clone();
        assert_eq!((outcome.code(), &error["class"]), (2, &"usage_error".into()), "{outcome:?}");
        assert_eq!(error["job_created"], false);
    }
}
