//! A model that refuses, and one that falls silent.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::model::{Scenario, Stall, Turn};

use super::case::Case;
use super::pool::{self, Cell};
use super::scene::{RUN_LIMIT, Scene};

/// What a refusal comes to, whichever CLI met it.
const STATUSES: [(u16, &str, i32); 3] =
    [(500, "backend_execution_failed", 10), (429, "quota_or_rate_limit", 14), (401, "auth", 13)];

#[test]
fn a_refusal_of_the_model_has_its_class_and_exit_code() {
    let mut cells = Vec::new();
    for case in Case::all() {
        for (status, class, code) in STATUSES {
            let look = move |case: &Case| refusal(case, status, class, code);
            let cell = Cell::new(&format!("{status}"), &case, look);
            // Qwen Code 0.15.10 tries seven times within 80 s, and has no setting for that.
            let waits = case.id() == CliId::Qwen && status != 401;
            cells.push(Cell { waits, ..cell });
        }
    }
    pool::run("refusals", &cells);
}

#[test]
fn a_model_that_falls_silent_is_ended_by_the_idle_deadline() {
    let cases = Case::all();
    let cells: Vec<Cell> = cases.iter().map(|case| Cell::new("silence", case, silence)).collect();
    pool::run("silence", &cells);
}

fn refusal(case: &Case, status: u16, class: &str, code: i32) {
    let turn = Turn { retry_after: asked_to_wait(case, status), ..Turn::status(status) };
    let scene = Scene::new(case, Scenario::of([turn]));
    let ran = scene.run(scene.exec("unconfined"));
    assert_eq!((ran.status(), ran.code), ("failed", Some(code)), "{ran:#?}");
    assert_eq!(ran.report()["failure"]["class"], class, "{ran:#?}");
    let requests = scene.server.main_requests().len();
    assert!((1..=40).contains(&requests), "{requests} requests, {ran:#?}");
    let said = &ran.envelope["errors"][0]["message"];
    let seen = format!("{class}, exit {code}, after {requests} requests: {said}");
    case.keep("2", &format!("http-{status}"), "normal", seen);
}

/// opencode 1.18.33 cannot be told how often to try again, but waits only for so many seconds as
/// the server asks for.
fn asked_to_wait(case: &Case, status: u16) -> Option<u64> {
    (case.id() == CliId::Opencode && status != 401).then_some(1)
}

fn silence(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::stalled(Stall::Mid)]));
    let mut command = scene.exec("unconfined");
    command.args(["--idle-timeout-sec", "3"]);
    let mut going = scene.start(command);
    let asked = scene.server.wait_requests(1, RUN_LIMIT).unwrap();
    assert!(!going.has_ended(), "it ended before the model was asked");
    let ran = going.end();
    assert_eq!((ran.status(), ran.code), ("failed", Some(24)), "{ran:#?}");
    assert_eq!(ran.report()["exit"]["kind"], "deadline_idle", "{ran:#?}");
    let main = scene.server.main_requests();
    let silent = main.last().unwrap().index;
    scene.server.wait_left(silent, HANG_LIMIT).unwrap();
    let seen =
        format!("request {silent} of {} seen, then deadline_idle, then hung up", asked.len());
    case.keep("2", "stalled-model", "deadline", seen);
}
