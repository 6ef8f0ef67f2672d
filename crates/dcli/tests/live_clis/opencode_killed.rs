//! SIGKILL to the worker of an opencode job at random moments of all its ways: no server survives, and
//! the job's record tells the truth.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::model::{Scenario, Turn};

use super::case::Case;
use super::opencode_asks::kill_worker;
use super::pool::{self, Cell, say};
use super::said::{ended, submit};
use super::scene::Scene;

const ROUNDS: u64 = 8;
/// A job with two turns takes about this long on a quiet machine.
const SPAN: Duration = Duration::from_secs(9);

#[test]
fn no_server_survives_the_death_of_its_worker_at_any_moment() {
    let cases = Case::all().into_iter().filter(|case| case.id() == CliId::Opencode);
    let cells = cases.flat_map(|case| {
        (0..ROUNDS).map(move |round| Cell::new("a kill", &case, move |case| killed(case, round)))
    });
    pool::run("workers killed", &cells.collect::<Vec<_>>());
}

fn killed(case: &Case, round: u64) {
    let turns = [Turn::shell("sleep 1; tail -f /dev/null & echo on"), Turn::text("done")];
    let scene = Scene::new(case, Scenario::of(turns));
    let id = submit(&scene, "workspace", &["--attended=60", "--ask", "bash:nothing"]);
    let moment = moment(round);
    say(&format!("kill -9 of {}'s worker after {moment:?}", case.title()));
    // Chance and no synchronisation: any moment will do.
    std::thread::sleep(moment);
    kill_worker(&scene, &id);
    let status = ended(&scene, &id);
    let state = status["state"].as_str().unwrap();
    assert!(["interrupted", "done"].contains(&state), "{status:#}");
    scene.marker.wait_gone(HANG_LIMIT).unwrap();
    let servers = scene.room.state().join("servers");
    let left = servers.read_dir().map_or(0, Iterator::count);
    assert_eq!(left, 0, "the server's record is left");
    case.keep("21", "worker-killed", "kill9", format!("after {moment:?}: {state}, nothing left"));
}

/// Spread over the whole of a job's life.
fn moment(round: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = u64::from(now.subsec_nanos()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let within = (seed % 1000) as f64 / 1000.0;
    SPAN.mul_f64((round as f64 + within) / ROUNDS as f64)
}
