//! FIELD 7 to 11: ends and exit codes that mean less than they seem to.

use dcli_testkit::agent::{ChildKind, Step};
use serde_json::{Value, json};

use crate::common::{Dialect, Envelope, Protection, Stage, child, golden, say, shown, survived};

fn run(id: &str, steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    stage.exec(id).words("Do it.").run().envelope()
}

#[test]
fn field_07_a_grandchild_that_keeps_stdout_open_holds_nothing_up() {
    let (_, envelope) = with_holders(Protection::On);
    assert_eq!(envelope.run()["left_behind"], 2);
    shown("4", "field-07", "ok at the leader's exit, 2 holders ended and counted");
    survived("field-07", &with_holders(Protection::Off).0);
}

fn with_holders(protection: Protection) -> (Stage, Envelope) {
    // Each of them would hold the pipes for five minutes.
    let holders = [child(ChildKind::HoldStdout), child(ChildKind::HoldStdout)];
    let stage = Stage::new(holders.into_iter().chain([say(golden("codex", "ok-text"))]));
    let exec = stage.exec("codex").protected(protection);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.ok("OK").exit_kind(), "exited");
    (stage, envelope)
}

#[test]
fn field_07_the_drain_after_an_exit_without_evidence_is_bounded() {
    let text = golden("codex", "ok-text");
    let (unproven, _) = text.trim_end().rsplit_once('\n').unwrap();
    let steps = [child(ChildKind::HoldStdout), say(format!("{unproven}\n"))];
    let envelope = run("codex", steps);
    assert_eq!(envelope.failed("executorOutputTruncated").result(), "OK");
    assert_eq!((envelope.exit_kind(), &envelope.run()["left_behind"]), ("exited", &json!(1)));
}

#[test]
fn field_07_a_hard_deadline_holds_although_a_descendant_holds_the_pipes() {
    let stage = Stage::new([child(ChildKind::HoldStdout), child(ChildKind::DoubleFork)]);
    let exec = stage.exec("codex").args(["--hard-timeout-sec", "2"]);
    let envelope = exec.words("Do it.").run().envelope();
    // The leader is gone at once; the deadline cuts the drain short, and the outcome is its exit's.
    assert_eq!(envelope.failed("executorNoResult").exit_kind(), "exited");
    assert_eq!(envelope.run()["survivors"], json!([]));
}

#[test]
fn field_08_a_process_that_lingers_after_its_result_is_ended_and_done() {
    let (_, envelope) = lingering(Protection::On);
    assert!(envelope.warning("exit_after_result").is_some(), "{envelope:#?}");
    assert_eq!(
        envelope.run()["exit"],
        json!({"code": null, "signal": 9, "kind": "ended_after_result"})
    );
    assert_eq!(envelope.run()["cancel_rung_reached"], Value::Null);
    shown("4", "field-08", "ok, ended_after_result, with a warning");
    survived("field-08", &lingering(Protection::Off).0);
}

fn lingering(protection: Protection) -> (Stage, Envelope) {
    let family = [child(ChildKind::Setsid), say(golden("claude", "ok-text")), Step::Hang(true)];
    let stage = Stage::new(family);
    let exec = stage.exec("claude").protected(protection);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.ok("OK").exit_kind(), "ended_after_result");
    (stage, envelope)
}

#[test]
fn field_09_no_terminal_record_is_no_success() {
    // CX 28476: thread.started, turn.started, silence, exit 0.
    let envelope = run("codex", [say(golden("codex", "stall-headers"))]);
    assert_eq!(envelope.failed("executorNoResult").run()["exit"]["code"], 0);
    for id in ["claude", "codex", "opencode", "gemini", "qwen"] {
        let text = golden(id, "ok-text");
        let (unproven, _) = text.trim_end().rsplit_once('\n').unwrap();
        let envelope = run(id, [say(format!("{unproven}\n"))]);
        assert_eq!(envelope.status(), "failed", "{id}");
        assert!(["executorNoResult", "executorOutputTruncated"].contains(&envelope.code()));
    }
    shown("4", "field-09", "failed for each CLI's measured stream without its last record");
}

#[test]
fn field_10_exit_0_on_failure_is_a_failure() {
    // CC 79500, word for word.
    let said = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\
                \"result\":\"API Error: Rate limit reached\"}\n";
    let envelope = run("claude", [say(said)]);
    envelope.failed("executorRunFailed");
    assert_eq!(
        (envelope.class(), envelope.message()),
        ("quota_or_rate_limit", "API Error: Rate limit reached")
    );
    // codex: error and turn.failed, and exit 0.
    let envelope = run("codex", [say(golden("codex", "error-400"))]);
    assert_eq!(envelope.failed("executorRunFailed").run()["exit"]["code"], 0);
    // opencode: nothing on any channel.
    let envelope = run("opencode", []);
    assert_eq!(envelope.failed("executorNoResult").data()["result"], Value::Null);
    // opencode: one error record.
    let envelope = run("opencode", [say(golden("opencode", "error-429"))]);
    assert_eq!(envelope.failed("executorRunFailed").class(), "quota_or_rate_limit");
    shown("4", "field-10", "four shapes of a failure at exit 0, each failed");
}

#[test]
fn field_11_exit_1_on_success_is_a_success_that_keeps_both_facts() {
    // OC 50062: an error, another try that finished with stop, exit 1.
    let error = golden("opencode", "error-500");
    let told = [say(error), say(golden("opencode", "ok-text")), Step::Exit(1)];
    let opencode = run("opencode", told);
    assert!(opencode.ok("OK").warning("recovered_errors").is_some(), "{opencode:#?}");
    // claude: 1 because some server of its own needs a login.
    let claude = run("claude", [say(golden("claude", "ok-text")), Step::Exit(1)]);
    for envelope in [&opencode, claude.ok("OK")] {
        assert_eq!(envelope.run()["exit"], json!({"code": 1, "signal": null, "kind": "exited"}));
        let warning = envelope.warning("exit_after_result").unwrap();
        assert!(warning.contains("exited 1"), "{warning}");
    }
    shown("4", "field-11", "ok, with the exit code kept and a warning");
}

#[test]
fn field_11_a_signal_before_completion_is_a_failure_that_names_it() {
    let envelope = run("codex", [say(golden("codex", "kill-int")), Step::SignalSelf(9)]);
    assert!(envelope.failed("executorRunFailed").message().contains("signal 9"));
    assert_eq!(envelope.exit_kind(), "signalled");
    let done = Dialect::of("codex").ok("Done.").told();
    let envelope = run("codex", [done, Step::SignalSelf(11)]);
    assert_eq!(envelope.ok("Done.").run()["exit"]["signal"], 11);
}
