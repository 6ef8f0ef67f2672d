//! opencode's server asks in every place where it can, and nobody is there; and it ends in every way
//! with nothing left behind.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::model::{Scenario, Stall, Tool, Turn};
use serde_json::{Value, json};

use super::case::Case;
use super::pool::{self, Cell, Kind};
use super::said::{ended, over, say, submit, with_prompt};
use super::scene::Scene;

const DONE: &str = "all of it was tried";
/// Ends only when it is ended, and holds nobody's output open.
const STAYS: &str = "tail -f /dev/null >/dev/null 2>&1";

#[test]
fn what_nobody_can_answer_is_rejected_and_named_wherever_it_is_asked() {
    let kinds: [Kind; 8] = [
        ("permission-root", permission_in_the_root),
        ("permission-child", permission_in_a_child),
        ("question", question),
        ("external-directory", external_directory),
        ("doom-loop", doom_loop),
        ("http-500", |case| failing(case, 500, ("backend_execution_failed", 10))),
        ("http-403", |case| failing(case, 403, ("auth", 13))),
        ("stall", stall),
    ];
    run("unattended", &kinds);
}

/// Whether dcli may contain the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    On,
    Off,
}

#[test]
fn nothing_of_a_server_is_left_after_any_ending() {
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| case.id() == CliId::Opencode).collect();
    let mut cells = Vec::new();
    for case in &cases {
        for ending in ["normal", "cancel", "deadline", "kill9"] {
            let look = move |protection| move |case: &Case| nothing_left(case, ending, protection);
            cells.push(Cell::new(ending, case, look(Protection::On)));
            cells.push(Cell::new(&format!("{ending}, control"), case, look(Protection::Off)));
        }
    }
    pool::run("servers' ends", &cells);
}

fn run(suite: &str, kinds: &[Kind]) {
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| case.id() == CliId::Opencode).collect();
    let cells = kinds
        .iter()
        .flat_map(|(what, look)| cases.iter().map(move |case| Cell::new(what, case, *look)));
    pool::run(suite, &cells.collect::<Vec<_>>());
}

fn job(scene: &Scene, access: &str, words: &[&str]) -> Value {
    let id = submit(scene, access, words);
    ended(scene, &id)
}

fn only(status: &Value) -> &Value {
    let all = status["interactions"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{status:#}");
    &all[0]
}

fn permission_in_the_root(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::shell("touch asked"), Turn::text(DONE)]));
    let status = job(&scene, "workspace", &["--ask", "bash"]);
    assert_eq!(only(&status)["outcome"], "rejected_unattended", "{status:#}");
    assert_eq!(only(&status)["detail"]["session"], "root", "{status:#}");
    assert_eq!((&status["state"], scene.in_work("asked").exists()), (&json!("done"), false));
    assert!(status["warnings"].to_string().contains("bash (touch asked)"), "{status:#}");
    case.keep("16", "permission-root", "normal", "rejected, named, the agent went on".to_owned());
}

/// opencode's own loop never answers what a child asks.
fn permission_in_a_child(case: &Case) {
    let args = json!({"description": "child", "prompt": "touch it", "subagent_type": "general"});
    let task = Turn::tool(Tool::Raw { name: "task".to_owned(), args });
    let turns =
        [task, Turn::shell("touch asked"), Turn::text("the child is done"), Turn::text(DONE)];
    let scene = Scene::new(case, Scenario::of(turns));
    let status = job(&scene, "workspace", &["--ask", "bash"]);
    assert_eq!(only(&status)["outcome"], "rejected_unattended", "{status:#}");
    assert_eq!(only(&status)["detail"]["session"], "child", "{status:#}");
    assert_eq!((&status["state"], scene.in_work("asked").exists()), (&json!("done"), false));
    assert_eq!(over(&scene, &["read", status["job_id"].as_str().unwrap()]).out, DONE);
    // Four answers of the model, a child's two among them.
    let total = status["tokens"]["total"].as_u64().unwrap();
    assert_eq!(total % 4, 0, "{status:#}");
    case.keep(
        "16",
        "permission-child",
        "normal",
        format!("rejected; {total} tokens of four answers"),
    );
}

fn question(case: &Case) {
    let ask = Turn::tool(Tool::Ask { question: "which of the two?".to_owned() });
    let scene = Scene::new(case, Scenario::of([ask, Turn::text(DONE)]));
    let status = job(&scene, "workspace", &[]);
    assert_eq!(only(&status)["outcome"], "rejected_unattended", "{status:#}");
    assert_eq!(status["command_exit_code"], 15, "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("question"), "{reason}");
    case.keep("16", "question", "normal", reason.to_owned());
}

fn external_directory(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        let outside = room.directory("outside").unwrap().join("written");
        Scenario::of([Turn::write(outside.to_str().unwrap(), "x"), Turn::text(DONE)])
    });
    let status = job(&scene, "workspace", &[]);
    assert!(!scene.room.path().join("outside/written").exists(), "{status:#}");
    assert_eq!(status["state"], "done", "{status:#}");
    case.keep("16", "external-directory", "normal", "denied, the agent went on".to_owned());
}

/// The third like call in one answer; opencode ends the turn, and no message of it says why.
fn doom_loop(case: &Case) {
    let call = Tool::Shell { command: "echo again".to_owned() };
    let turn = Turn { tools: vec![call.clone(), call.clone(), call], ..Turn::default() };
    let scene = Scene::new(case, Scenario::of([turn, Turn::text(DONE)]));
    let status = job(&scene, "workspace", &[]);
    assert_eq!(status["command_exit_code"], 15, "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("doom_loop"), "{reason}");
    case.keep("16", "doom-loop", "normal", reason.to_owned());
}

fn failing(case: &Case, code: u16, (class, exit): (&str, u64)) {
    let scene =
        Scene::new(case, Scenario::of([Turn { retry_after: Some(1), ..Turn::status(code) }]));
    let status = job(&scene, "workspace", &[]);
    let found = (&status["failure"]["class"], &status["command_exit_code"]);
    assert_eq!(found, (&json!(class), &json!(exit)), "{status:#}");
    assert_eq!(status["failure"]["http_code"], code, "{status:#}");
    case.keep("16", &format!("http-{code}"), "normal", format!("{class}, exit {exit}"));
}

fn stall(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::stalled(Stall::Mid)]));
    let status = job(&scene, "workspace", &["--idle-timeout-sec", "20"]);
    let found = (&status["state"], &status["exit_kind"], &status["command_exit_code"]);
    assert_eq!(found, (&json!("timed_out"), &json!("deadline_idle"), &json!(24)), "{status:#}");
    assert!(scene.marker.alive().is_empty());
    case.keep("16", "stall", "deadline", "idle deadline, exit 24, nothing left".to_owned());
}

/// Plain background, nohup, sessions of their own, an orphan, and the foreground. With containment
/// switched off in this debug build something has to be left, or the look is worth nothing.
fn nothing_left(case: &Case, ending: &str, protection: Protection) {
    let last = if ending == "normal" { "true" } else { STAYS };
    let command = format!(
        "{STAYS} & nohup {STAYS} & setsid {STAYS} & (setsid {STAYS} &); touch started; {last}"
    );
    let scene = Scene::new(case, Scenario::of([Turn::shell(&command), Turn::text(DONE)]));
    let id = hand_over(&scene, ending, protection);
    let started = scene.in_work("started");
    wait_until("the tools to run", 3 * HANG_LIMIT, || started.exists()).unwrap();
    let before = scene.marker.alive().len();
    match ending {
        "cancel" => drop(over(&scene, &["cancel", &id, "--json"])),
        "kill9" => kill_worker(&scene, &id),
        _ => {}
    }
    let status = ended(&scene, &id);
    if protection == Protection::On {
        judged(&scene, &status, ending);
        // The kernel is still at it when the worker's own end is already known.
        let _ = scene.marker.wait_gone(HANG_LIMIT);
    }
    let after = scene.marker.alive();
    scene.marker.kill_all(HANG_LIMIT).unwrap();
    let observed = format!("{before} processes before, {} after", after.len());
    let (red, disabled) = (!after.is_empty(), protection == Protection::Off);
    let row = case.row("16", "server-no-survivor", ending, observed);
    dcli_testkit::evidence::Row { red, disabled, ..row }.keep().unwrap();
    assert_eq!(red, disabled, "{after:?}");
}

fn hand_over(scene: &Scene, ending: &str, protection: Protection) -> String {
    let mut command = scene.asking("submit", "workspace", &scene.case.cli.program);
    if ending == "deadline" {
        command.args(["--hard-timeout-sec", "60"]);
    }
    if protection == Protection::Off {
        command.env("DCLI_TEST_UNCONTAINED", "1");
    }
    let submitted = say(with_prompt({
        command.arg("--json");
        command
    }));
    submitted.json("submit")["job_id"].as_str().unwrap().to_owned()
}

fn judged(scene: &Scene, status: &Value, ending: &str) {
    let wanted = match ending {
        "normal" => "done",
        "cancel" => "cancelled",
        "deadline" => "timed_out",
        _ => "interrupted",
    };
    assert_eq!(status["state"], wanted, "{status:#}");
    if ending == "cancel" {
        assert_eq!(status["cancel_rung_reached"], "session_abort", "{status:#}");
    }
    let id = status["job_id"].as_str().unwrap();
    let record = scene.room.state().join("servers").join(format!("{id}.json"));
    assert!(!record.exists(), "the server's record is left");
}

/// SIGKILL to the job's worker, and to nothing else.
pub(crate) fn kill_worker(scene: &Scene, id: &str) {
    let status = over(scene, &["status", id, "--json"]).json("job");
    let pid = i32::try_from(status["worker_pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
