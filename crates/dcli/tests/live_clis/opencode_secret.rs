//! The password of a job's server is kept nowhere; and what a tool can do with it, since it can read
//! it, ends the job.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::path::Path;

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Turn};
use serde_json::json;

use super::case::Case;
use super::pool::{self, Cell, Kind};
use super::said::{ended, over, submit};
use super::scene::Scene;

const DONE: &str = "all of it was tried";
/// Answers every permission of every server whose password it was given.
const STEALS: &str = include_str!("steal.js");

#[test]
fn a_password_is_kept_nowhere_and_an_answer_that_dcli_did_not_give_ends_the_job() {
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| case.id() == CliId::Opencode).collect();
    let kinds: [Kind; 2] =
        [("kept nowhere", kept_nowhere), ("answered by the tool", answered_by_the_tool)];
    let cells = kinds
        .iter()
        .flat_map(|(what, look)| cases.iter().map(move |case| Cell::new(what, case, *look)));
    pool::run("passwords", &cells.collect::<Vec<_>>());
}

/// The tool prints it, into its own output and into a file of the workspace: so it can be read. No
/// byte of it is in the state root, in an argument, or in what commands print.
fn kept_nowhere(case: &Case) {
    let print = "printenv OPENCODE_SERVER_PASSWORD | tee printed; \
                 tr '\\0' ' ' < /proc/$PPID/cmdline > line";
    let scene = Scene::new(case, Scenario::of([Turn::shell(print), Turn::text(DONE)]));
    let id = submit(&scene, "unconfined", &[]);
    let status = ended(&scene, &id);
    assert_eq!(status["state"], "done", "{status:#}");
    let printed = std::fs::read_to_string(scene.in_work("printed")).unwrap();
    let password = printed.trim();
    assert_eq!(password.len(), 64, "a tool cannot read it any more: the documentation says it can");
    let line = std::fs::read_to_string(scene.in_work("line")).unwrap();
    assert!(line.contains("serve") && !line.contains(password), "{line}");
    let found = files_with(&scene.room.state(), password);
    assert!(found.is_empty(), "{found:?}");
    let commands = [
        &["debug", &*id][..],
        &["tail", &id, "--json"],
        &["tail", &id, "--raw"],
        &["status", &id, "--json"],
    ];
    for words in commands {
        let said = over(&scene, words);
        assert!(!said.out.contains(password) && !said.err.contains(password), "{words:?}");
    }
    let raw = over(&scene, &["tail", &id, "--raw"]).out;
    assert!(raw.contains("«redacted:OPENCODE_SERVER_PASSWORD»"), "it was never there to cover");
    let seen = "a tool reads it; no file, argument or output of ours has it".to_owned();
    case.keep("19", "password-nowhere", "normal", seen);
}

/// A process that an earlier command left answers the next command's permission, as only dcli may.
fn answered_by_the_tool(case: &Case) {
    let left = "setsid node steal.js >/dev/null 2>&1 < /dev/null & echo left";
    let turns = [Turn::shell(left), Turn::shell("touch stolen"), Turn::text(DONE)];
    let scene = Scene::new(case, Scenario::of(turns));
    scene.room.file("work/steal.js", STEALS).unwrap();
    let id = submit(&scene, "workspace", &["--attended=100", "--ask", "bash:touch*"]);
    let status = ended(&scene, &id);
    assert_eq!(status["command_exit_code"], 15, "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("answered by somebody else"), "{reason}");
    assert_eq!(status["state"], json!("failed"), "{status:#}");
    assert!(scene.marker.alive().is_empty());
    case.keep("19", "foreign-answer", "normal", reason.to_owned());
}

/// Every file below `directory` that holds `text`.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_with(&path, text));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        if String::from_utf8_lossy(&bytes).contains(text) {
            found.push(path.display().to_string());
        }
    }
    found
}
