//! A run that succeeds: its text, its file, its steps, its figures, and a megabyte.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::path::PathBuf;

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Tool, Turn, Usage};

use super::case::Case;
use super::pool::{self, Cell};
use super::scene::{Ran, Scene};
use super::second_figure;

const THOUGHT: &str = "a thought that stays a thought";
const ANSWER: &str = "the scripted answer\nin two lines";

#[test]
fn every_cli_answers_writes_and_counts_through_exec() {
    let cells = Case::all();
    let cells: Vec<Cell> = cells.iter().map(|case| Cell::new("steps", case, steps)).collect();
    pool::run("answers", &cells);
}

#[test]
fn an_answer_of_a_megabyte_is_whole_to_the_byte() {
    let cells = Case::all();
    let cells: Vec<Cell> = cells.iter().map(|case| Cell::new("1 MB", case, megabyte)).collect();
    pool::run("large answers", &cells);
}

/// Three steps: a file by its own tool, a file by the shell, and the text; two of them with
/// thoughts, each with other figures.
fn script(path: String) -> Scenario {
    let write = Tool::Write { path, content: "it's".to_owned() };
    let used =
        |input, output| Some(Usage { input, cached: 11, cache_write: 0, output, reasoning: 3 });
    let thought = || Some(THOUGHT.to_owned());
    Scenario::of([
        Turn { reasoning: thought(), usage: used(101, 17), ..Turn::tool(write) },
        Turn { usage: used(211, 23), ..Turn::shell("echo from the shell > shell.txt") },
        Turn { reasoning: thought(), usage: used(307, 29), ..Turn::text(ANSWER) },
    ])
}

fn steps(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        // Qwen Code 0.15.10 writes to absolute paths only.
        let base = if case.id() == CliId::Qwen { room.work() } else { PathBuf::new() };
        script(base.join("made.txt").to_string_lossy().into_owned())
    });
    let command = match case.id() {
        CliId::Claude197 | CliId::Claude332 => {
            scene.exec_program("unconfined", &second_figure::recording(&scene))
        }
        _ => scene.exec("unconfined"),
    };
    let ran = scene.run(command);
    assert_eq!(ran.answer(), ANSWER, "{ran:#?}");
    case.keep("2", "text", "normal", format!("{ANSWER:?}"));
    let requests = scene.server.main_requests().len();
    assert_eq!(requests, 3, "{ran:#?}");
    case.keep("2", "several-steps", "normal", format!("{requests} requests, one answer"));
    files(&scene, &ran);
    let (figure, place) = second_figure::of(&scene, &ran);
    assert_eq!(ran.usage(), Some(figure), "{place}: {ran:#?}");
    case.keep("2", "usage-second-figure", "normal", format!("{figure}, as {place} has it"));
    thoughts(case, &ran);
}

/// Both files are in the workspace, and nothing is where our own PWD pointed to.
fn files(scene: &Scene, ran: &Ran) {
    let content = |name| std::fs::read_to_string(scene.in_work(name)).unwrap_or_default();
    assert_eq!(content("made.txt").trim_end(), "it's", "{ran:#?}");
    assert_eq!(content("shell.txt"), "from the shell\n", "{ran:#?}");
    let elsewhere = std::fs::read_dir(scene.room.path().join("elsewhere"));
    assert_eq!(elsewhere.unwrap().count(), 0, "{ran:#?}");
    let seen = "made.txt and shell.txt in the workspace, nothing at $PWD".to_owned();
    scene.case.keep("2", "write-lying-pwd", "normal", seen);
}

/// The thoughts are nowhere in the envelope, although the model had two.
fn thoughts(case: &Case, ran: &Ran) {
    let envelope = ran.envelope.to_string();
    assert!(!envelope.contains(THOUGHT), "{envelope}");
    case.keep("2", "reasoning-hidden", "normal", "two thoughts, none in the envelope".to_owned());
}

fn megabyte(case: &Case) {
    let text = numbered(1 << 20);
    let scene = Scene::new(case, Scenario::text(&text));
    let ran = scene.run(scene.exec("unconfined"));
    let answer = ran.answer();
    let same = answer.bytes().zip(text.bytes()).take_while(|(got, sent)| got == sent).count();
    assert!(answer == text, "{} of {} bytes, {same} the same", answer.len(), text.len());
    case.keep("2", "large-answer", "normal", format!("{} bytes, all as sent", answer.len()));
}

/// Lines that never repeat, of `length` bytes, without a newline at the end.
fn numbered(length: usize) -> String {
    let lines = (0_u64..).map(|number| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("line {number:06} has {mixed:016x} and {:016x}\n", mixed.rotate_left(23) ^ number)
    });
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() >= length {
            break;
        }
        text += &line;
    }
    text += &"x".repeat(length - text.len());
    text
}
