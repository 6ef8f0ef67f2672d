//! Real CLIs as jobs: handed over, waited for, read, listed, followed, looked into, removed.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::path::Path;

use dcli_core::schema::find;
use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Turn, Usage};
use dcli_testkit::schema::check;
use serde_json::Value;

use super::case::Case;
use super::pool::{self, Cell};
use super::said::{over, say, with_prompt};
use super::scene::Scene;

const ANSWER: &str = "the answer of a job\nin two lines";
/// What the model has the CLI's own shell say.
const SAID: &str = "said-by-the-shell";

#[test]
fn every_cli_goes_through_the_verbs_as_a_job() {
    let (main, others): (Vec<Case>, Vec<Case>) =
        Case::all().into_iter().partition(|case| is_main(case.id()));
    // The others start slowly, and what is new for them is the record alone: one job, one user.
    let others = others.iter().filter(|case| case.uid != 0);
    let others = others.map(|case| Cell::new("a job", case, one_job));
    let cells = main.iter().map(|case| Cell::new("verbs", case, verbs)).chain(others);
    pool::run("jobs", &cells.collect::<Vec<_>>());
}

fn is_main(id: CliId) -> bool {
    matches!(id, CliId::Claude197 | CliId::Claude332 | CliId::Codex)
}

/// A shell command and a text, for each of three runs: one-shot, in the background, in the
/// foreground. Each has the same figures.
fn script() -> Scenario {
    let usage = Some(Usage { input: 101, cached: 11, cache_write: 0, output: 17, reasoning: 3 });
    let tool = Turn { usage, ..Turn::shell(&format!("echo {SAID}")) };
    let text = Turn { usage, ..Turn::text(ANSWER) };
    Scenario::of([tool, text].into_iter().cycle().take(6))
}

fn verbs(case: &Case) {
    let scene = Scene::new(case, script());
    let one_shot = scene.run(scene.exec("unconfined"));
    assert_eq!(one_shot.answer(), ANSWER, "{one_shot:#?}");
    let after_exec = one_shot.report()["backend_session_id"].as_str().unwrap();

    let status = looked_at(&scene);
    assert_eq!(status["tokens"]["total"].as_u64(), one_shot.usage(), "{status:#}");
    assert_eq!(status["tokens"], one_shot.report()["tokens"], "{status:#}");
    let session = status["backend_session_id"].as_str().unwrap();
    assert_ne!(session, after_exec);
    sessions(&scene, after_exec, session);
    let ran = foreground(&scene);
    assert_eq!(ran["tokens"], status["tokens"], "{ran:#}");
    cleanup(&scene, &[&status, &ran]);
    let total = &status["tokens"]["total"];
    let seen = format!("{total} tokens as exec's, one tool call in tail, nothing after cleanup");
    case.keep("8", "verbs", "normal", seen);
}

/// The same without a one-shot run before and a job in the foreground after it.
fn one_job(case: &Case) {
    let scene = Scene::new(case, script());
    let status = looked_at(&scene);
    assert!(status["tokens"]["total"].as_u64() > Some(0), "{status:#}");
    assert!(status["backend_session_id"].is_string(), "{status:#}");
    cleanup(&scene, &[&status]);
    let total = &status["tokens"]["total"];
    let seen = format!("{total} tokens, one tool call in tail, nothing after cleanup");
    case.keep("8", "one-job", "normal", seen);
}

/// A job that was handed over, waited for, and looked at in every way: its status.
fn looked_at(scene: &Scene) -> Value {
    let id = submit(scene);
    let waited = over(scene, &["wait", &id, "--timeout-sec", "120", "--json"]).json("job");
    let status = over(scene, &["status", &id, "--json"]).json("job");
    assert_eq!(status, waited);
    assert_eq!((&status["state"], &status["phase"]), (&"done".into(), &"terminal".into()));
    assert_eq!(status["backend_version"], scene.case.id().version(), "{status:#}");
    read(scene, &id);
    listed(scene, &id, &status);
    tail(scene, &id);
    debug(scene, &id, &status);
    status
}

fn submit(scene: &Scene) -> String {
    let mut command = scene.asking("submit", "unconfined", &scene.case.cli.program);
    command.args(["--group", "night", "--label", "the first", "--json"]);
    let submitted = say(with_prompt(command)).json("submit");
    assert_eq!((&submitted["group"], &submitted["label"]), (&"night".into(), &"the first".into()));
    submitted["job_id"].as_str().unwrap().to_owned()
}

fn read(scene: &Scene, id: &str) {
    let read = over(scene, &["read", id]);
    assert_eq!((read.code, &*read.out, &*read.err), (Some(0), ANSWER, ""), "{read:#?}");
}

fn listed(scene: &Scene, id: &str, status: &Value) {
    let work = scene.room.work();
    let words = ["list", "--group", "night", "--json", "--cwd", work.to_str().unwrap()];
    let listing = over(scene, &words).json("jobs");
    let jobs = listing["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1, "{listing:#}");
    assert_eq!((&jobs[0]["job_id"], &jobs[0]["tokens"]), (&id.into(), &status["tokens"]));
}

/// One tool call with its end, the answer, and the exit at the end.
fn tail(scene: &Scene, id: &str) {
    let tail = over(scene, &["tail", id, "--json"]);
    let schema = find("fact").unwrap().schema();
    let facts: Vec<Value> =
        tail.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for fact in &facts {
        check(&schema, fact).unwrap();
    }
    let of = |kind: &str| facts.iter().filter(|fact| fact["type"] == kind).collect::<Vec<_>>();
    let calls = of("tool_invoked");
    assert_eq!(calls.len(), 1, "{tail:#?}");
    assert!(calls[0]["summary"].to_string().contains(SAID), "{tail:#?}");
    assert_eq!(of("tool_result").len(), 1, "{tail:#?}");
    // Gemini CLI 0.61.0 tells its answer in pieces.
    let texts = of("assistant_text");
    let told: String = texts.iter().filter_map(|fact| fact["text"].as_str()).collect();
    assert!(told.contains(ANSWER), "{tail:#?}");
    assert_eq!(facts.last().unwrap()["type"], "process_exited", "{tail:#?}");
    let raw = over(scene, &["tail", id, "--raw"]);
    assert!(raw.code == Some(0) && raw.out.contains(SAID), "{raw:#?}");
}

fn debug(scene: &Scene, id: &str, status: &Value) {
    let bundle = over(scene, &["debug", id]).json("debug");
    assert_eq!(bundle["problems"], serde_json::json!([]), "{bundle:#}");
    assert_eq!(bundle["status"]["tokens"], status["tokens"]);
    assert_eq!(bundle["journal"].as_array().unwrap().last().unwrap()["type"], "ended");
    assert!(!bundle.to_string().contains(scene.marker.value()), "a value of --env is kept");
}

/// A job keeps the vendor's session, to go on with; a one-shot run of claude keeps none.
fn sessions(scene: &Scene, after_exec: &str, of_job: &str) {
    let home = scene.room.home();
    let kept = |session: &str| has_file_named(&home, session);
    if scene.case.id() != CliId::Codex {
        assert!(!kept(after_exec), "exec kept a session");
    }
    assert!(kept(of_job), "the job kept no session {of_job}");
    let seen = "a session file after the job".to_owned();
    scene.case.keep("8", "session-kept", "normal", seen);
}

fn has_file_named(directory: &Path, part: &str) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => has_file_named(&entry.path(), part),
            false => entry.file_name().to_string_lossy().contains(part),
        }
    })
}

fn foreground(scene: &Scene) -> Value {
    let mut command = scene.asking("run", "unconfined", &scene.case.cli.program);
    command.arg("--json");
    let job = say(with_prompt(command)).json("job");
    assert_eq!(job["state"], "done", "{job:#}");
    assert_eq!(job["envelope"]["data"]["result"], ANSWER, "{job:#}");
    job
}

/// A dry run names the jobs, the run itself removes them, and nothing of them is found then.
fn cleanup(scene: &Scene, jobs: &[&Value]) {
    let ids: Vec<&str> = jobs.iter().map(|job| job["job_id"].as_str().unwrap()).collect();
    let clean = |more: &[&str]| {
        let words = ["cleanup", "--all-repos", "--older-than", "0s", "--json"];
        over(scene, &[&words, more].concat()).json("cleanup")
    };
    let (would, did) = (clean(&["--dry-run"]), clean(&[]));
    for report in [&would, &did] {
        let removed = report["removed"].as_array().unwrap();
        let removed: Vec<&str> =
            removed.iter().map(|job| job["job_id"].as_str().unwrap()).collect();
        assert_eq!(removed, ids, "{report:#}");
    }
    assert!(ids.iter().all(|id| over(scene, &["status", id]).code == Some(3)), "{did:#}");
    assert!(ids.iter().all(|id| !has_file_named(&scene.room.state(), id)), "{did:#}");
}
