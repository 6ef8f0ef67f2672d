//! Clause: no orphan, by containment, by ending, and by user; and what is left without one.

use dcli_testkit::agent::{ChildKind, Step};
use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::process::ORDINARY_USER;
use rustix::process::Signal;
use serde_json::json;

use crate::clauses::every;
use crate::common::{Dialect, Envelope, Protection, Stage, child, survived};

const KINDS: [&str; 3] = ["pid-namespace", "guardian", "process-group"];

fn family() -> [Step; 4] {
    [ChildKind::Plain, ChildKind::Setsid, ChildKind::DoubleFork, ChildKind::HoldStdout].map(child)
}

fn left(dialect: &Dialect, stage: &Stage, kind: &str, protection: Protection) -> Envelope {
    let exec = dialect.exec(stage).args(["--containment", kind]).protected(protection);
    let envelope = exec.words("Do it.").run().envelope();
    let report = &envelope.ok("Done.").run()["containment"];
    let is_degraded = kind != "pid-namespace";
    assert_eq!(*report, json!({"kind": kind, "degraded": is_degraded}));
    assert_eq!(envelope.warning("containment_degraded").is_some(), is_degraded);
    assert_eq!(envelope.run()["survivors"], json!([]));
    envelope
}

#[test]
fn clause_no_orphan_is_left_by_a_normal_end_in_any_containment() {
    let told = |dialect: &Dialect| {
        let tale = dialect.ok("Done.").told();
        Stage::new(family().into_iter().chain([tale]))
    };
    for kind in KINDS {
        every(&format!("no-orphan-{kind}"), |dialect| {
            let envelope = left(dialect, &told(dialect), kind, Protection::On);
            assert_eq!(envelope.run()["left_behind"], 4);
            assert!(envelope.warning("left_behind").unwrap().starts_with("4 processes"));
        });
        let codex = Dialect::of("codex");
        let stage = told(&codex);
        left(&codex, &stage, kind, Protection::Off);
        survived(&format!("clause-no-orphan-{kind}"), &stage);
    }
}

fn cancelled(dialect: &Dialect, kind: &str, protection: Protection) -> Stage {
    let stage = Stage::new([]);
    let ready = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
    stage.play(family().into_iter().chain(ready));
    let exec = dialect.exec(&stage).args(["--containment", kind]).protected(protection);
    let running = exec.words("Do it.").start();
    running.wait_file("tmp/ready");
    running.signal(Signal::TERM);
    let envelope = running.finish().envelope();
    assert_eq!(envelope.code(), "executorCancelled");
    assert_eq!(envelope.run()["survivors"], json!([]));
    stage
}

#[test]
fn clause_no_orphan_is_left_by_a_cancel_in_any_containment() {
    for kind in KINDS {
        every(&format!("no-orphan-cancel-{kind}"), |dialect| {
            cancelled(dialect, kind, Protection::On);
        });
        let stage = cancelled(&Dialect::of("codex"), kind, Protection::Off);
        survived(&format!("clause-no-orphan-cancel-{kind}"), &stage);
    }
}

#[test]
fn clause_no_orphan_is_left_by_an_ordinary_users_run() {
    if !rustix::process::geteuid().is_root() {
        // Every other test here is an ordinary user's already.
        return;
    }
    for kind in KINDS {
        let dialect = Dialect::of("codex");
        let tale = dialect.ok("Done.").told();
        let stage = Stage::of_user(ORDINARY_USER, family().into_iter().chain([tale]));
        let envelope = left(&dialect, &stage, kind, Protection::On);
        assert_eq!(envelope.run()["left_behind"], 4, "{kind}");
        assert_eq!(stage.seen().uid, ORDINARY_USER);
    }
}

#[test]
fn what_is_left_without_containment_is_seen_by_the_tests_that_find_nothing_elsewhere() {
    let dialect = Dialect::of("codex");
    let stage = Stage::new(family().into_iter().chain([dialect.ok("Done.").told()]));
    let exec = dialect.exec(&stage).args(["--containment", "none"]).words("Do it.");
    let envelope = exec.start().finish_uncontained().envelope();
    let alive = stage.marker.alive().len();
    stage.marker.kill_all(HANG_LIMIT).unwrap();
    assert!(alive >= 4, "{alive} processes");
    envelope.ok("Done.");
    assert_eq!(envelope.run()["containment"], json!({"kind": "none", "degraded": true}));
    assert_eq!(envelope.run()["survivors"], json!(null), "no tree kill ran");
    assert!(envelope.warning("not_contained").is_some(), "{envelope:#?}");
}
