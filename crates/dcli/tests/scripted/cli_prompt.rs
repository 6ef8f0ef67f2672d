//! Where a prompt comes from, and the names that dcli is called by.

use dcli_testkit::agent::Step;
use rustix::process::Signal;
use serde_json::json;

use crate::common::{Dialect, Exec, Stage, child, fake_agent};

/// An agent that records its prompt.
fn listening() -> Stage {
    let stage = Stage::new([]);
    stage.play(stage.hear().into_iter().chain([Dialect::of("codex").ok("Done.").told()]));
    stage
}

fn heard(stage: &Stage, exec: Exec<'_>) -> String {
    exec.run().envelope().ok("Done.");
    stage.seen().stdin.unwrap()
}

#[test]
fn a_prompt_comes_from_words_a_file_or_standard_input() {
    let stage = listening();
    let exec = || stage.exec("codex");
    assert_eq!(
        heard(&stage, exec().words("review").words("this: ä").words("-x")),
        "review this: ä -x"
    );
    let text = "\n First.\r\n\tSecond. \n\n";
    assert_eq!(heard(&stage, exec().piped(text)), text, "exact bytes");
    let file = stage.room.file("prompt.md", &format!("\u{feff}{text}")).unwrap();
    let exec = || stage.exec("codex").arg("--prompt-file").arg(&file);
    assert_eq!(heard(&stage, exec()), text, "without its byte order mark");
    assert_eq!(heard(&stage, exec().piped("")), text);
}

#[test]
fn piped_data_follows_the_words_or_the_file() {
    let stage = listening();
    let diff = "--- a\n+++ b\n";
    let exec = stage.exec("codex").words("review this").piped(diff);
    assert_eq!(heard(&stage, exec), format!("review this\n\n{diff}"));
    let file = stage.room.file("prompt.md", "From the file.").unwrap();
    let exec = stage.exec("codex").arg("--prompt-file").arg(file).piped(diff);
    assert_eq!(heard(&stage, exec), format!("From the file.\n\n{diff}"));
}

#[test]
fn a_shim_chooses_its_backend_by_the_name_it_is_called_by() {
    let stage = Stage::new([]);
    for (name, id) in [
        ("dcli-codex", "codex"),
        ("/usr/local/bin/dcli-opencode", "opencode"),
        ("./dcli-claude", "claude"),
    ] {
        stage.play([Dialect::of(id).ok("Done.").told()]);
        let exec = stage.dcli().called(name).args(["exec", "--command"]).arg(fake_agent());
        let envelope = exec.words("Do it.").run().envelope();
        let executor = &envelope.ok("Done.").run()["executor"];
        assert_eq!((&executor["id"], &executor["chosen_by"]), (&json!(id), &json!("invocation")));
    }
    stage.play([Dialect::of("codex").ok("Done.").told()]);
    std::fs::remove_file(stage.path("tmp/seen.json")).unwrap();
    let twice = stage.dcli().called("dcli-codex").args(["exec", "--backend", "claude", "Do it."]);
    let message = twice.run().refused("requestInvalid", 2);
    assert!(message.contains("dcli-codex") && message.contains("codex"), "{message}");
    let nobody = stage.dcli().called("dcli-nobody").args(["exec", "Do it."]);
    assert!(nobody.run().refused("executorNotFound", 2).contains("nobody"));
    assert!(!stage.was_started());
}

#[test]
fn sigterm_and_sighup_are_a_cancel() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let stage = Stage::new([]);
        let family = [dcli_testkit::agent::ChildKind::Setsid].map(child);
        let ready = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
        stage.play(family.into_iter().chain(ready));
        let running = stage.exec("codex").words("Do it.").start();
        running.wait_file("tmp/ready");
        running.signal(signal);
        let envelope = running.finish().envelope();
        assert_eq!((envelope.status(), envelope.code()), ("cancelled", "executorCancelled"));
        assert_eq!(envelope.run()["cancel_rung_reached"], "interrupt");
    }
}

#[test]
fn a_cancel_before_anything_was_started_starts_nothing() {
    // dcli is still waiting for its prompt: the signal ends it as it ends any program.
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    let running = stage.exec("codex").start_open();
    running.signal(Signal::TERM);
    let outcome = running.finish_uncontained();
    assert!(!outcome.status.success() && !stage.was_started(), "{outcome:?}");
}
