//! Deadlines and the ladder: which one ends a run, and what is left to the agent before it does.

use std::os::unix::fs::PermissionsExt as _;

use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::{ChildKind, Step};
use rustix::process::Signal;
use serde_json::json;

use crate::common::{Dialect, Envelope, Stage, child, golden, say};

fn run(id: &str, limits: &[&str], steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    stage.exec(id).args(limits).words("Do it.").run().envelope()
}

#[test]
fn the_hard_deadline_ends_a_run_that_is_as_busy_as_can_be() {
    let codex = Dialect::of("codex");
    let call = codex.fact(FactKind::ToolInvoked, &[("call_id", json!("c1"))]).unwrap();
    let steps = [child(ChildKind::HoldStdout), codex.tale([call]).told(), Step::BusyMs(300_000)];
    let limits = ["--hard-timeout-sec", "0.8", "--idle-timeout-sec", "0.3"];
    let envelope = run("codex", &limits, steps);
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_hard");
    assert_eq!(envelope.class(), "timeout");
    assert!(envelope.message().contains("hard deadline of 0.8 s"), "{}", envelope.message());
}

/// It cannot be read as fast as it is written, so the deadline passes while its output is read.
#[test]
fn the_hard_deadline_ends_a_flood_that_is_read_when_it_passes() {
    let stage = Stage::new([]);
    let agent = stage.room.file("work/agent", "#!/bin/sh\nexec yes '{\"type\":\"x\"}'\n").unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let exec = stage.dcli().args(["exec", "--backend", "codex", "--command"]).arg(&agent);
    let envelope = exec.args(["--hard-timeout-sec", "1"]).words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_hard");
}

#[test]
fn a_deadline_asks_politely_before_it_kills_and_both_are_told() {
    let stage = Stage::new([]);
    let asked = Step::Touch(stage.path("tmp/asked"));
    stage.play([Step::OnInterrupt(vec![asked.clone(), Step::Hang(true)]), Step::Hang(true)]);
    let exec = stage.exec("claude").args(["--hard-timeout-sec", "2"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").run()["cancel_rung_reached"], "hard_kill");
    assert!(stage.path("tmp/asked").exists(), "the interrupt comes first");
    stage.play([Step::OnInterrupt(vec![asked]), Step::Hang(true)]);
    let exec = stage.exec("claude").args(["--hard-timeout-sec", "2"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").run()["cancel_rung_reached"], "interrupt");
    assert_eq!(
        envelope.run()["exit"],
        json!({"code": 130, "signal": null, "kind": "deadline_hard"})
    );
}

#[test]
fn a_cancel_that_is_not_heeded_climbs_to_the_kill_by_itself() {
    let stage = Stage::new([]);
    let steps = [Step::Ignore(vec!["INT".to_owned()]), Step::Touch(stage.path("tmp/ready"))];
    stage.play(steps.into_iter().chain([Step::Hang(true)]));
    let running = Dialect::of("unseen").exec(&stage).words("Do it.").start();
    running.wait_file("tmp/ready");
    running.signal(Signal::INT);
    let envelope = running.finish().envelope();
    assert_eq!((envelope.code(), envelope.exit_kind()), ("executorCancelled", "cancelled"));
    assert_eq!(envelope.run()["cancel_rung_reached"], "hard_kill");
}

#[test]
fn what_came_before_a_deadline_is_kept_and_is_no_success() {
    let codex = Dialect::of("codex");
    let told = codex.tale([codex.answer("Half of it.")]).told();
    let envelope = run("codex", &["--idle-timeout-sec", "1.5"], [told, Step::Hang(true)]);
    assert_eq!(envelope.failed("executorTimedOut").result(), "Half of it.");
    assert_eq!(envelope.exit_kind(), "deadline_idle");
}

#[test]
fn completion_that_was_seen_first_wins_over_the_hard_deadline() {
    let told = say(golden("claude", "ok-text"));
    let envelope = run("claude", &["--hard-timeout-sec", "3"], [told, Step::Hang(true)]);
    assert_eq!(envelope.ok("OK").exit_kind(), "ended_after_result");
}

#[test]
fn a_record_that_shows_no_life_has_no_idle_deadline_unless_it_is_asked_for() {
    let single = Dialect::of("unseen-single");
    let stage = Stage::new([Step::SleepMs(1_200), single.ok("Done.").told()]);
    let policy = |text: &str| drop(stage.room.file("work/.dcli/policy.json", text).unwrap());
    single.exec(&stage).words("Do it.").run().envelope().ok("Done.");
    let exec = single.exec(&stage).args(["--idle-timeout-sec", "0.3"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
    // A policy tightens: to less than what was asked for, never to more.
    policy(r#"{"delegation": {"hard_timeout_sec": 0.5}}"#);
    let exec = single.exec(&stage).args(["--hard-timeout-sec", "900"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert!(envelope.failed("executorTimedOut").message().contains("0.5 s"));
    policy(r#"{"delegation": {"hard_timeout_sec": 900}}"#);
    let exec = single.exec(&stage).args(["--timeout-sec", "0.4"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert!(envelope.failed("executorTimedOut").message().contains("0.4 s"));
}
