//! Clauses about the end: cancels, broken input, background work, orphans.

use dcli_core::executor::record::RungKind;
use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::{ChildKind, Step};
use rustix::process::Signal;
use serde_json::json;

use crate::clauses::{every, every_with};
use crate::common::{Dialect, Protection, Stage, child, survived};

/// Processes of every kind that an agent can leave.
fn family() -> [Step; 4] {
    [ChildKind::Plain, ChildKind::Setsid, ChildKind::DoubleFork, ChildKind::HoldStdout].map(child)
}

fn has_interrupt(dialect: &Dialect) -> bool {
    dialect.record.cancel.first().is_some_and(|rung| rung.rung == RungKind::Interrupt)
}

#[test]
fn clause_cancel_mid_run_ends_the_tree() {
    every("cancel-mid-run", |dialect| {
        cancelled_mid_run(dialect, Protection::On);
    });
    let stage = cancelled_mid_run(&Dialect::of("codex"), Protection::Off);
    survived("clause-cancel-mid-run", &stage);
}

fn cancelled_mid_run(dialect: &Dialect, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    let ready = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
    stage.play(family().into_iter().chain(ready));
    let running = dialect.exec(&stage).protected(protection).words("Do it.").start();
    running.wait_file("tmp/ready");
    running.signal(Signal::INT);
    let envelope = running.finish().envelope();
    assert_eq!((envelope.status(), envelope.code()), ("cancelled", "executorCancelled"));
    assert_eq!(envelope.exit_kind(), "cancelled");
    let rung = if has_interrupt(dialect) { "interrupt" } else { "hard_kill" };
    assert_eq!(envelope.run()["cancel_rung_reached"], rung);
    assert_eq!(envelope.run()["survivors"], json!([]));
    stage
}

#[test]
fn clause_cancel_mid_run_twice_kills() {
    every("cancel-twice", |dialect| {
        cancelled_twice(dialect, Protection::On);
    });
    let stage = cancelled_twice(&Dialect::of("codex"), Protection::Off);
    survived("clause-cancel-twice", &stage);
}

fn cancelled_twice(dialect: &Dialect, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    let told = || dialect.usage(1).map(|billed| dialect.tale([billed]).told());
    let stubborn = [Step::Touch(stage.path("tmp/interrupted")), Step::Hang(true)];
    let steps = [Step::OnInterrupt(stubborn.to_vec()), Step::Touch(stage.path("tmp/ready"))];
    let rest = told().into_iter().chain([Step::Hang(true)]);
    stage.play(family().into_iter().chain(steps).chain(rest));
    let running = dialect.exec(&stage).protected(protection).words("Do it.").start();
    running.wait_file("tmp/ready");
    running.signal(Signal::INT);
    if has_interrupt(dialect) {
        running.wait_file("tmp/interrupted");
        running.signal(Signal::INT);
    }
    let envelope = running.finish().envelope();
    assert_eq!(envelope.code(), "executorCancelled");
    assert_eq!(envelope.run()["cancel_rung_reached"], "hard_kill");
    assert_eq!(envelope.run()["exit"]["signal"], 9);
    stage
}

#[test]
fn clause_cancel_mid_run_stays_a_cancel_whatever_comes_after_it() {
    every_with("cancel-then-answer", has_interrupt, |dialect| {
        let stage = Stage::new([]);
        let answer = [dialect.ok("Done after all.").told(), Step::Exit(0)];
        let ready = Step::Touch(stage.path("tmp/ready"));
        stage.play([Step::OnInterrupt(answer.to_vec()), ready, Step::Hang(true)]);
        let running = dialect.exec(&stage).words("Do it.").start();
        running.wait_file("tmp/ready");
        running.signal(Signal::INT);
        let envelope = running.finish().envelope();
        assert_eq!((envelope.status(), envelope.code()), ("cancelled", "executorCancelled"));
        assert_eq!(envelope.data()["usage"], json!(dialect.charged(1)), "usage is kept");
    });
}

#[test]
fn clause_cancel_after_exit_stays_ok() {
    every("cancel-after-exit", |dialect| {
        let stage = Stage::new([dialect.ok("Done.").told()]);
        let running = dialect.exec(&stage).arg("--events").words("Do it.").start();
        running.wait_fact("process_exited", |fact| fact["type"] == "process_exited");
        running.signal_if_there(Signal::INT);
        let envelope = running.finish().events().1;
        assert_eq!(envelope.ok("Done.").run()["cancel_rung_reached"], json!(null));
    });
}

#[test]
fn clause_cancel_after_completion_stays_ok_and_ends_the_tree() {
    let shows = |dialect: &Dialect| !dialect.is_single();
    every_with("cancel-after-completion", shows, |dialect| {
        cancelled_after_completion(dialect, Protection::On);
    });
    let stage = cancelled_after_completion(&Dialect::of("codex"), Protection::Off);
    survived("clause-cancel-after-completion", &stage);
}

fn cancelled_after_completion(dialect: &Dialect, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    stage.play(family().into_iter().chain([dialect.ok("Done.").told(), Step::Hang(true)]));
    let exec = dialect.exec(&stage).protected(protection).arg("--events");
    let running = exec.words("Do it.").start();
    running.wait_fact("usage_reported", |fact| fact["type"] == "usage_reported");
    running.signal(Signal::INT);
    let envelope = running.finish().events().1;
    assert_eq!(envelope.ok("Done.").exit_kind(), "ended_after_result");
    stage
}

#[test]
fn clause_broken_stdin_ends_the_child() {
    every("broken-stdin", |dialect| {
        let stage = Stage::new([Step::CloseStdin(true), dialect.ok("Done.").told()]);
        dialect.exec(&stage).piped(unread(dialect)).run().envelope().ok("Done.");
        with_broken_stdin(dialect, &stage, "0.5", Protection::On);
    });
    // The deadline has to come after the family, so it is doubled until it does.
    let (codex, stage) = (Dialect::of("codex"), Stage::new([]));
    let is_enough = |limit: &&str| {
        with_broken_stdin(&codex, &stage, limit, Protection::Off);
        stage.path("tmp/ready").exists()
    };
    let enough = ["0.5", "1", "2", "4", "8", "16", "32"].into_iter().find(is_enough);
    assert!(enough.is_some(), "the family was never there before the deadline");
    survived("clause-broken-stdin", &stage);
}

/// More than a pipe holds.
fn unread(dialect: &Dialect) -> String {
    match dialect.record.prompt.argument_bound.min(1 << 17) {
        bound if bound < 131_071 => "x".repeat(bound / 2),
        _ => "x".repeat(100_000),
    }
}

/// An agent that closes its standard input, and stays with its family until the deadline.
fn with_broken_stdin(dialect: &Dialect, stage: &Stage, limit: &str, protection: Protection) {
    let ready = Step::Touch(stage.path("tmp/ready"));
    stage.play(family().into_iter().chain([Step::CloseStdin(true), ready, Step::Hang(true)]));
    let exec = dialect.exec(stage).protected(protection).args(["--hard-timeout-sec", limit]);
    let envelope = exec.piped(unread(dialect)).run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_hard");
}

fn announces(dialect: &Dialect) -> bool {
    dialect.record.facts.iter().any(|rule| rule.fact == FactKind::TaskStarted)
}

#[test]
fn clause_background_work_that_was_stopped_is_never_ok() {
    every_with("background-work", announces, |dialect| {
        let started = dialect.fact(FactKind::TaskStarted, &[("task_id", json!("t1"))]).unwrap();
        let settled = |outcome: &str| {
            let fields = [("task_id", json!("t1")), ("outcome", json!(outcome))];
            dialect.fact(FactKind::TaskSettled, &fields).unwrap()
        };
        let run = |settled: Vec<serde_json::Value>| {
            let tale = dialect.tale([started.clone()]).then(settled);
            let stage = Stage::new([tale.then(dialect.ok("Done.").records().to_vec()).told()]);
            dialect.exec(&stage).words("Do it.").run().envelope()
        };
        for stopped in [vec![], vec![settled("stopped")], vec![settled("killed")]] {
            let envelope = run(stopped);
            assert_eq!(envelope.failed("executorIncomplete").result(), "Done.");
            assert_eq!(envelope.run()["exit"]["code"], 0);
        }
        run(vec![settled("completed")]).ok("Done.");
    });
}
