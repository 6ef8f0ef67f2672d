//! FIELD 12 to 16: what arrives on standard output, and what it does not say.

use dcli_testkit::agent::{Repeat, Step};
use serde_json::{Value, json};

use crate::common::{Dialect, Envelope, Stage, golden, say, shown};

fn run(id: &str, steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    stage.exec(id).words("Do it.").run().envelope()
}

/// A stream of claude's whose answer has this many bytes: it is printed twice, as claude does.
fn long_answer(bytes: usize) -> (String, String) {
    let answer: String = (0..bytes / 8).map(|index| format!("{index:07} ")).collect();
    let text = golden("claude", "ok-text").replace("\"OK\"", &json!(answer).to_string());
    assert!(text.matches(&answer[..16]).count() == 2);
    (answer, text)
}

#[test]
fn field_12_output_cut_at_65536_bytes_with_exit_0_is_refused() {
    let (_, text) = long_answer(100_000);
    let envelope = run("claude", [say(&text[..65_536])]);
    assert_eq!(envelope.failed("executorOutputTruncated").run()["exit"]["code"], 0);
    let (_, text) = long_answer(20_000);
    // A whole line is cut off too: no half line is left to see.
    let whole = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    run("claude", [say(whole)]).failed("executorNoResult");
    shown("4", "field-12", "executorOutputTruncated, exit 26, at exit 0");
}

#[test]
fn field_12_a_capture_in_a_regular_file_is_complete() {
    let (answer, text) = long_answer(1 << 20);
    let stage = Stage::new([]);
    let file = stage.room.file("tmp/stream.jsonl", &text).unwrap();
    stage.play([Step::StdoutFile(file)]);
    stage.exec("claude").words("Do it.").run().envelope().ok(&answer);
    for output in &stage.seen().fds[1..3] {
        let target = output.target.display().to_string();
        assert!(target.starts_with('/') && target.ends_with("(deleted)"), "{output:?}");
    }
}

#[test]
fn field_13_utf_8_that_is_split_across_reads_stays_whole() {
    let stage = Stage::new([]);
    let answer = "Grüße, 世界 🦀.";
    let text = Dialect::of("codex").ok(answer).text();
    // Each byte is a write of its own, and around the crab the reader gets time to look.
    let hex = |byte: &u8| Step::StdoutHex(format!("{byte:02x}"));
    let crab = text.find('🦀').unwrap();
    let (before, after) = text.as_bytes().split_at(crab + 2);
    let pause = [Step::Touch(stage.path("tmp/half")), Step::WaitFile(stage.path("tmp/go"))];
    stage.play(before.iter().map(hex).chain(pause).chain(after.iter().map(hex)));
    let running = stage.exec("codex").words("Do it.").start();
    running.wait_file("tmp/half");
    stage.room.file("tmp/go", "").unwrap();
    running.finish().envelope().ok(answer);
    shown("4", "field-13", "split UTF-8, a 20 MB line, 400,000 events, an oversized line");
}

#[test]
fn field_13_a_line_of_20_mb_and_lines_around_every_usual_buffer_are_read() {
    for bytes in [(64 << 10) - 1, (64 << 10) + 1, (1 << 20) + 1, 20 << 20] {
        let answer = "a".repeat(bytes);
        let stage = Stage::new([]);
        let file = stage.room.file("tmp/stream", &Dialect::of("codex").ok(&answer).text()).unwrap();
        stage.play([Step::StdoutFile(file)]);
        let envelope = stage.exec("codex").words("Do it.").run().envelope();
        assert!(envelope.result().as_str() == Some(&*answer), "{bytes} bytes are not whole");
    }
}

#[test]
fn field_13_400_000_events_are_read_to_the_last() {
    let line = json!({"type": "item.started", "item": {"id": "i", "type": "todo_list", "items": []},
                      "padding": "x".repeat(150)});
    let many = Step::StdoutRepeat(Repeat { line: line.to_string(), times: 400_000 });
    run("codex", [many, Dialect::of("codex").ok("Done.").told()]).ok("Done.");
}

#[test]
fn field_13_a_line_over_the_cap_is_skipped_alone_and_said() {
    let stage = Stage::new([]);
    let over = json!({"type": "item.completed", "text": "x".repeat((64 << 20) + 1)});
    let file = stage.room.file("tmp/stream", &format!("{over}\n")).unwrap();
    stage.play([Step::StdoutFile(file), Dialect::of("codex").ok("Done.").told()]);
    let outcome = stage.exec("codex").arg("--events").words("Do it.").run();
    let (facts, envelope) = outcome.events();
    // In step again after it, but what it held is not known.
    assert_eq!(envelope.failed("executorOutputTruncated").result(), "Done.");
    assert_eq!(envelope.data()["stdoutTruncated"], true);
    assert_eq!(envelope.data()["usage"], Value::Null);
    assert!(facts.iter().any(|fact| fact["type"] == "output_truncated"));
}

#[test]
fn field_14_terminal_sequences_and_legacy_text_end_nothing() {
    let text = golden("opencode", "multi-step");
    let mut steps = vec![say("\u{1b}]0;opencode\u{7}\u{1b}[?25l\n")];
    for line in text.lines() {
        // "Der Befehl konnte nicht ausgeführt werden." in code page 1252; "Ошибка" in 866.
        steps.push(Step::StdoutHex("61 75 73 67 65 66 FC 68 72 74 0D 0A".to_owned()));
        steps.push(say(format!("{line}\r\n")));
        steps.push(Step::StdoutHex("8E E8 A8 A1 AA A0 0A".to_owned()));
    }
    steps.push(say("\u{1b}[?25h"));
    let clean = run("opencode", [say(text.clone())]);
    let envelope = run("opencode", steps);
    envelope.ok(clean.result().as_str().unwrap());
    let lines = text.lines().count();
    let noise = envelope.data()["malformedStreamLines"].as_u64().unwrap();
    assert!(noise >= 2 * u64::try_from(lines).unwrap(), "{noise} of {lines}");
    shown("4", "field-14", "ok, every line of noise counted");
}

/// CC 94392: work goes to the background, is stopped at the end, and the result says success.
fn background(settled: Option<&str>) -> Vec<String> {
    let text = golden("claude", "ok-text");
    let (init, rest) = text.split_once('\n').unwrap();
    let started = json!({"type": "system", "subtype": "task_started", "task_id": "b1",
                         "is_backgrounded": true, "description": "make test"});
    let settled = settled.map(|status| {
        json!({"type": "system", "subtype": "task_notification", "task_id": "b1", "status": status})
    });
    let records = [started].into_iter().chain(settled).map(|record| record.to_string());
    [init.to_owned()].into_iter().chain(records).chain([rest.trim_end().to_owned()]).collect()
}

#[test]
fn field_15_background_work_that_was_stopped_is_not_covered_by_the_result() {
    for settled in [Some("stopped"), Some("killed"), None] {
        let envelope = run("claude", [say(background(settled).join("\n") + "\n")]);
        assert_eq!(envelope.failed("executorIncomplete").result(), "OK");
        assert!(envelope.message().contains("1 background task"), "{}", envelope.message());
    }
    run("claude", [say(background(Some("completed")).join("\n") + "\n")]).ok("OK");
    shown("4", "field-15", "executorIncomplete, exit 10, at exit 0 and subtype success");
}

#[test]
fn field_15_what_both_versions_of_claude_were_measured_to_say() {
    for version in ["claude", "claude-latest"] {
        let stopped = run("claude", [say(golden(version, "bg-task"))]);
        assert_eq!(stopped.failed("executorIncomplete").run()["exit"]["code"], 0, "{version}");
        for scenario in ["bg-task-settled", "fg-task"] {
            let envelope = run("claude", [say(golden(version, scenario))]);
            assert_eq!(envelope.status(), "ok", "{version} {scenario}: {envelope:#?}");
        }
    }
}

#[test]
fn field_15_later_results_follow_the_first_and_the_last_one_counts() {
    let first = background(None).join("\n");
    let notice = json!({"type": "system", "subtype": "task_notification", "task_id": "b1",
                        "status": "completed"});
    let second = golden("claude", "ok-text").replace("\"OK\"", "\"All tests passed.\"");
    let envelope = run("claude", [say(format!("{first}\n{notice}\n{second}"))]);
    envelope.ok("All tests passed.");
}

#[test]
fn field_16_a_permission_that_opencode_rejected_itself_is_no_success() {
    let asked = "! permission requested: bash (touch asked); auto-rejecting\n";
    for (scenario, tool) in [("perm-ask-bash", "bash"), ("read-outside", "read")] {
        let told = [Step::Stderr(asked.to_owned()), say(golden("opencode", scenario))];
        let envelope = run("opencode", told);
        envelope.failed("executorPermissionDenied");
        assert_eq!((envelope.class(), envelope.exit_kind()), ("permission_or_sandbox", "exited"));
        assert_eq!(envelope.run()["exit"]["code"], 0);
        assert!(envelope.message().contains(tool), "which one: {}", envelope.message());
    }
    shown("4", "field-16", "executorPermissionDenied, exit 15, at exit 0 without text");
}

#[test]
fn field_16_a_rejection_that_the_model_worked_around_is_a_warning() {
    let rejected = golden("opencode", "perm-ask-bash");
    let envelope = run("opencode", [say(rejected), say(golden("opencode", "ok-text"))]);
    assert!(envelope.ok("OK").warning("permission_denied").is_some(), "{envelope:#?}");
}
