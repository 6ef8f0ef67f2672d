//! The vendors' own rules that stand for an access which dcli does not enforce: what they refuse
//! and what they let through.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Tool, Turn};
use dcli_testkit::room::Room;

use super::case::Case;
use super::pool::{self, Cell};
use super::scene::{Ran, Scene};

const GIVEN: &str = "words that were given to be read";

#[test]
fn read_only_lets_read_and_refuses_to_write() {
    let cases = Case::all();
    let cells: Vec<Cell> =
        cases.iter().map(|case| Cell::new("read-only", case, read_only)).collect();
    pool::run("read-only access", &cells);
}

#[test]
fn workspace_lets_write_inside_and_refuses_outside_or_is_said_not_to() {
    let cases = Case::all();
    let cells: Vec<Cell> =
        cases.iter().map(|case| Cell::new("workspace", case, workspace)).collect();
    pool::run("workspace access", &cells);
}

fn write(room: &Room, inside: &str) -> Turn {
    let path = room.path().join(inside).to_string_lossy().into_owned();
    Turn::tool(Tool::Write { path, content: "written".to_owned() })
}

fn read_only(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        let given = room.file("work/given.txt", GIVEN).unwrap();
        Scenario::of([
            Turn::tool(Tool::Read { path: given.to_string_lossy().into_owned() }),
            write(room, "work/made.txt"),
            Turn::shell("echo written > shell.txt"),
            Turn::text("refused"),
        ])
    });
    let ran = scene.run(scene.exec("read-only"));
    assert_eq!(ran.answer(), "refused");
    let asked = scene.server.main_requests();
    let last = String::from_utf8_lossy(&asked.last().unwrap().body).into_owned();
    assert!(last.contains(GIVEN), "{last}");
    assert!(!scene.in_work("made.txt").exists(), "{ran:#?}");
    assert!(!scene.in_work("shell.txt").exists(), "{ran:#?}");
    keep(&scene, &ran, "access-read-only", "read, did not write by tool or shell");
}

fn workspace(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        room.directory("outside").unwrap();
        let outside = room.path().join("outside/shell.txt");
        let mut turns = vec![write(room, "work/made.txt"), write(room, "outside/tool.txt")];
        // Only Codex confines its shell; the others' rules are about their own tools.
        if case.id() == CliId::Codex {
            turns.push(Turn::shell(&format!("echo written > {}", outside.display())));
        }
        turns.push(Turn::text("done"));
        Scenario::of(turns)
    });
    let ran = scene.run(scene.exec("workspace"));
    let made = std::fs::read_to_string(scene.in_work("made.txt")).unwrap_or_default();
    assert_eq!(made.trim_end(), "written", "{ran:#?}");
    assert_eq!(ran.answer(), "done");
    let outside = std::fs::read_dir(scene.room.path().join("outside")).unwrap().count();
    if case.id() == CliId::Qwen {
        // 0.15.10 has no rule about places; the envelope has to say that nobody keeps the access.
        assert_eq!(outside, 1, "it has learnt to refuse: {ran:#?}");
        assert!(ran.report()["warnings"].to_string().contains("access_not_enforced"), "{ran:#?}");
        return keep(
            &scene,
            &ran,
            "access-workspace",
            "wrote inside and outside, and was warned of",
        );
    }
    assert_eq!(outside, 0, "{ran:#?}");
    keep(&scene, &ran, "access-workspace", "wrote inside, not outside");
}

fn keep(scene: &Scene, ran: &Ran, check: &str, seen: &str) {
    let kind = &ran.report()["access_enforcement"]["kind"];
    let wanted = if scene.case.id() == CliId::Codex { "backend" } else { "none" };
    assert_eq!(kind, wanted, "{ran:#?}");
    scene.case.keep("2", check, "normal", format!("{seen}; enforcement {kind}"));
}
