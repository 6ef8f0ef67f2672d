//! What is never ok, whatever the exit code says.

use std::path::Path;

use dcli_testkit::agent::Step;

use crate::common::{Envelope, Stage, golden, say, shown};

const CLIS: [&str; 5] = ["claude", "codex", "opencode", "gemini", "qwen"];

fn run(id: &str, stream: &str) -> Envelope {
    let stage = Stage::new([say(stream)]);
    let envelope = stage.exec(id).words("Do it.").run().envelope();
    assert_eq!(envelope.run()["exit"]["code"], 0, "the agent exited 0");
    envelope
}

#[test]
fn a_stream_without_its_terminal_record() {
    for id in CLIS {
        let text = golden(id, "multi-step");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for kept in 0..lines.len() {
            let envelope = run(id, &lines[..kept].concat());
            let code = envelope.code();
            let known = ["executorNoResult", "executorOutputTruncated"].contains(&code);
            assert!(envelope.status() == "failed" && known, "{id}, {kept} lines: {envelope:#?}");
        }
        assert_eq!(run(id, &text).status(), "ok", "{id}: the whole of it is ok");
    }
    shown("5", "no-terminal-record", "failed, exit 11 or 26, after any number of lines");
}

#[test]
fn half_a_last_line() {
    for id in CLIS {
        let text = golden(id, "ok-text");
        let whole = text.trim_end();
        let last = whole.rfind('\n').unwrap() + 1;
        let length = whole.len() - last;
        for part in 1..12 {
            let mut end = last + (length * part / 12).max(1);
            while !whole.is_char_boundary(end) {
                end += 1;
            }
            let envelope = run(id, &whole[..end]);
            envelope.failed("executorOutputTruncated");
        }
        run(id, &whole[..whole.len() - 1]).failed("executorOutputTruncated");
        assert_eq!(run(id, whole).status(), "ok", "{id}: only the line feed is missing");
    }
    shown("5", "half-a-last-line", "executorOutputTruncated, exit 26, wherever it was cut");
}

#[test]
fn an_error_flag_under_the_subtype_success() {
    let said = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\
                \"result\":\"API Error: Rate limit reached\"}\n";
    assert_eq!(run("claude", said).failed("executorRunFailed").class(), "quota_or_rate_limit");
    for status in ["400", "401-full", "429", "500", "529"] {
        let envelope = run("claude", &golden("claude", &format!("error-{status}")));
        assert!(envelope.data()["subtype"] == "success", "{status}");
        envelope.failed("executorRunFailed");
    }
    shown("5", "is-error-under-success", "executorRunFailed, exit 10, 13 or 14");
}

#[test]
fn a_permission_that_opencode_rejected() {
    for scenario in ["perm-ask-bash", "read-outside"] {
        let envelope = run("opencode", &golden("opencode", scenario));
        assert_eq!(envelope.failed("executorPermissionDenied").result(), &serde_json::Value::Null);
    }
    shown("5", "opencode-rejected-permission", "executorPermissionDenied, exit 15");
}

#[test]
fn background_work_that_was_stopped() {
    let text = golden("claude", "ok-text");
    let (init, rest) = text.split_once('\n').unwrap();
    let started =
        r#"{"type":"system","subtype":"task_started","task_id":"b1","is_backgrounded":true}"#;
    let stopped =
        r#"{"type":"system","subtype":"task_notification","task_id":"b1","status":"stopped"}"#;
    for settled in [stopped, ""] {
        let envelope = run("claude", &format!("{init}\n{started}\n{settled}\n{rest}"));
        assert_eq!(envelope.failed("executorIncomplete").data()["subtype"], "success");
    }
    shown("5", "background-work-stopped", "executorIncomplete, exit 10, under subtype success");
}

#[test]
fn any_measured_failure_or_kill_although_the_exit_code_is_0() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/golden");
    let mut seen = 0;
    for id in CLIS {
        for entry in std::fs::read_dir(kept.join(id)).unwrap() {
            let scenario = entry.unwrap().file_name().into_string().unwrap();
            let fails = scenario.starts_with("error-") || scenario.starts_with("kill-");
            if fails && !scenario.ends_with("-then-ok") {
                let stage = Stage::new([Step::StdoutFile(
                    kept.join(id).join(&scenario).join("stdout.jsonl"),
                )]);
                let envelope = stage.exec(id).words("Do it.").run().envelope();
                assert_eq!(envelope.status(), "failed", "{id} {scenario}: {envelope:#?}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 40, "only {seen} streams were there");
    shown("5", "measured-failures", &format!("{seen} measured streams, each failed at exit 0"));
}
