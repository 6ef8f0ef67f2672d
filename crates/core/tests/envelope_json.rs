//! The envelope as callers parse it: exact JSON, key order, and the way back.

use dcli_core::envelope::{
    AccessEnforcement, ContainmentReport, Data, DurationsMs, EnvelopeError, ErrorCode,
    ExecutorReport, ExitKind, ExitReport, ResultEnvelope, RunData, RunReport, Status,
    SurvivorReport, summarise,
};
use dcli_core::exit::FailureClass;
use dcli_core::fact::{Tokens, Warning};
use dcli_core::failure::Failure;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn run_report() -> RunReport {
    RunReport {
        durations_ms: DurationsMs { spawn_setup: 4, run: 1200 },
        exit: ExitReport { code: Some(0), signal: None, kind: Some(ExitKind::Exited) },
        containment: ContainmentReport { kind: "pid-namespace".into(), degraded: false },
        access_enforcement: AccessEnforcement { kind: "backend".into(), verified: false },
        survivors: Some(vec![]),
        left_behind: 1,
        cancel_rung_reached: None,
        warnings: vec![Warning::new("left_behind", "1 process")],
        executor: ExecutorReport {
            id: "codex".into(),
            source: "shipped".into(),
            chosen_by: "invocation".into(),
            program: Some("/bin/codex".into()),
            version: None,
        },
        backend_session_id: Some("t1".into()),
        tokens: Tokens { input: Some(19), total: Some(26), ..Tokens::default() },
        cost: None,
        failure: None,
    }
}

fn run_data() -> RunData {
    RunData {
        result: Some("OK".into()),
        metadata: Map::from_iter([("thread_id".to_owned(), json!("t1"))]),
        usage: Some(26),
        usage_windows: None,
        stdout_truncated: None,
        stderr_truncated: None,
        malformed_stream_lines: None,
        run: run_report(),
    }
}

fn envelope(data: RunData) -> ResultEnvelope {
    ResultEnvelope {
        status: Status::Ok,
        data: Data::Run(Box::new(data)),
        summary: "OK".into(),
        changed_paths: None,
        errors: None,
    }
}

#[test]
fn a_good_envelope_is_exactly_this() {
    let found = serde_json::to_string(&envelope(run_data())).unwrap();
    let wanted = concat!(
        r#"{"status":"ok","data":{"result":"OK","thread_id":"t1","usage":26,"usageWindows":null,"#,
        r#""run":{"durations_ms":{"spawn_setup":4,"run":1200},"#,
        r#""exit":{"code":0,"signal":null,"kind":"exited"},"#,
        r#""containment":{"kind":"pid-namespace","degraded":false},"#,
        r#""access_enforcement":{"kind":"backend","verified":false},"#,
        r#""survivors":[],"left_behind":1,"cancel_rung_reached":null,"#,
        r#""warnings":[{"code":"left_behind","message":"1 process"}],"#,
        r#""executor":{"id":"codex","source":"shipped","chosen_by":"invocation","#,
        r#""program":"/bin/codex","version":null},"backend_session_id":"t1","#,
        r#""tokens":{"input":19,"output":null,"reasoning":null,"cache_read":null,"#,
        r#""cache_write":null,"total":26},"cost":null,"failure":null}},"summary":"OK"}"#,
    );
    assert_eq!(found, wanted);
}

#[test]
fn truncation_flags_come_together_and_malformed_lines_only_above_zero() {
    let mut data = run_data();
    data.stdout_truncated = Some(true);
    data.stderr_truncated = Some(false);
    data.malformed_stream_lines = Some(2);
    let value = serde_json::to_value(envelope(data)).unwrap();
    let keys: Vec<&String> = value["data"].as_object().unwrap().keys().collect();
    let wanted = [
        "result",
        "thread_id",
        "usage",
        "usageWindows",
        "stdoutTruncated",
        "stderrTruncated",
        "malformedStreamLines",
        "run",
    ];
    assert_eq!(keys, wanted);
}

#[test]
fn a_refusal_has_empty_data_and_its_error() {
    let refused = ResultEnvelope::refused(ErrorCode::RequestInvalid, "no prompt\nmore".into());
    let value = serde_json::to_value(&refused).unwrap();
    assert_eq!(
        value,
        json!({"status": "failed", "data": {}, "summary": "no prompt",
               "errors": [{"message": "no prompt\nmore", "code": "requestInvalid"}]})
    );
    assert_eq!(serde_json::from_value::<ResultEnvelope>(value).unwrap(), refused);
}

#[test]
fn the_exit_code_follows_the_failure_where_one_was_found_and_the_error_code_else() {
    let mut data = run_data();
    data.run.failure = Some(Failure::seen(FailureClass::Auth, "no".into()));
    let error = EnvelopeError { message: "no".into(), code: ErrorCode::ExecutorRunFailed };
    let failed =
        ResultEnvelope { status: Status::Failed, errors: Some(vec![error]), ..envelope(data) };
    assert_eq!(failed.exit_code(), 13);
    for (code, class) in ErrorCode::TABLE {
        let refused = ResultEnvelope::refused(*code, "x".into());
        assert_eq!(refused.exit_code(), class.exit_code());
        assert_ne!(refused.exit_code(), 0, "a success code for work that did not succeed");
    }
}

#[test]
fn a_summary_is_the_first_line_that_is_not_blank_cut_at_characters() {
    assert_eq!(summarise("\n  \n  first \nsecond"), "first");
    assert_eq!(summarise(&"é".repeat(300)).chars().count(), 200);
    assert_eq!(summarise(" \n\t"), "");
}

fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

fn any_run() -> impl Strategy<Value = RunData> {
    let figures = (any::<Option<u64>>(), any::<Option<u64>>(), any::<u32>());
    let words = (prop::option::of(text()), text(), prop::option::of(text()));
    let survivors =
        prop::option::of(prop::collection::vec(
            (any::<u32>(), any::<u64>(), text())
                .prop_map(|(pid, start_time, comm)| SurvivorReport { pid, start_time, comm }),
            0..3,
        ));
    let flags = (any::<bool>(), any::<bool>(), prop::option::of(1..9_u64));
    (figures, words, survivors, flags).prop_map(|(figures, words, survivors, flags)| {
        let (usage, input, left_behind) = figures;
        let (result, key, session) = words;
        let mut data = run_data();
        let truncated = flags.0 || flags.1;
        data.metadata = Map::from_iter([(format!("m_{key}"), Value::from(session.clone()))]);
        data.result = result;
        data.usage = usage;
        data.stdout_truncated = truncated.then_some(flags.0);
        data.stderr_truncated = truncated.then_some(flags.1);
        data.malformed_stream_lines = flags.2;
        data.run.tokens.input = input;
        data.run.left_behind = left_behind;
        data.run.survivors = survivors;
        data.run.backend_session_id = session;
        data
    })
}

proptest! {
    #[test]
    fn every_envelope_round_trips(data in any_run()) {
        let envelope = envelope(data);
        let text = serde_json::to_string(&envelope).unwrap();
        prop_assert_eq!(serde_json::from_str::<ResultEnvelope>(&text).unwrap(), envelope);
    }
}
