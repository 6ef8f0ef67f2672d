//! Work that Claude Code announced as running in the background, and that never came to its end:
//! there is an answer, and yet it is no success.

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Tool, Turn};
use serde_json::json;

use super::case::Case;
use super::pool::{self, Cell};
use super::scene::{Ran, Scene};

#[test]
fn an_answer_beside_stopped_background_work_is_never_ok() {
    pool::run("stopped background work", &of_claude("stopped", stopped));
}

#[test]
fn an_answer_after_background_work_that_came_to_its_end_is_ok() {
    pool::run("settled background work", &of_claude("settled", settled));
}

fn of_claude(what: &str, look: fn(&Case)) -> Vec<Cell> {
    let cases = Case::all();
    let claude = cases.iter().filter(|case| case.id().backend() == "claude");
    claude.map(|case| Cell::new(what, case, look)).collect()
}

fn in_background(command: &str) -> Turn {
    let args = json!({"command": command, "description": "work", "run_in_background": true});
    Turn::tool(Tool::Raw { name: "Bash".to_owned(), args })
}

/// 2.1.197 stops the work soon after its result; 2.1.332 would wait for it for ten minutes, so that
/// it is dcli's deadline that stops it.
fn stopped(case: &Case) {
    let turns = [in_background("tail -f /dev/null"), Turn::text("left it running")];
    let scene = Scene::new(case, Scenario::of(turns));
    let mut command = scene.exec("unconfined");
    let (code, error) = if case.id() == CliId::Claude332 {
        command.args(["--idle-timeout-sec", "5"]);
        (24, "executorTimedOut")
    } else {
        (10, "executorIncomplete")
    };
    let ran = scene.run(command);
    assert_eq!((ran.status(), ran.code), ("failed", Some(code)), "{ran:#?}");
    assert_eq!(ran.envelope["errors"][0]["code"], error, "{ran:#?}");
    assert_eq!(kept(&ran), "left it running", "{ran:#?}");
    case.keep("5", "background-work-stopped", "normal", format!("an answer, and yet {error}"));
}

fn settled(case: &Case) {
    let turns = [
        in_background("touch ended"),
        Turn::shell("until [ -e ended ]; do sleep 0.05; done; sleep 1"),
        Turn::text("it is over"),
    ];
    let scene = Scene::new(case, Scenario::of(turns));
    let ran = scene.run(scene.exec("unconfined"));
    assert_eq!(ran.answer(), "it is over");
    case.keep("5", "background-work-settled", "normal", "settled work, ok".to_owned());
}

/// The payload, which a failure keeps.
fn kept(ran: &Ran) -> &str {
    ran.envelope["data"]["result"].as_str().unwrap_or_default()
}
