//! Each real CLI against the model server: a text, a file written by a tool, an error. What is
//! tested is that the server speaks what the CLI understands; the CLIs themselves are not.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::process::{Command, Output, Stdio};

use dcli_testkit::clis::{Cli, CliId, Retries};
use dcli_testkit::model::{Scenario, Server, Tool, Turn};
use dcli_testkit::process::{ORDINARY_USER, as_user};
use dcli_testkit::room::Room;
use serde_json::Value;

fn headless(id: CliId) -> &'static [&'static str] {
    match id {
        CliId::Claude197 | CliId::Claude332 => &[
            "--print",
            "--output-format",
            "stream-json",
            "--verbose",
            "--no-session-persistence",
            "--dangerously-skip-permissions",
        ],
        CliId::Codex => &["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"],
        CliId::Opencode => &["run", "--format", "json", "--title", "t"],
        CliId::Qwen | CliId::Gemini => &["--yolo", "--output-format", "stream-json"],
    }
}

fn prepared(cli: &Cli, server: &Server, room: &Room) -> Command {
    let prompt = room.file("prompt", "say something").unwrap();
    let mut command = Command::new(&cli.program);
    command.args(headless(cli.id)).args(cli.model_args(server, Retries::None)).env_clear();
    command.envs(cli.isolated_env(room, server, Retries::None).unwrap());
    command.env("PWD", room.work()).current_dir(room.work());
    command.stdin(Stdio::from(std::fs::File::open(prompt).unwrap()));
    command
}

fn run(cli: &Cli, server: &Server, room: &Room, user: Option<u32>) -> Output {
    let mut command = prepared(cli, server, room);
    if let Some(uid) = user {
        as_user(uid, &mut command);
    }
    command.output().unwrap()
}

fn text_and_file(id: CliId, user: Option<u32>) {
    let Some(cli) = Cli::find_or_skip(id).unwrap() else { return };
    let room = user.map_or_else(Room::new, Room::of_user).unwrap();
    let made = room.work().join("made.txt");
    let write = Tool::Write { path: made.to_string_lossy().into_owned(), content: "it's".into() };
    let turns = [
        Turn { reasoning: Some("thinking so".into()), ..Turn::tool(write) },
        Turn::shell("echo from the shell > shell.txt"),
        Turn::text("the scripted answer"),
    ];
    let server = Server::start(Scenario::of(turns)).unwrap();
    let output = run(&cli, &server, &room, user);
    let seen = format!("{}: {output:?}\n{:#?}", id.name(), summary(&server));
    assert!(output.status.success(), "{seen}");
    assert!(said(&output.stdout).contains("the scripted answer"), "{seen}");
    let content = std::fs::read_to_string(&made).unwrap_or_else(|error| error.to_string());
    assert_eq!(content.trim_end(), "it's", "{seen}");
    let shell = std::fs::read_to_string(room.work().join("shell.txt")).unwrap_or_default();
    assert_eq!(shell, "from the shell\n", "{seen}");
    assert_eq!(server.main_requests().len(), 3, "{seen}");
}

/// Standard output; Gemini's, which comes in pieces, put together.
fn said(stdout: &[u8]) -> String {
    let text = String::from_utf8_lossy(stdout);
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let pieces = records.filter(|record| record["delta"] == true);
    let joined: String =
        pieces.filter_map(|record| Some(record["content"].as_str()?.to_owned())).collect();
    if joined.is_empty() { text.into_owned() } else { joined }
}

fn bad_request(id: CliId) {
    let Some(cli) = Cli::find_or_skip(id).unwrap() else { return };
    let room = Room::new().unwrap();
    let turn = Turn { message: Some("scripted refusal".into()), ..Turn::status(400) };
    let server = Server::start(Scenario::of([turn])).unwrap();
    let output = run(&cli, &server, &room, None);
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let seen = format!("{}: {output:?}\n{:#?}", id.name(), summary(&server));
    assert!(String::from_utf8_lossy(&said).contains("scripted refusal"), "{seen}");
}

/// The vendor's settings hold a failing model to one request, where there are such settings.
fn rate_limited_once(id: CliId) {
    let Some(cli) = Cli::find_or_skip(id).unwrap() else { return };
    let room = Room::new().unwrap();
    let server = Server::start(Scenario::of([Turn::status(429)])).unwrap();
    let output = run(&cli, &server, &room, None);
    assert_eq!(server.main_requests().len(), 1, "{}: {output:?}", id.name());
    assert!(!output.status.success(), "{}: {output:?}", id.name());
}

/// A megabyte, standard output being a file as dcli has it: a pipe gets only part of it from
/// claude 2.1.197 and opencode.
fn megabyte(id: CliId) {
    let Some(cli) = Cli::find_or_skip(id).unwrap() else { return };
    let room = Room::new().unwrap();
    let turn = Turn { bytes: Some(1 << 20), ..Turn::default() };
    let server = Server::start(Scenario::of([turn])).unwrap();
    let captured = room.file("captured", "").unwrap();
    let mut command = prepared(&cli, &server, &room);
    command.stdout(std::fs::File::create(&captured).unwrap());
    assert!(command.status().unwrap().success(), "{}", id.name());
    let text = said(&std::fs::read(captured).unwrap());
    assert!(text.len() >= 1 << 20, "{}: {} bytes", id.name(), text.len());
    assert!(text.contains("line 000000 ") && text.contains("line 019000 "), "{}", id.name());
}

fn summary(server: &Server) -> Vec<String> {
    let line = |logged: &dcli_testkit::model::Logged| {
        format!("{} {} {:?} {:?}", logged.method, logged.path, logged.main, logged.tools)
    };
    server.requests().iter().map(line).collect()
}

/// One user per run: root where the test runs as root, and always an ordinary one.
fn users() -> Vec<Option<u32>> {
    if rustix::process::getuid().is_root() { vec![None, Some(ORDINARY_USER)] } else { vec![None] }
}

macro_rules! each_cli {
    ($($module:ident $id:ident;)*) => {$(
        mod $module {
            use super::*;

            #[test]
            fn answers_and_writes_what_the_scenario_says() {
                for user in users() {
                    text_and_file(CliId::$id, user);
                }
            }

            #[test]
            fn shows_the_message_of_a_refusal() {
                bad_request(CliId::$id);
            }

            #[test]
            fn lets_a_megabyte_through() {
                megabyte(CliId::$id);
            }
        }
    )*};
}

each_cli! {
    claude_2_1_197 Claude197;
    claude_2_1_332 Claude332;
    codex Codex;
    opencode Opencode;
    qwen Qwen;
    gemini Gemini;
}

#[test]
fn a_rate_limit_is_met_with_one_request_where_the_vendor_has_a_setting_for_it() {
    for id in [CliId::Claude197, CliId::Claude332, CliId::Codex, CliId::Gemini] {
        rate_limited_once(id);
    }
}
