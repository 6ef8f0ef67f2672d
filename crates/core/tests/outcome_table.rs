//! Each row of the outcome table, in its order: the first that fits wins.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use dcli_core::envelope::{ErrorCode, Status};
use dcli_core::executor::Scan;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::outcome::{Ending, Limit, Surroundings, Verdict, conclude};

fn good() -> Scan {
    Scan { records: 3, result: Some("OK".into()), terminal: true, ..Scan::default() }
}

fn silent() -> Scan {
    Scan::default()
}

fn judged(ending: &Ending, scan: &Scan) -> Verdict {
    conclude(ending, scan, &Surroundings::default())
}

#[track_caller]
fn row(ending: &Ending, scan: &Scan, code: ErrorCode, class: FailureClass) {
    let verdict = judged(ending, scan);
    let (found, failure) = verdict.error.unwrap();
    assert_eq!((found, failure.class), (code, class), "{}", failure.message);
    assert_ne!(verdict.status, Status::Ok);
}

#[test]
fn good_evidence_is_ok_and_a_non_zero_exit_is_a_warning() {
    assert_eq!(judged(&Ending::Exited(0), &good()).status, Status::Ok);
    for ending in [Ending::Exited(1), Ending::Signalled(11), Ending::AfterResult] {
        let verdict = judged(&ending, &good());
        assert_eq!(verdict.status, Status::Ok, "{ending:?}");
        assert_eq!(verdict.warnings[0].code, "exit_after_result");
    }
}

#[test]
fn what_ended_it_before_completion_comes_first() {
    use FailureClass as Class;
    let failing = Scan {
        failure: Some(Failure::seen(Class::Auth, "no".into())),
        permission_denied: Some("asked".into()),
        ..silent()
    };
    for scan in [&silent(), &failing] {
        row(&Ending::Cancelled, scan, ErrorCode::ExecutorCancelled, Class::Cancelled);
        for limit in [Limit::Startup, Limit::Idle, Limit::Hard] {
            row(&Ending::Deadline(limit), scan, ErrorCode::ExecutorTimedOut, Class::Timeout);
        }
        let signalled = Ending::Signalled(9);
        row(&signalled, scan, ErrorCode::ExecutorRunFailed, Class::BackendExecutionFailed);
        let capture = Ending::Capture("disk".into());
        row(&capture, scan, ErrorCode::ExecutorRunFailed, Class::Internal);
    }
    assert_eq!(judged(&Ending::Cancelled, &silent()).status, Status::Cancelled);
    let timed_out = judged(&Ending::Deadline(Limit::Hard), &failing).error.unwrap().1;
    assert!(timed_out.message.ends_with("the backend had reported: no"), "{timed_out:?}");
}

#[test]
fn a_cancel_with_survivors_is_failed_and_names_them() {
    let around = Surroundings { survivors: vec!["sleep (7)".into()], ..Surroundings::default() };
    let verdict = conclude(&Ending::Cancelled, &silent(), &around);
    assert_eq!(verdict.status, Status::Failed);
    let failure = verdict.error.unwrap().1;
    assert_eq!(failure.class, FailureClass::CancelUnconfirmed);
    assert!(failure.message.contains("sleep (7)"));
}

#[test]
fn a_rejected_permission_counts_only_without_a_final_result() {
    let denied = Scan { permission_denied: Some("asked".into()), ..silent() };
    let class = FailureClass::PermissionOrSandbox;
    row(&Ending::Exited(0), &denied, ErrorCode::ExecutorPermissionDenied, class);
    let text_only = Scan { result: Some("let me try".into()), ..denied.clone() };
    row(&Ending::Exited(0), &text_only, ErrorCode::ExecutorPermissionDenied, class);
    let went_on = Scan { permission_denied: Some("asked".into()), ..good() };
    let verdict = judged(&Ending::Exited(0), &went_on);
    assert_eq!(verdict.status, Status::Ok);
    assert!(verdict.warnings.iter().any(|warning| warning.code == "permission_denied"));
}

#[test]
fn tools_that_never_started_are_a_denial_whatever_the_answer_says() {
    let unstarted = Scan { sandbox_failure: Some("bwrap: loopback:".into()), ..good() };
    let class = FailureClass::PermissionOrSandbox;
    row(&Ending::Exited(0), &unstarted, ErrorCode::ExecutorPermissionDenied, class);
    let some_worked = Scan { tools_ok: 1, ..unstarted };
    assert_eq!(judged(&Ending::Exited(0), &some_worked).status, Status::Ok);
}

#[test]
fn a_failing_record_stands_at_any_exit_code() {
    let failure = Some(Failure::seen(FailureClass::QuotaOrRateLimit, "limit".into()));
    let failing = Scan { failure, ..good() };
    for code in [0, 1] {
        let ending = Ending::Exited(code);
        row(&ending, &failing, ErrorCode::ExecutorRunFailed, FailureClass::QuotaOrRateLimit);
    }
}

#[test]
fn announced_work_that_was_stopped_or_is_open_is_incomplete() {
    let class = FailureClass::BackendExecutionFailed;
    let stopped = Scan { stopped_tasks: 1, ..good() };
    row(&Ending::Exited(0), &stopped, ErrorCode::ExecutorIncomplete, class);
    let open = Scan { open_tasks: ["t".to_owned()].into(), ..good() };
    row(&Ending::Exited(0), &open, ErrorCode::ExecutorIncomplete, class);
}

#[test]
fn a_non_zero_exit_without_evidence_quotes_standard_error() {
    let around = Surroundings { stderr: "noise\nboom: no config\n\n", ..Surroundings::default() };
    let failure = conclude(&Ending::Exited(3), &silent(), &around).error.unwrap().1;
    assert_eq!(failure.class, FailureClass::BackendExecutionFailed);
    assert!(failure.message.contains("exited 3") && failure.message.contains("boom: no config"));
}

#[test]
fn output_without_proof_is_cut_and_silence_is_no_result() {
    use FailureClass::{NoResult, Protocol};
    let cut = ErrorCode::ExecutorOutputTruncated;
    let exit = Ending::Exited(0);
    row(&exit, &Scan { cut: true, ..silent() }, cut, Protocol);
    row(&exit, &Scan { oversized: 1, ..good() }, cut, Protocol);
    row(&exit, &Scan { terminal: false, ..good() }, cut, Protocol);
    row(&Ending::Capped, &Scan { terminal: false, ..good() }, cut, Protocol);
    row(&exit, &silent(), ErrorCode::ExecutorNoResult, NoResult);
    let blank = Scan { result: Some("  \n".into()), ..good() };
    row(&exit, &blank, ErrorCode::ExecutorNoResult, NoResult);
    row(&exit, &Scan { result: None, ..good() }, ErrorCode::ExecutorNoResult, NoResult);
}

#[test]
fn a_settled_session_is_judged_by_its_records_and_a_server_that_exits_by_itself_has_failed() {
    use FailureClass::{BackendExecutionFailed, NoResult, PermissionOrSandbox};
    let verdict = judged(&Ending::Settled, &good());
    assert!(verdict.status == Status::Ok && verdict.warnings.is_empty(), "{verdict:?}");
    row(&Ending::Settled, &silent(), ErrorCode::ExecutorNoResult, NoResult);
    let denied = Scan { permission_denied: Some("asked".into()), ..silent() };
    row(&Ending::Settled, &denied, ErrorCode::ExecutorPermissionDenied, PermissionOrSandbox);
    let around = Surroundings { is_server: true, ..Surroundings::default() };
    for code in [0, 3] {
        let verdict = conclude(&Ending::Exited(code), &silent(), &around);
        assert_eq!(verdict.error.unwrap().1.class, BackendExecutionFailed);
    }
    assert_eq!(conclude(&Ending::Exited(0), &good(), &around).status, Status::Ok);
}
