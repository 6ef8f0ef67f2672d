//! FIELD 17 and 22 to 24: watchdogs, orphans, and the death of dcli itself.

use std::os::unix::fs::PermissionsExt as _;

use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::{Child, ChildKind, Step};
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::Signal;
use serde_json::json;

use crate::common::{
    Dialect, Envelope, Protection, Stage, child, fake_agent, golden, say, shown, survived,
};

/// So long without any sign of life.
const IDLE: [&str; 2] = ["--idle-timeout-sec", "1.5"];
/// Far more than that, in milliseconds.
const LONG: u64 = 4_000;
/// A hard deadline, in seconds, that no test reaches.
const NEVER: &str = "1800";

fn run(id: &str, steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    stage.exec(id).args(IDLE).words("Do it.").run().envelope()
}

fn done(id: &str) -> Step {
    Dialect::of(id).ok("Done.").told()
}

#[test]
fn field_17_an_open_tool_call_is_not_a_stall() {
    let codex = Dialect::of("codex");
    let call = |kind| codex.fact(kind, &[("call_id", json!("c1"))]).unwrap();
    let told = |kind| codex.tale([call(kind)]).told();
    let steps = [told(FactKind::ToolInvoked), Step::SleepMs(LONG), told(FactKind::ToolResult)];
    run("codex", steps.into_iter().chain([done("codex")])).ok("Done.");
    // Once it has ended, silence is a stall.
    let steps = [told(FactKind::ToolInvoked), told(FactKind::ToolResult), Step::Hang(true)];
    let envelope = run("codex", steps);
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
    shown(
        "4",
        "field-17",
        "an open call, CPU and a tool's session hold; silence and retries do not",
    );
}

#[test]
fn field_17_a_tool_in_its_own_session_counts_where_starts_are_not_announced() {
    let tool = Step::Spawn(Child { kind: ChildKind::Setsid, seconds: 300, args: Vec::new() });
    let begun = say(golden("opencode", "stall-mid"));
    let steps = [begun.clone(), tool, Step::SleepMs(LONG), done("opencode")];
    run("opencode", steps).ok("Done.");
    let envelope = run("opencode", [begun, Step::Hang(true)]);
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
}

#[test]
fn field_17_cpu_use_is_not_a_stall() {
    let begun = say(golden("codex", "stall-headers"));
    run("codex", [begun, Step::BusyMs(LONG), done("codex")]).ok("Done.");
}

#[test]
fn field_17_the_backends_own_retries_are_not_activity() {
    let claude = Dialect::of("claude");
    let retry = || {
        let fields = [("attempt", json!(1)), ("next_at", json!(500))];
        claude.tale([claude.fact(FactKind::Retrying, &fields).unwrap()]).told()
    };
    let retries = (0..400).flat_map(|_| [retry(), Step::SleepMs(50)]);
    let envelope = run("claude", retries);
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
    // Other records are: they outlast the same limit.
    let words = claude.fact(FactKind::AssistantText, &[("text", json!("Hm."))]).unwrap();
    let word = || claude.tale([words.clone()]).told();
    let words = (0..LONG / 50).flat_map(|_| [word(), Step::SleepMs(50)]);
    run("claude", words.chain([done("claude")])).ok("Done.");
}

fn family() -> impl Iterator<Item = Step> {
    [ChildKind::Plain, ChildKind::Setsid, ChildKind::DoubleFork].into_iter().cycle().map(child)
}

#[test]
fn field_22_what_a_run_leaves_behind_is_ended_and_counted() {
    for id in ["claude", "opencode"] {
        let (_, envelope) = leaving(id, Protection::On);
        assert_eq!(envelope.run()["left_behind"], 21);
        assert!(envelope.warning("left_behind").unwrap().starts_with("21 processes"));
    }
    shown("4", "field-22", "21 of 21 leftover processes ended and counted");
    survived("field-22", &leaving("claude", Protection::Off).0);
}

fn leaving(id: &str, protection: Protection) -> (Stage, Envelope) {
    let stage = Stage::new(family().take(21).chain([done(id)]));
    let envelope = stage.exec(id).protected(protection).words("Do it.").run().envelope();
    envelope.ok("Done.");
    (stage, envelope)
}

#[test]
fn field_22_a_failed_run_leaves_nothing_either() {
    let failed = [say(golden("codex", "error-400")), Step::Exit(1)];
    let stage = Stage::new(family().take(6).chain(failed));
    let envelope = stage.exec("codex").words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorRunFailed").run()["left_behind"], 6);
}

#[test]
fn field_23_tools_in_sessions_of_their_own_die_with_the_run() {
    for kind in ["pid-namespace", "guardian"] {
        for limit in [NEVER, "4"] {
            with_sessions(kind, limit, Protection::On);
        }
    }
    shown("4", "field-23", "12 processes in 11 sessions, none alive after cancel and deadline");
    survived("field-23", &with_sessions("pid-namespace", NEVER, Protection::Off));
}

/// Ends a run by its deadline, or by a cancel where that never comes.
fn with_sessions(kind: &str, limit: &str, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    let sessions = (0..10).map(|_| child(ChildKind::Setsid));
    let rest = [child(ChildKind::DoubleFork), Step::Touch(stage.path("tmp/ready"))];
    stage.play(sessions.chain(rest).chain([Step::Hang(true)]));
    let exec = stage.exec("claude").args(["--containment", kind]).protected(protection);
    let running = exec.args(["--hard-timeout-sec", limit]).words("Do it.").start();
    running.wait_file("tmp/ready");
    if limit == NEVER {
        running.signal(Signal::TERM);
    }
    let envelope = running.finish().envelope();
    let code = if limit == NEVER { "executorCancelled" } else { "executorTimedOut" };
    assert_eq!(envelope.code(), code);
    assert_eq!(envelope.run()["survivors"], json!([]));
    stage
}

#[test]
fn field_24_the_tree_dies_with_a_killed_dcli() {
    for kind in ["pid-namespace", "guardian"] {
        killed(kind, Protection::On).marker.wait_gone(HANG_LIMIT).unwrap();
    }
    shown("4", "field-24", "no process alive after kill -9 of dcli");
    let stage = killed("pid-namespace", Protection::Off);
    // The leader dies with dcli even then. What is there after it was not being ended with it.
    let agent = i64::from(stage.seen().pid);
    let leader_is_gone = || !stage.marker.alive().iter().any(|found| i64::from(found.pid) == agent);
    wait_until("the leader to end", HANG_LIMIT, leader_is_gone).unwrap();
    assert_eq!(survived("field-24", &stage), 6);
}

/// Kills dcli with SIGKILL while its tree is up.
fn killed(kind: &str, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    let rest = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
    stage.play(family().take(6).chain(rest));
    let exec = stage.exec("opencode").args(["--containment", kind]).protected(protection);
    let running = exec.words("Do it.").start();
    running.wait_file("tmp/ready");
    assert!(stage.marker.alive().len() >= 8, "{:?}", stage.marker.alive());
    running.kill();
    stage
}

#[test]
fn field_24_a_script_that_only_spawns_is_followed_to_the_real_executable() {
    let stage = Stage::new([done("codex")]);
    let below = "lib/node_modules/@openai";
    let script = "#!/usr/bin/env node\nspawn(native);\n";
    let wrapper = stage.room.file(format!("{below}/codex/bin/codex.js"), script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bin = stage.room.directory("bin").unwrap();
    std::os::unix::fs::symlink(&wrapper, bin.join("codex")).unwrap();
    let run = || {
        let exec = Dialect::of("codex").exec_itself(&stage).words("Do it.");
        exec.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).run().envelope()
    };
    let (triple, arch) = match std::env::consts::ARCH {
        "aarch64" => ("aarch64-unknown-linux-musl", "arm64"),
        _ => ("x86_64-unknown-linux-musl", "x64"),
    };
    let vendor = format!("{below}/codex-linux-{arch}/vendor/{triple}/bin");
    let native = stage.room.directory(vendor).unwrap().join("codex");
    std::fs::copy(fake_agent(), &native).unwrap();
    let envelope = run();
    let program = &envelope.ok("Done.").run()["executor"]["program"];
    assert_eq!(program.as_str().map(Into::into), Some(native.canonicalize().unwrap()));
    assert_eq!(envelope.warning("wrapper_script"), None);
    // Where it is not to be found, the script is run and said to be one.
    std::fs::remove_file(native).unwrap();
    std::fs::write(&wrapper, format!("#!/bin/sh\nexec {}\n", fake_agent().display())).unwrap();
    assert!(run().ok("Done.").warning("wrapper_script").is_some());
}
