//! Golden streams of the real CLIs through the scanner and the outcome table.
#![expect(clippy::disallowed_methods, reason = "the purity of core does not bind its tests")]
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dcli_core::envelope::{ErrorCode, Status};
use dcli_core::executor::{Catalogue, Scan, Scanner};
use dcli_core::exit::FailureClass;
use dcli_core::fact::Fact;
use dcli_core::outcome::{Ending, Surroundings, Verdict, conclude};

fn golden(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/golden").join(scenario)
}

fn executor_of(scenario: &str) -> Arc<dcli_core::executor::Record> {
    let id = scenario.split('/').next().unwrap().trim_end_matches("-latest");
    Arc::clone(&Catalogue::shipped().unwrap().find(id).unwrap().record)
}

fn scan(scenario: &str, chunk: usize) -> (Scan, Vec<Fact>) {
    let bytes = std::fs::read(golden(scenario).join("stdout.jsonl")).unwrap();
    let mut scanner = Scanner::new(executor_of(scenario), 1 << 26);
    let mut facts = Vec::new();
    for piece in bytes.chunks(chunk) {
        scanner.push(piece, |fact| facts.push(fact));
    }
    let scan = scanner.finish(|fact| facts.push(fact));
    (scan, facts)
}

fn verdict(scenario: &str) -> (Verdict, Scan) {
    let (scan, _) = scan(scenario, 1 << 16);
    let exit = std::fs::read_to_string(golden(scenario).join("exit")).unwrap();
    let code: i32 = exit.trim().parse().unwrap();
    let ending = if code < 0 { Ending::Signalled(-code) } else { Ending::Exited(code) };
    let stderr = std::fs::read_to_string(golden(scenario).join("stderr.txt")).unwrap_or_default();
    let record = executor_of(scenario);
    let around = Surroundings {
        stderr: &stderr,
        stderr_signals: &record.output.stderr_signals,
        ..Surroundings::default()
    };
    (conclude(&ending, &scan, &around), scan)
}

#[track_caller]
fn ok(scenario: &str, result: &str, usage: u64) {
    let (verdict, scan) = verdict(scenario);
    assert_eq!(verdict.status, Status::Ok, "{scenario}: {verdict:?}");
    assert_eq!(scan.answer(), Some(result), "{scenario}");
    assert_eq!(scan.usage, Some(usage), "{scenario}");
}

#[track_caller]
fn fails(scenario: &str, code: ErrorCode, class: FailureClass) -> dcli_core::failure::Failure {
    let (verdict, _) = verdict(scenario);
    assert_ne!(verdict.status, Status::Ok, "{scenario}");
    let (found, failure) = verdict.error.unwrap();
    assert_eq!((found, failure.class), (code, class), "{scenario}: {failure:?}");
    failure
}

#[test]
fn good_streams_are_ok_with_the_vendors_figures() {
    ok("claude/ok-text", "OK", 26);
    ok("claude-latest/ok-text", "OK", 26);
    ok("claude/multi-step", "three steps done", 104);
    ok("codex/ok-text", "OK", 26);
    ok("opencode/ok-text", "OK", 26);
}

#[test]
fn reasoning_is_never_the_result_and_never_a_text_fact() {
    for scenario in ["claude/reasoning", "codex/reasoning", "opencode/reasoning-thinking"] {
        let (scan, facts) = scan(scenario, 1 << 16);
        assert_eq!(scan.answer(), Some("visible answer"), "{scenario}");
        assert!(!format!("{facts:?}").contains("secret thoughts"), "{scenario}");
        assert!(facts.iter().any(|fact| matches!(fact, Fact::Reasoning { .. })), "{scenario}");
    }
}

#[test]
fn http_errors_get_their_class_whatever_the_subtype_says() {
    use ErrorCode::ExecutorRunFailed as Failed;
    use FailureClass::{Auth, BackendExecutionFailed as Backend, QuotaOrRateLimit as Quota};
    for (status, class) in [("400", Backend), ("401", Auth), ("429", Quota), ("500", Backend)] {
        for cli in ["claude", "codex", "opencode"] {
            // The shorter claude run was ended by its runner in the middle of the retries.
            let full = if (cli, status) == ("claude", "401") { "-full" } else { "" };
            fails(&format!("{cli}/error-{status}{full}"), Failed, class);
        }
    }
    assert_eq!(fails("claude/error-429", Failed, Quota).http_code, Some(429));
    assert_eq!(fails("codex/error-429", Failed, Quota).http_code, Some(429));
    assert_eq!(fails("opencode/error-401", Failed, Auth).http_code, Some(401));
    fails("claude/error-529", Failed, Backend);
    fails("claude/no-auth", Failed, Auth);
    fails("codex/missing-key", Failed, Auth);
    fails("claude/max-budget", Failed, Quota);
    fails("claude/max-turns", Failed, Backend);
    fails("claude/root-no-is-sandbox", Failed, FailureClass::PermissionOrSandbox);
}

#[test]
fn a_rejected_permission_without_a_result_is_a_denial_and_not_a_success() {
    use ErrorCode::ExecutorPermissionDenied as Denied;
    fails("opencode/perm-ask-bash", Denied, FailureClass::PermissionOrSandbox);
}

#[test]
fn denied_tools_before_a_good_result_are_warnings() {
    let (verdict, _) = verdict("claude/perm-default");
    assert_eq!(verdict.status, Status::Ok);
    assert!(verdict.warnings.iter().any(|warning| warning.code == "permission_denied"));
}

#[test]
fn every_golden_stream_scans_the_same_in_any_chunking() {
    for cli in ["claude", "claude-latest", "codex", "gemini", "opencode", "qwen"] {
        for entry in std::fs::read_dir(golden(cli)).unwrap() {
            let scenario = format!("{cli}/{}", entry.unwrap().file_name().display());
            let whole = scan(&scenario, 1 << 26);
            for chunk in [1, 7, 4096] {
                let pieces = scan(&scenario, chunk);
                assert_eq!(pieces.1, whole.1, "{scenario} in pieces of {chunk}");
                assert_eq!(format!("{:?}", pieces.0), format!("{:?}", whole.0), "{scenario}");
            }
        }
    }
}

#[test]
fn no_cut_prefix_of_a_good_stream_is_ever_ok() {
    for scenario in
        ["claude/multi-step", "claude-latest/ok-text", "codex/multi-step", "opencode/multi-step"]
    {
        let bytes = std::fs::read(golden(scenario).join("stdout.jsonl")).unwrap();
        let last_line = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
        for end in (0..last_line).step_by(97).chain(last_line..bytes.len() - 2) {
            let mut scanner = Scanner::new(executor_of(scenario), 1 << 26);
            scanner.push(&bytes[..end], |_| {});
            let scan = scanner.finish(|_| {});
            let verdict = conclude(&Ending::Exited(0), &scan, &Surroundings::default());
            assert_ne!(verdict.status, Status::Ok, "{scenario} cut at {end}");
        }
    }
}

#[test]
fn only_a_background_task_that_was_stopped_takes_the_success_away() {
    use ErrorCode::ExecutorIncomplete as Incomplete;
    for stopped in ["claude/bg-task", "claude-latest/bg-task", "claude-latest/bg-task-term"] {
        fails(stopped, Incomplete, FailureClass::BackendExecutionFailed);
    }
    ok("claude/bg-task-settled", "it is over", 78);
    ok("claude/fg-task", "fore", 52);
    ok("claude-latest/fg-task", "fore", 52);
    ok("claude-latest/bg-task-settled", "second answer", 78);
    ok("claude-latest/fg-task-moved", "timed out", 78);
}

#[test]
fn more_open_tasks_than_are_remembered_are_never_complete() {
    let announced = |id: u64| {
        format!("{{\"type\":\"system\",\"subtype\":\"task_started\",\"task_id\":\"t{id}\"}}\n")
    };
    let settled = |id: u64| announced(id).replace("task_started", "task_notification");
    let settled = |id: u64| settled(id).replace("\"}", "\",\"status\":\"completed\"}");
    let rest = std::fs::read_to_string(golden("claude/ok-text").join("stdout.jsonl")).unwrap();
    let status = |tasks: u64, done: u64| {
        let mut scanner = Scanner::new(executor_of("claude"), 1 << 26);
        (0..tasks).for_each(|id| scanner.push(announced(id).as_bytes(), |_| {}));
        (0..done).for_each(|id| scanner.push(settled(id).as_bytes(), |_| {}));
        scanner.push(rest.as_bytes(), |_| {});
        let scan = scanner.finish(|_| {});
        conclude(&Ending::Exited(0), &scan, &Surroundings::default()).status
    };
    assert_eq!(status(4096, 4096), Status::Ok);
    assert_eq!(status(4096, 4095), Status::Failed);
    assert_eq!(status(5000, 4096), Status::Failed);
}
