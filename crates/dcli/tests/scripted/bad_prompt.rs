//! Bad input: no prompt, or none that can be used; places that cannot be written. Nothing is
//! started.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use dcli_testkit::process::ORDINARY_USER;

use crate::common::{Dialect, Exec, Stage, shown};

const INVALID: (&str, i32) = ("requestInvalid", 2);

fn stage() -> Stage {
    Stage::new([Dialect::of("codex").ok("Done.").told()])
}

/// A stage of somebody who is not root: ourselves, where we are not.
fn ordinary() -> Stage {
    let told = [Dialect::of("claude").ok("Done.").told()];
    if is_root() { Stage::of_user(ORDINARY_USER, told) } else { Stage::new(told) }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn refused(stage: &Stage, exec: Exec<'_>, needles: &[&str]) {
    let message = exec.run().refused(INVALID.0, INVALID.1);
    for needle in needles {
        assert!(message.contains(needle), "{needle:?} is not in: {message}");
    }
    assert!(message.contains("nothing was started"), "{message}");
    assert!(!stage.was_started(), "{message}");
}

#[test]
fn an_empty_prompt_is_refused_from_every_source() {
    let stage = stage();
    for blank in ["", " ", "\n\t \r\n", "\u{a0}"] {
        refused(&stage, stage.exec("codex").words(blank), &["prompt"]);
        refused(&stage, stage.exec("codex").piped(blank), &["prompt"]);
        let file = stage.room.file("blank", blank).unwrap();
        refused(&stage, stage.exec("codex").arg("--prompt-file").arg(file), &["prompt"]);
    }
    refused(&stage, stage.exec("codex"), &["prompt"]);
    refused(&stage, stage.exec("codex").piped("\u{feff}"), &["prompt"]);
    shown("7", "empty-prompt", "requestInvalid, exit 2: words, file, standard input, none");
}

#[test]
fn a_prompt_over_an_argument_bound_is_refused_with_both_numbers() {
    let stage = stage();
    refused(&stage, stage.exec("opencode").piped("x".repeat(131_072)), &["131072", "131071"]);
    // The flag in the same argument counts.
    let exec = Dialect::of("unseen").exec(&stage).piped("x".repeat(4_091));
    refused(&stage, exec, &["4097", "4096"]);
    refused(&stage, stage.exec("opencode").piped("a\0b"), &["NUL"]);
    shown("7", "argument-bound", "requestInvalid, exit 2, with the bytes and the bound");
}

#[test]
fn a_prompt_that_is_not_utf_8_is_refused_with_the_place() {
    let stage = stage();
    let bad = b"Gr\xFC\xDFe";
    refused(&stage, stage.exec("codex").piped(*bad), &["standard input", "UTF-8", "2"]);
    let file = stage.path("latin-1");
    std::fs::write(&file, bad).unwrap();
    let exec = stage.exec("codex").arg("--prompt-file").arg(file);
    refused(&stage, exec, &["latin-1", "UTF-8", "2"]);
    refused(&stage, stage.exec("codex").words(std::ffi::OsStr::from_bytes(bad)), &["UTF-8"]);
    // Words do not save data that is none.
    refused(&stage, stage.exec("codex").words("Read this:").piped(*bad), &["standard input"]);
    shown("7", "not-utf-8", "requestInvalid, exit 2, with source and place");
}

#[test]
fn a_prompt_file_that_cannot_be_read_is_refused_by_name() {
    let stage = ordinary();
    let secret = stage.room.file("secret", "Do it.").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    for (path, why) in [
        (secret, "ermission denied"),
        (stage.room.work(), "irectory"),
        (stage.path("missing"), "No such file"),
        ("/dev/null".into(), "not a regular file"),
    ] {
        let exec = stage.exec("claude").arg("--prompt-file").arg(&path);
        refused(&stage, exec, &[path.to_str().unwrap(), why]);
    }
    let file = stage.room.file("prompt", "Do it.").unwrap();
    let exec = stage.exec("claude").arg("--prompt-file").arg(file).words("And this.");
    refused(&stage, exec, &["--prompt-file"]);
    shown("7", "prompt-file", "requestInvalid, exit 2: unreadable, a directory, missing, no file");
}

#[test]
fn standard_input_that_is_open_and_silent_is_refused_where_there_is_no_other_prompt() {
    let stage = stage();
    let outcome = stage.exec("codex").start_open().finish();
    let message = outcome.refused(INVALID.0, INVALID.1);
    assert!(message.contains("sent nothing for 5 s") && message.contains("--prompt-file"));
    assert!(message.contains("nothing was started") && !stage.was_started());
    shown("7", "silent-stdin", "requestInvalid, exit 2, after 5 s");
}

#[test]
fn places_that_cannot_be_written_are_refused_by_name() {
    let stage = ordinary();
    let locked = stage.room.directory("locked").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    let state = locked.join("state");
    let exec = || stage.exec("claude").env("TMPDIR", &locked).words("Do it.");
    let outcome = exec().env("DCLI_STATE_ROOT", &state).run();
    let message = outcome.refused("executorPermissionDenied", 15);
    for needle in [locked.to_str().unwrap(), "TMPDIR", "DCLI_STATE_ROOT", "nothing was started"] {
        assert!(message.contains(needle), "{needle:?} is not in: {message}");
    }
    assert!(!stage.was_started());
    // One of the two is enough.
    exec().run().envelope().ok("Done.");
    let exec = stage.exec("claude").env("DCLI_STATE_ROOT", &state).words("Do it.");
    exec.run().envelope().ok("Done.");
    shown("7", "unwritable", "executorPermissionDenied, exit 15, naming both places");
}

#[test]
fn a_state_root_inside_the_working_tree_is_refused() {
    let stage = stage();
    let inside = stage.room.work().join("state");
    let exec = stage.exec("codex").env("DCLI_STATE_ROOT", inside.to_str().unwrap());
    refused(&stage, exec.words("Do it."), &["DCLI_STATE_ROOT", inside.to_str().unwrap()]);
    assert!(!inside.exists());
    shown("7", "state-root-inside", "requestInvalid, exit 2");
}

#[test]
fn root_is_not_let_past_claudes_own_guard_unless_it_says_so() {
    let unconfined = ["--access", "unconfined"];
    if is_root() {
        let stage = Stage::new([Dialect::of("claude").ok("Done.").told()]);
        let exec = || stage.exec("claude").args(unconfined);
        for exec in [exec(), exec().env("IS_SANDBOX", "yes"), exec().args(["--env", "IS_SANDBOX="])]
        {
            let message = exec.words("Do it.").run().refused("executorPermissionDenied", 15);
            for remedy in ["as an ordinary user", "--env IS_SANDBOX=1"] {
                assert!(message.contains(remedy), "{remedy:?} is not in: {message}");
            }
            assert!(!stage.was_started());
        }
        for exec in [exec().env("IS_SANDBOX", "1"), exec().args(["--env", "IS_SANDBOX=1"])] {
            exec.words("Do it.").run().envelope().ok("Done.");
        }
    }
    let stage = ordinary();
    stage.exec("claude").args(unconfined).words("Do it.").run().envelope().ok("Done.");
    assert!(!stage.seen().env.contains_key("IS_SANDBOX"));
    let observed = if is_root() { "exit 15 as root, ok as 65534" } else { "ok as ordinary user" };
    shown("7", "root-guard", observed);
}
