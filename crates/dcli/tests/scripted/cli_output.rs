//! What `dcli exec` prints: one envelope, the result alone, or facts as they come.

use std::fs::File;

use dcli_testkit::agent::Step;
use serde_json::{Value, json};

use crate::common::{Dialect, Stage, fake_agent, golden, say};

fn kinds(facts: &[Value]) -> Vec<&str> {
    facts.iter().map(|fact| fact["type"].as_str().unwrap()).collect()
}

#[test]
fn events_are_numbered_without_gaps_and_the_envelope_is_last() {
    for id in ["claude", "codex", "opencode", "gemini", "qwen"] {
        let stage = Stage::new([say(golden(id, "multi-step"))]);
        let outcome = stage.exec(id).arg("--events").words("Do it.").run();
        let (facts, envelope) = outcome.events();
        assert_eq!(envelope.status(), "ok", "{id}");
        let kinds = kinds(&facts);
        assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("started", "process_exited"), "{id}");
        assert_eq!(kinds.iter().filter(|kind| **kind == "process_exited").count(), 1, "{id}");
        for kind in ["tool_invoked", "tool_result", "assistant_text", "usage_reported"] {
            assert!(kinds.contains(&kind), "{id} tells no {kind}: {kinds:?}");
        }
        let all: Vec<Value> =
            outcome.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (index, line) in all.iter().enumerate() {
            assert_eq!(line["seq"], index + 1, "{id}");
            assert_eq!(line["schema_version"], 1);
            let at = line["at"].as_str().unwrap();
            assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[19] == b'.', "{at}");
        }
        assert!(all.is_sorted_by_key(|line| line["at"].as_str().unwrap().to_owned()), "{id}");
    }
}

#[test]
fn events_come_while_the_run_goes_on() {
    let codex = Dialect::of("codex");
    let stage = Stage::new([]);
    let wait = Step::WaitFile(stage.path("tmp/go"));
    stage.play([say(golden("codex", "stall-headers")), wait, codex.ok("Done.").told()]);
    let running = stage.exec("codex").arg("--events").words("Do it.").start();
    // The agent does not go on before this was seen.
    running.wait_fact("the session", |fact| fact["backend_session_id"].is_string());
    stage.room.file("tmp/go", "").unwrap();
    running.finish().events().1.ok("Done.");
}

#[test]
fn events_of_a_failed_start_end_with_the_envelope_too() {
    let stage = Stage::new([]);
    let outcome = stage.exec("nobody").arg("--events").words("Do it.").run();
    let (facts, envelope) = outcome.events();
    assert_eq!((facts, envelope.code()), (vec![], "executorNotFound"));
    let outcome = stage.exec("codex").args(["--events", "--frobnicate"]).words("Do it.").run();
    let (facts, envelope) = outcome.events();
    assert_eq!((facts, envelope.code()), (vec![], "requestInvalid"));
    assert!(!stage.was_started());
}

#[test]
fn text_is_the_result_to_the_byte() {
    for answer in ["Done.", "Done.\n", "  two\n\nlines \u{1b}[0m\u{0}ä🦀\r\n\n"] {
        let stage = Stage::new([Dialect::of("claude").ok(answer).told()]);
        let outcome = stage.exec("claude").arg("--text").words("Do it.").run();
        assert_eq!((outcome.code(), outcome.stdout.as_slice()), (0, answer.as_bytes()));
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn text_of_a_run_that_failed_is_nothing_although_there_is_a_payload() {
    let codex = Dialect::of("codex");
    let stage = Stage::new([codex.tale([codex.answer("Half of it.")]).told(), Step::Exit(1)]);
    let outcome = stage.exec("codex").arg("--text").words("Do it.").run();
    assert_eq!((outcome.code(), outcome.text()), (10, ""));
    assert!(outcome.stderr.contains("exited 1"), "{outcome:?}");
}

#[test]
fn standard_error_is_silent_but_for_the_one_line_of_an_error() {
    let chatter = || Step::Stderr("progress… \u{1b}[1A\nwarning\n".to_owned());
    let stage = Stage::new([chatter(), Dialect::of("claude").ok("Done.").told()]);
    let outcome = stage.exec("claude").words("Do it.").run();
    assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
    stage.play([chatter(), say(golden("claude", "error-400")), Step::Exit(1)]);
    let outcome = stage.exec("claude").words("Do it.").run();
    let message = outcome.envelope().message().to_owned();
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    assert!(outcome.stderr.starts_with("dcli: ") && outcome.stderr.contains(&message[..20]));
}

#[test]
fn a_message_of_the_backend_cannot_write_to_the_terminal_as_it_likes() {
    let codex = Dialect::of("codex");
    let rule = codex.failure_rule(false).unwrap();
    let hostile = "no \u{1b}]0;owned\u{7}\u{1b}[2J\nsecond line";
    let stage = Stage::new([codex.tale([codex.failing(rule, hostile)]).told()]);
    let outcome = stage.exec("codex").words("Do it.").run();
    assert_eq!(outcome.envelope().message(), hostile, "the envelope keeps it whole");
    assert!(!outcome.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

#[test]
fn a_file_of_the_repository_cannot_write_to_the_terminal_as_it_likes() {
    let stage = Stage::new([]);
    let policy = "{\"delegation\": {\"\\u001b]0;owned\\u0007\\u001b[2J\": 1}}";
    stage.room.file("work/.dcli/policy.json", policy).unwrap();
    let outcome = stage.exec("codex").words("Do it.").run();
    assert_eq!(outcome.code(), 2);
    assert!(!outcome.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", outcome.stderr);
    assert!(outcome.stderr.contains("owned"), "{outcome:?}");
}

#[test]
fn a_reader_that_has_gone_is_a_quiet_end() {
    for more in [&["--events"][..], &["--text"], &[]] {
        let stage = Stage::new([say(golden("codex", "multi-step"))]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = stage.exec("codex").args(more).stdout(writer).words("Do it.").run();
        assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""), "{more:?}");
    }
}

#[test]
fn a_result_that_cannot_be_printed_is_no_success() {
    for more in [&["--events"][..], &["--text"], &[]] {
        let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let outcome = stage.exec("codex").args(more).stdout(full).words("Do it.").run();
        assert_eq!(outcome.code(), 11, "{more:?} {outcome:?}");
        assert!(outcome.stderr.contains("cannot be printed"), "{outcome:?}");
    }
}

#[test]
fn the_layer_that_chose_the_executor_is_named() {
    let stage = Stage::new([Dialect::of("claude").ok("Done.").told()]);
    let chosen = |choice: &[&str]| {
        let envelope = stage.exec_as(choice).words("Do it.").run().envelope();
        let executor = &envelope.run()["executor"];
        json!([executor["id"], executor["chosen_by"]])
    };
    assert_eq!(chosen(&[]), json!(["claude", "default"]));
    stage.room.file("home/.config/dcli/config.toml", "executor = \"qwen\"").unwrap();
    assert_eq!(chosen(&[]), json!(["qwen", "user"]));
    let policy = r#"{"delegation": {"default_backend": "claude"}}"#;
    stage.room.file("work/.dcli/policy.json", policy).unwrap();
    assert_eq!(chosen(&[]), json!(["claude", "project"]));
    assert_eq!(chosen(&["--backend", "claude-code"]), json!(["claude", "invocation"]));
}

#[test]
fn a_version_is_asked_once_for_a_binary_and_reported_from_then_on() {
    let stage = Stage::new([]);
    let bin = stage.room.directory("bin").unwrap();
    std::fs::copy(fake_agent(), bin.join("codex")).unwrap();
    let script = |version: &str| {
        let told = Dialect::of("codex").ok("Done.").told();
        let script = json!({"version": version, "steps": [told]});
        stage.room.file("script.json", &script.to_string()).unwrap();
    };
    let search = format!("{}:/usr/bin:/bin", bin.display());
    let listed = || {
        let outcome = stage.dcli().args(["backends", "--json"]).env("PATH", &search).run();
        let listing = outcome.json("backends");
        let backends = listing["backends"].as_array().unwrap().clone();
        let codex = backends.into_iter().find(|backend| backend["id"] == "codex").unwrap();
        (codex["version"].clone(), codex["version_standing"].clone())
    };
    let ran = || {
        let exec = Dialect::of("codex").exec_itself(&stage).env("PATH", &search);
        exec.words("Do it.").run().envelope().ok("Done.").run()["executor"]["version"].clone()
    };
    script("codex-cli 0.171.0");
    assert_eq!(ran(), Value::Null, "a run does not wait for a version");
    assert_eq!(listed(), (json!("0.171.0"), json!("tested")));
    assert_eq!(ran(), "0.171.0");
    script("codex-cli 0.165.0");
    assert_eq!(listed(), (json!("0.171.0"), json!("tested")), "the same file is not asked again");
    std::fs::remove_file(bin.join("codex")).unwrap();
    std::fs::copy(fake_agent(), bin.join("codex")).unwrap();
    assert_eq!(listed(), (json!("0.165.0"), json!("in_range")));
}
