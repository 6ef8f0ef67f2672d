//! FIELD 8 to 15 and 20 as jobs: what a backend printed, and what a job's record says of it.

use std::path::Path;

use dcli_testkit::agent::{ChildKind, Repeat, Step};
use serde_json::{Value, json};

use crate::common::{Dialect, Protection, Stage, child, golden, outlived, say, shown};

/// `dcli run` to its end: the job, its exit code being the one that it recorded.
fn ran(stage: &Stage, backend: &str, protection: Protection) -> Value {
    let run = stage.job("run", backend).arg("--json").protected(protection);
    let outcome = run.words("Do it.").run();
    let job = outcome.json("job");
    assert_eq!(job["command_exit_code"], outcome.code(), "{outcome:?}");
    assert_eq!((&job["phase"], &job["attempt"]), (&json!("terminal"), &json!(1)));
    job
}

fn job(backend: &str, steps: impl IntoIterator<Item = Step>) -> Value {
    ran(&Stage::new(steps), backend, Protection::On)
}

fn has_warning(job: &Value, code: &str) -> bool {
    job["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}

fn ending(job: &Value) -> [&Value; 3] {
    [&job["state"], &job["failure"]["class"], &job["command_exit_code"]]
}

#[test]
fn field_08_a_job_whose_backend_lingers_after_its_result_is_done() {
    let lingering = |protection| {
        let family = [child(ChildKind::Setsid), say(golden("claude", "ok-text")), Step::Hang(true)];
        let stage = Stage::new(family);
        let job = ran(&stage, "claude", protection);
        assert_eq!(ending(&job), [&json!("done"), &Value::Null, &json!(0)]);
        assert_eq!(job["exit_kind"], "ended_after_result");
        assert!(has_warning(&job, "exit_after_result"), "{job}");
        stage
    };
    lingering(Protection::On);
    shown("14", "job-field-08", "done, ended_after_result, with a warning");
    outlived("14", "job-field-08", &lingering(Protection::Off));
}

#[test]
fn field_09_a_job_without_a_terminal_record_is_not_done() {
    let stage = Stage::new([say(golden("codex", "stall-headers"))]);
    let job = ran(&stage, "codex", Protection::On);
    assert_eq!(ending(&job), [&json!("failed"), &json!("no_result"), &json!(11)]);
    let id = job["job_id"].as_str().unwrap();
    for read in [&["read", id][..], &["read", id, "--partial"], &["wait", id]] {
        let outcome = stage.over(read);
        assert_eq!(outcome.code(), 11, "{outcome:?}");
        assert!(read[0] == "wait" || outcome.stdout.is_empty(), "{outcome:?}");
    }
    shown("14", "job-field-09", "failed, no_result, exit 11 of run, wait and read");
}

#[test]
fn field_10_exit_0_on_failure_is_a_failed_job() {
    let said = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\
                \"result\":\"API Error: Rate limit reached\"}\n";
    let claude = job("claude", [say(said)]);
    assert_eq!(ending(&claude), [&json!("failed"), &json!("quota_or_rate_limit"), &json!(14)]);
    assert_eq!(claude["failure_reason"], "API Error: Rate limit reached");
    let gemini = job("gemini", []);
    assert_eq!(ending(&gemini), [&json!("failed"), &json!("no_result"), &json!(11)]);
    // A server that ends by itself has failed, whatever its code.
    let opencode = job("opencode", []);
    let served = [&json!("failed"), &json!("backend_execution_failed"), &json!(10)];
    assert_eq!(ending(&opencode), served);
    let codex = job("codex", [say(golden("codex", "error-400"))]);
    assert_eq!((&codex["state"], &codex["backend_exit_code"]), (&json!("failed"), &json!(0)));
    shown("14", "job-field-10", "four shapes of a failure at exit 0, each failed");
}

#[test]
fn field_11_exit_1_on_success_is_done_and_keeps_both_facts() {
    let job = job("claude", [say(golden("claude", "ok-text")), Step::Exit(1)]);
    assert_eq!(ending(&job), [&json!("done"), &Value::Null, &json!(0)]);
    assert_eq!((&job["backend_exit_code"], &job["exit_kind"]), (&json!(1), &json!("exited")));
    assert!(has_warning(&job, "exit_after_result"), "{job}");
    shown("14", "job-field-11", "done with exit 0, the backend's 1 kept, a warning");
}

#[test]
fn field_12_output_that_was_cut_is_no_result_and_a_capture_is_a_file() {
    let answer: String = (0..100_000 / 8).map(|index| format!("{index:07} ")).collect();
    let text = golden("claude", "ok-text").replace("\"OK\"", &json!(answer).to_string());
    let stage = Stage::new([say(&text[..65_536])]);
    let cut = ran(&stage, "claude", Protection::On);
    assert_eq!(ending(&cut), [&json!("failed"), &json!("protocol"), &json!(26)]);
    for (output, name) in stage.seen().fds[1..3].iter().zip(["stdout", "stderr"]) {
        assert!(output.target.ends_with(Path::new("attempts/1/capture").join(name)), "{output:?}");
    }
    let stage = Stage::new([say(text)]);
    let whole = ran(&stage, "claude", Protection::On);
    assert_eq!(whole["result_bytes"], answer.len());
    let read = stage.over(&["read", whole["job_id"].as_str().unwrap()]);
    assert!(read.text() == answer, "read is not exact");
    shown("14", "job-field-12", "failed, protocol, exit 26, at exit 0; whole through a file");
}

#[test]
fn field_13_long_lines_many_events_and_split_letters_are_kept_whole() {
    let (codex, answer) = (Dialect::of("codex"), format!("世界 🦀 {}", "a".repeat(2 << 20)));
    let line = json!({"type": "item.started", "item": {"id": "i", "type": "todo_list"}});
    let many = Repeat { line: line.to_string(), times: 20_000 };
    let last = codex.ok(&answer).text();
    let half = last.find('🦀').unwrap() + 2;
    let (before, after) = last.as_bytes().split_at(half);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let stage = Stage::new([]);
    let parts = [
        Step::StdoutHex(hex(before)),
        Step::Touch(stage.path("tmp/half")),
        Step::WaitFile(stage.path("tmp/go")),
        Step::StdoutHex(hex(after)),
    ];
    stage.play([Step::StdoutRepeat(many.clone())].into_iter().chain(parts));
    let id = stage.submit("codex");
    stage.wait_file("tmp/half");
    stage.room.file("tmp/go", "").unwrap();
    assert_eq!(stage.waited(&id)["result_bytes"], answer.len());
    assert!(stage.over(&["read", &id]).text() == answer, "read is not exact");
    let printed = format!("{line}\n").repeat(20_000) + &last;
    let log = std::fs::read(stage.job_dir(&id).join("attempts/1/stdout.log")).unwrap();
    assert!(log == printed.as_bytes(), "the log is not what was printed");
    shown("14", "job-field-13", "20,000 events, a 2 MB line, a split letter: result and log exact");
}

#[test]
fn field_14_terminal_sequences_end_nothing_and_reach_no_terminal() {
    let (codex, hostile) = (Dialect::of("codex"), "\u{1b}]0;owned\u{7}\u{1b}[2J");
    let tool = dcli_core::executor::rule::FactKind::ToolInvoked;
    let fields = [("call_id", json!("c")), ("summary", json!(format!("ls {hostile}")))];
    let called = codex.tale([codex.fact(tool, &fields).unwrap()]).told();
    let legacy = Step::StdoutHex("8E E8 A8 A1 AA A0 0A".to_owned());
    let done = codex.ok(&format!("Done.{hostile}")).told();
    let stage = Stage::new([say(format!("{hostile}\n")), legacy, called, done]);
    let job = ran(&stage, "codex", Protection::On);
    assert_eq!(ending(&job), [&json!("done"), &Value::Null, &json!(0)]);
    let id = job["job_id"].as_str().unwrap();
    for verb in [&["tail", id][..], &["status", id], &["list"], &["wait", id]] {
        let outcome = stage.over(verb);
        assert!(!outcome.text().contains('\u{1b}'), "{outcome:?}");
    }
    // Exact bytes only where exact bytes are asked for.
    assert!(stage.over(&["read", id]).text().contains(hostile));
    let raw = stage.over(&["tail", id, "--raw"]).stdout;
    assert!(raw.starts_with(hostile.as_bytes()), "{:?}", String::from_utf8_lossy(&raw));
    shown("14", "job-field-14", "done; tail, status, list and wait print no escape");
}

#[test]
fn field_15_a_job_whose_background_work_was_stopped_is_not_done() {
    for (scenario, state, code) in [("bg-task", "failed", 10), ("bg-task-settled", "done", 0)] {
        let job = job("claude", [say(golden("claude", scenario))]);
        assert_eq!(job["backend_exit_code"], 0);
        assert_eq!((&job["state"], &job["command_exit_code"]), (&json!(state), &json!(code)));
    }
    shown("14", "job-field-15", "failed, exit 10, at exit 0 and subtype success; settled is done");
}

#[test]
fn field_18_the_vendors_windows_are_in_the_status() {
    let stage = Stage::new([say(golden("claude-latest", "rate-limit-oauth"))]);
    let run = ran(&stage, "claude", Protection::On);
    let kept = stage.status(run["job_id"].as_str().unwrap());
    for job in [&run, &kept] {
        let windows = &job["usage_windows"];
        assert_eq!(windows, &job["envelope"]["data"]["usageWindows"]);
        assert!(windows.to_string().contains("1800000000"), "no time of a reset: {windows}");
    }
    assert_eq!(job("claude", [say(golden("claude", "ok-text"))])["usage_windows"], Value::Null);
    shown("14", "job-field-18", "the windows with their reset in status; null where none came");
}

#[test]
fn field_20_a_login_that_is_gone_is_said_and_not_tried_again() {
    for (backend, scenario) in
        [("claude", "error-401-full"), ("codex", "error-401"), ("qwen", "error-401")]
    {
        let stage = Stage::new([say(golden(backend, scenario)), Step::Exit(1)]);
        let job = ran(&stage, backend, Protection::On);
        assert_eq!(ending(&job), [&json!("failed"), &json!("auth"), &json!(13)], "{backend}");
        assert_eq!(job["failure"]["retryable"], false);
        let journal = stage.journal(job["job_id"].as_str().unwrap());
        let starts = journal.iter().filter(|line| line["type"] == "backend_started");
        assert_eq!(starts.count(), 1, "{backend}");
    }
    shown("14", "job-field-20", "failed, auth, exit 13, one start each");
}
