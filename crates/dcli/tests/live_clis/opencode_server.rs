//! opencode as the server of a job: what it answers, where it fails, and how it is stopped.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::model::{Scenario, Turn, Usage};
use serde_json::{Value, json};

use super::case::Case;
use super::pool::{self, Cell};
use super::said::{ended, over, say, submit, with_prompt};
use super::scene::Scene;

const ANSWER: &str = "the answer of a server\nin two lines";
/// Ends only when it is ended, and holds nobody's output open.
const STAYS: &str = "tail -f /dev/null >/dev/null 2>&1";

type Look = fn(&Case);

#[test]
fn a_job_of_opencodes_server_ends_as_its_session_did() {
    let kinds: [(&str, Look); 8] = [
        ("text", text),
        ("steps", several_steps),
        ("large", a_large_answer),
        ("http-401", refused),
        ("http-429", recovering),
        ("model", unknown_model),
        ("variant", unknown_variant),
        ("cancel", cancelled),
    ];
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| case.id() == CliId::Opencode).collect();
    let cells = kinds
        .iter()
        .flat_map(|(what, look)| cases.iter().map(move |case| Cell::new(what, case, *look)));
    pool::run("opencode's server", &cells.collect::<Vec<_>>());
}

fn billed(turn: Turn) -> Turn {
    let usage = Usage { input: 101, cached: 11, cache_write: 0, output: 17, reasoning: 3 };
    Turn { usage: Some(usage), ..turn }
}

/// Its status, and the answer as `read` prints it.
fn done(scene: &Scene, words: &[&str]) -> (Value, String) {
    let id = submit(scene, "workspace", words);
    let status = ended(scene, &id);
    let read = over(scene, &["read", &id]);
    assert!(scene.marker.alive().is_empty(), "{status:#}");
    (status, read.out)
}

fn text(case: &Case) {
    let scene = Scene::new(case, Scenario::of([billed(Turn::text(ANSWER))]));
    let (status, answer) = done(&scene, &[]);
    assert_eq!((&status["state"], &*answer), (&json!("done"), ANSWER), "{status:#}");
    assert_eq!(status["tokens"]["total"], 118, "{status:#}");
    assert_eq!(status["backend_version"], case.id().version(), "{status:#}");
    assert!(status["backend_session_id"].as_str().unwrap().starts_with("ses_"), "{status:#}");
    let state = &status["backend_state"];
    let work = scene.room.work().canonicalize().unwrap();
    assert_eq!(state["directory"], work.to_str().unwrap(), "{status:#}");
    assert!(state["project_id"].is_string(), "{status:#}");
    case.keep("16", "server-text", "normal", "done, 118 tokens of one step".to_owned());
}

/// A file, a command, reasoning, and the answer: tokens are those of three steps.
fn several_steps(case: &Case) {
    let reasoned = Turn { reasoning: Some("let me think".to_owned()), ..Turn::shell("echo said") };
    let turns = [Turn::write("written.txt", "by the agent\n"), reasoned, Turn::text(ANSWER)];
    let scene = Scene::new(case, Scenario::of(turns.map(billed)));
    let (status, answer) = done(&scene, &[]);
    assert_eq!((&status["state"], &*answer), (&json!("done"), ANSWER), "{status:#}");
    let written = std::fs::read_to_string(scene.in_work("written.txt")).unwrap();
    assert_eq!(written, "by the agent\n");
    assert_eq!(status["tokens"]["total"], 3 * 118, "{status:#}");
    let id = status["job_id"].as_str().unwrap();
    let tail = over(&scene, &["tail", id, "--json"]).out;
    let count = |kind: &str| tail.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!((count("tool_invoked"), count("tool_result")), (2, 2), "{tail}");
    assert_eq!((count("assistant_text"), count("reasoning")), (1, 1), "{tail}");
    case.keep("16", "server-steps", "normal", "done, 354 tokens of three steps".to_owned());
}

/// `opencode run` cuts such an answer on a pipe and exits 0.
fn a_large_answer(case: &Case) {
    let turn = Turn { bytes: Some(1 << 20), ..Turn::default() };
    let scene = Scene::new(case, Scenario::of([turn]));
    let (status, answer) = done(&scene, &[]);
    assert_eq!((&status["state"], answer.len()), (&json!("done"), 1 << 20), "{status:#}");
    case.keep("16", "server-large", "normal", "1 MiB whole".to_owned());
}

fn refused(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::status(401)]));
    let (status, answer) = done(&scene, &[]);
    let found = (&status["failure"]["class"], &status["command_exit_code"]);
    assert_eq!(found, (&json!("auth"), &json!(13)), "{status:#}");
    assert_eq!((&status["failure"]["http_code"], &*answer), (&json!(401), ""), "{status:#}");
    case.keep("16", "server-http-401", "normal", "auth, exit 13".to_owned());
}

/// What it waits for is told while it waits, and the answer counts.
fn recovering(case: &Case) {
    let busy = Turn { retry_after: Some(1), ..Turn::status(429) };
    let scene = Scene::new(case, Scenario::of([busy.clone(), busy, billed(Turn::text(ANSWER))]));
    let (status, answer) = done(&scene, &[]);
    assert_eq!((&status["state"], &*answer), (&json!("done"), ANSWER), "{status:#}");
    let id = status["job_id"].as_str().unwrap();
    let tail = over(&scene, &["tail", id, "--json"]).out;
    assert!(tail.contains(r#""status":"retrying""#), "{tail}");
    assert!(tail.contains(r#""attempt":1"#), "{tail}");
    case.keep("16", "server-http-429", "normal", "retries told, then done".to_owned());
}

/// The server takes such a prompt with 204 and says nothing more.
fn unknown_model(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::text(ANSWER)]));
    let (status, _) = done(&scene, &["--model", "stub/nonesuch"]);
    let found = (&status["failure"]["class"], &status["command_exit_code"]);
    assert_eq!(found, (&json!("backend_execution_failed"), &json!(10)), "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("stub/nonesuch") && reason.contains("stub/stub-model"), "{reason}");
    assert!(scene.server.main_requests().is_empty(), "the model was asked");
    case.keep("16", "server-model", "normal", reason.to_owned());
}

/// The server runs such a prompt as if there were no variant.
fn unknown_variant(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::text(ANSWER)]));
    let (status, _) = done(&scene, &["--variant", "nonesuch"]);
    assert_eq!(status["command_exit_code"], 10, "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("nonesuch"), "{reason}");
    assert!(scene.server.main_requests().is_empty(), "the model was asked");
    case.keep("16", "server-variant", "normal", reason.to_owned());
}

/// In the middle of a tool: the session is told to stop first.
fn cancelled(case: &Case) {
    let command = format!("setsid {STAYS} & touch started; {STAYS}");
    let scene = Scene::new(case, Scenario::of([Turn::shell(&command), Turn::text(ANSWER)]));
    let mut command = scene.asking("submit", "workspace", &case.cli.program);
    command.arg("--json");
    let submitted = say(with_prompt(command)).json("submit");
    let id = submitted["job_id"].as_str().unwrap().to_owned();
    let started = scene.in_work("started");
    wait_until("the tool to run", 3 * HANG_LIMIT, || started.exists()).unwrap();
    over(&scene, &["cancel", &id, "--json"]);
    let status = ended(&scene, &id);
    let found = (&status["state"], &status["cancel_rung_reached"]);
    assert_eq!(found, (&json!("cancelled"), &json!("session_abort")), "{status:#}");
    assert_eq!(status["command_exit_code"], 30, "{status:#}");
    assert!(scene.marker.alive().is_empty(), "{status:#}");
    case.keep("16", "server-cancel", "cancel", "session_abort, exit 30, nothing left".to_owned());
}
