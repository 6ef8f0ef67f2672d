//! The real server behind a bad line: what is lost, late, cut or doubled on it, a job comes to a true
//! end. Two hundred seeds of it are played with the fake server, in the suite of scripted agents.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Turn};
use dcli_testkit::programs::program;

use super::case::Case;
use super::pool::{self, Cell};
use super::said::{say, with_prompt};
use super::scene::Scene;

const SEEDS: u64 = 8;
const ANSWER: &str = "the answer behind the line";

#[test]
fn a_job_of_the_real_server_over_a_bad_line_comes_to_a_true_end() {
    // The test may run as root alone: an ordinary user has no way to the program of this build.
    let own = rustix::process::getuid().as_raw();
    let cases = Case::all().into_iter();
    let cases = cases.filter(|case| case.id() == CliId::Opencode && case.uid == own);
    let cells = cases.flat_map(|case| {
        (0..SEEDS).map(move |seed| Cell::new("a bad line", &case, move |case| over(case, seed)))
    });
    pool::run("bad lines", &cells.collect::<Vec<_>>());
}

fn over(case: &Case, seed: u64) {
    let scene = Scene::new(case, Scenario::of([Turn::shell("touch made"), Turn::text(ANSWER)]));
    let line = program("dcli-lossy-opencode").unwrap();
    let mut command = scene.asking("run", "workspace", &line);
    command.env("LOSSY_PROGRAM", &case.cli.program).env("LOSSY_SEED", seed.to_string());
    command.env("LOSSY_RATE", (4 + 3 * seed).to_string()).env("LOSSY_STALL_MS", "2000");
    command.args(["--allow", "bash", "--ask", "webfetch", "--hard-timeout-sec", "200", "--json"]);
    let said = say(with_prompt(command));
    let job: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let end = (job["state"].as_str().unwrap(), job["command_exit_code"].as_u64().unwrap());
    assert_eq!(said.code.map(|code| code.unsigned_abs().into()), Some(end.1), "{said:#?}");
    let is_made = scene.in_work("made").exists();
    let is_true = match end {
        ("done", 0) => is_made && job["envelope"]["data"]["result"] == ANSWER,
        ("failed", 10 | 12) => !is_made,
        _ => false,
    };
    assert!(is_true, "seed {seed}: {job:#}");
    assert!(scene.marker.alive().is_empty());
    case.keep("20", "real-line", "normal", format!("seed {seed}: {} {}", end.0, end.1));
}
