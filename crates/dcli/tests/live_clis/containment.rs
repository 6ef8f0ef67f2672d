//! What is left of a real CLI's tools after every ending: nothing. Each cell is run once more with
//! containment switched off in this debug build, and must then leave something behind.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]
#![expect(clippy::panic, reason = "a fixture that fails ends its test")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::model::{Scenario, Stall, Turn};
use dcli_testkit::process::Found;
use rustix::process::Signal;

use super::case::Case;
use super::pool::{self, Cell, say};
use super::scene::{Going, RUN_LIMIT, Scene};

/// Ends only when it is ended, and holds nobody's output open.
const STAYS: &str = "tail -f /dev/null >/dev/null 2>&1";
/// The same as the kernel names it.
const NAME: &str = "tail";
/// The longest hard deadline that is tried.
const LONGEST: Duration = Duration::from_secs(160);

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Normal,
    Cancel,
    Deadline,
    Kill9,
}

/// Whether dcli may contain the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    On,
    Off,
}

/// What was there when the end began, and what is there after it.
struct Seen {
    before: Option<usize>,
    after: Vec<Found>,
    how: String,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Cancel => "cancel",
            Self::Deadline => "deadline",
            Self::Kill9 => "kill9",
        }
    }

    /// Plain background, nohup, a session of its own, the same as an orphan, and, but for a normal
    /// end, the foreground. The orphan is what no vendor's own clean-up finds: claude's finds the
    /// others when it is interrupted.
    fn tool_command(self) -> String {
        let last = if self == Self::Normal { "true" } else { STAYS };
        format!(
            "{STAYS} & nohup {STAYS} & setsid {STAYS} & (setsid {STAYS} &); touch started; {last}"
        )
    }

    /// Processes that stay once the command has come to its last part.
    fn stay(self) -> usize {
        if self == Self::Normal { 4 } else { 5 }
    }
}

#[test]
fn no_descendant_outlives_a_normal_end() {
    over_all_cases(Ending::Normal);
}

#[test]
fn no_descendant_outlives_a_cancel() {
    over_all_cases(Ending::Cancel);
}

#[test]
fn no_descendant_outlives_a_deadline() {
    over_all_cases(Ending::Deadline);
}

#[test]
fn no_descendant_outlives_a_kill_of_dcli_at_a_random_moment() {
    over_all_cases(Ending::Kill9);
}

fn over_all_cases(ending: Ending) {
    let mut cells = Vec::new();
    for case in Case::all() {
        cells.push(Cell::new("containment", &case, move |case| nothing_survives(case, ending)));
        cells.push(Cell::new("control", &case, move |case| something_survives(case, ending)));
    }
    pool::run(&format!("containment, {}", ending.name()), &cells);
}

fn nothing_survives(case: &Case, ending: Ending) {
    let seen = see(case, ending, Protection::On);
    let before = seen.before.map_or_else(String::new, |before| format!("{before} processes, "));
    let observed = format!("{before}{}, then {} survivors", seen.how, seen.after.len());
    let row = case.row("3", "no-survivor", ending.name(), observed);
    dcli_testkit::evidence::Row { red: !seen.after.is_empty(), ..row }.keep().unwrap();
    assert!(seen.after.is_empty(), "{:?}", seen.after);
}

fn something_survives(case: &Case, ending: Ending) {
    let seen = see(case, ending, Protection::Off);
    let names: Vec<&str> = seen.after.iter().map(|found| found.comm.as_str()).collect();
    let observed = format!("{} survivors: {}", names.len(), names.join(" "));
    let row = case.row("3", "no-survivor", ending.name(), observed);
    let red = !seen.after.is_empty();
    dcli_testkit::evidence::Row { red, disabled: true, ..row }.keep().unwrap();
    assert!(red, "nothing survived although nothing was contained: {}", seen.how);
}

fn see(case: &Case, ending: Ending, protection: Protection) -> Seen {
    match ending {
        Ending::Normal => normal(case, protection),
        Ending::Cancel => cancel(case, protection),
        Ending::Deadline => deadline(case, protection),
        Ending::Kill9 => kill9(case, protection),
    }
}

/// The tool command, then either the answer or a silence that only an ending ends.
fn scene(case: &Case, ending: Ending) -> Scene {
    let then = match ending {
        Ending::Normal => Turn::text("left them running"),
        _ => Turn::stalled(Stall::Mid),
    };
    Scene::new(case, Scenario::of([Turn::shell(&ending.tool_command()), then]))
}

fn start<'s>(scene: &'s Scene, protection: Protection, args: &[&str]) -> Going<'s> {
    let mut command = scene.exec("unconfined");
    command.args(args);
    if protection == Protection::Off {
        command.env("DCLI_TEST_UNCONTAINED", "1");
    }
    scene.start(command)
}

/// Waits until every part of the tool command runs; false when dcli ended first.
fn all_run(scene: &Scene, going: &mut Going<'_>, ending: Ending) -> bool {
    let running = || {
        let alive = scene.marker.alive();
        let stay = alive.iter().filter(|found| found.comm == NAME).count();
        scene.in_work("started").exists() && stay == ending.stay()
    };
    let mut ended = false;
    wait_until("the tool command to run", RUN_LIMIT, || {
        ended = going.has_ended();
        ended || running()
    })
    .unwrap();
    !ended
}

fn normal(case: &Case, protection: Protection) -> Seen {
    let scene = scene(case, Ending::Normal);
    let mut going = start(&scene, protection, &[]);
    going.exit();
    let after = scene.marker.alive();
    let ran = going.read();
    assert!(scene.in_work("started").exists(), "{ran:#?}");
    assert_eq!(ran.answer(), "left them running");
    let left = ran.report()["left_behind"].as_u64().unwrap();
    assert!(left > 0 || protection == Protection::Off, "{ran:#?}");
    Seen { before: None, after, how: format!("ok with {left} left behind and ended") }
}

fn cancel(case: &Case, protection: Protection) -> Seen {
    let scene = scene(case, Ending::Cancel);
    let mut going = start(&scene, protection, &[]);
    assert!(all_run(&scene, &mut going, Ending::Cancel), "{:#?}", going.read());
    let before = scene.marker.alive().len();
    going.signal(Signal::INT);
    going.exit();
    let after = scene.marker.alive();
    let ran = going.read();
    assert_eq!((ran.status(), ran.code), ("cancelled", Some(30)), "{ran:#?}");
    let rung = &ran.report()["cancel_rung_reached"];
    Seen { before: Some(before), after, how: format!("cancelled by {rung}") }
}

/// The deadline has to come after the tool command has started, so it is doubled until it does.
fn deadline(case: &Case, protection: Protection) -> Seen {
    let first = match case.id() {
        CliId::Opencode => 16,
        CliId::Qwen | CliId::Gemini => 8,
        _ => 4,
    };
    let mut limit = Duration::from_secs(first);
    while limit <= LONGEST {
        let scene = scene(case, Ending::Deadline);
        let mut going =
            start(&scene, protection, &["--hard-timeout-sec", &limit.as_secs().to_string()]);
        if all_run(&scene, &mut going, Ending::Deadline) {
            let before = scene.marker.alive().len();
            going.exit();
            let after = scene.marker.alive();
            let ran = going.read();
            assert_eq!((ran.status(), ran.code), ("failed", Some(24)), "{ran:#?}");
            assert_eq!(ran.report()["exit"]["kind"], "deadline_hard", "{ran:#?}");
            return Seen { before: Some(before), after, how: "deadline_hard".to_owned() };
        }
        let ran = going.read();
        assert_eq!(ran.report()["exit"]["kind"], "deadline_hard", "{ran:#?}");
        limit *= 2;
    }
    panic!("{} never ran its tool within {LONGEST:?}", case.title());
}

fn kill9(case: &Case, protection: Protection) -> Seen {
    let scene = scene(case, Ending::Kill9);
    let mut going = start(&scene, protection, &[]);
    assert!(all_run(&scene, &mut going, Ending::Kill9), "{:#?}", going.read());
    let before = scene.marker.alive().len();
    let moment = random_moment(case);
    std::thread::sleep(moment);
    going.signal(Signal::KILL);
    going.exit();
    if protection == Protection::On {
        // The kernel is still at it when our own exit is already known.
        let _ = scene.marker.wait_gone(HANG_LIMIT);
    }
    let after = scene.marker.alive();
    Seen { before: Some(before), after, how: format!("dcli killed after {moment:?}") }
}

/// The moment of the kill, which is chance and no synchronisation: any will do.
fn random_moment(case: &Case) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = u64::from(now.subsec_nanos()) ^ now.as_secs();
    let moment = Duration::from_micros((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % 300_000);
    say(&format!("kill -9 with {}: seed {seed}, after {moment:?}", case.title()));
    moment
}
