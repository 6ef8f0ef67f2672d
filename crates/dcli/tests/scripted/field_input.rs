//! FIELD 1 to 5: input and start.

use dcli_testkit::agent::{Step, WriteFile};

use crate::common::{Dialect, Stage, golden, say, shown};

#[test]
fn field_01_an_open_stdin_is_never_inherited() {
    // Both wait for the end of their input first, as the real ones do; ours stays open.
    let both = ["codex", "opencode"].map(|id| {
        let stage = Stage::new([]);
        let told = say(golden(id, "ok-text"));
        stage.play(stage.hear().into_iter().chain([told]));
        (id, stage)
    });
    let running = both.each_ref().map(|(id, stage)| stage.exec(id).words("Do it.").start_open());
    let [codex, opencode] = running.map(|run| run.finish().envelope());
    for envelope in [codex, opencode] {
        assert!(envelope.ok("OK").warning("stdin_silent").is_some(), "{envelope:#?}");
    }
    shown("7", "silent-stdin-beside-words", "the run goes on, with the warning stdin_silent");
    for (id, stage) in both {
        let (seen, by_stdin) = (stage.seen(), id == "codex");
        assert_eq!(seen.stdin.as_deref(), Some(if by_stdin { "Do it." } else { "" }));
        let input = &seen.fds[0];
        assert_eq!(input.fd, 0);
        assert!(!input.target.display().to_string().starts_with("pipe:"), "{id}: {input:?}");
        assert_ne!(seen.sid, 0);
    }
    shown("4", "field-01", "prompt and end of input, though dcli's own input stays open");
}

#[test]
fn field_01_a_stopped_child_does_not_look_alive_for_ever() {
    let stage = Stage::new([say(golden("codex", "stall-headers")), Step::StopSelf(true)]);
    let exec = stage.exec("codex").args(["--idle-timeout-sec", "0.6"]);
    let envelope = exec.words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
}

#[test]
fn field_02_a_prompt_over_one_argument_is_refused_by_name() {
    let stage = Stage::new([say(golden("opencode", "ok-text"))]);
    let outcome = stage.exec("opencode").piped("x".repeat(131_072)).run();
    let message = outcome.refused("requestInvalid", 2);
    assert!(message.contains("131072 bytes") && message.contains("131071"), "{message}");
    // Bytes are counted, not characters.
    let outcome = stage.exec("opencode").piped("ä".repeat(65_536)).run();
    assert!(outcome.refused("requestInvalid", 2).contains("131072 bytes"));
    assert!(!stage.was_started());
    let longest = "x".repeat(131_071);
    stage.exec("opencode").piped(longest.clone()).run().envelope().ok("OK");
    assert_eq!(stage.seen().argv.last(), Some(&longest));
    shown("4", "field-02", "refused at 131072 bytes, whole at 131071");
}

#[test]
fn field_02_a_prompt_on_standard_input_has_no_such_bound() {
    let stage = Stage::new([]);
    stage.play(stage.hear().into_iter().chain([say(golden("codex", "ok-text"))]));
    stage.exec("codex").piped("ä".repeat(150_000)).run().envelope().ok("OK");
    assert_eq!(stage.seen().stdin_bytes, 300_000);
}

#[test]
fn field_02_the_environment_counts_too_and_nothing_is_consumed() {
    let stage = Stage::new([say(golden("opencode", "ok-text"))]);
    let mut exec = stage.exec("opencode").piped("x".repeat(131_071));
    // With the prompt this is more than a quarter of the stack limit, which execve(2) allows.
    for index in 0..16 {
        exec = exec.env(&format!("BULK{index}"), "y".repeat(125_000));
    }
    let message = exec.run().refused("requestInvalid", 2);
    assert!(message.contains("environment together"), "{message}");
    assert!(!stage.was_started());
}

#[test]
fn field_03_a_hang_before_any_record_ends_by_the_startup_deadline() {
    for (id, noise) in [("opencode", ""), ("claude", "Loading…\n"), ("codex", "\u{1b}[2K")] {
        let stage = Stage::new([say(noise), Step::Hang(true)]);
        let limits = ["--startup-timeout-sec", "0.4", "--idle-timeout-sec", "30"];
        let envelope = stage.exec(id).args(limits).words("Do it.").run().envelope();
        assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_startup");
        assert!(envelope.message().contains("startup deadline of 0.4 s"), "{envelope:#?}");
        assert_eq!(envelope.data()["usage"], serde_json::Value::Null);
    }
    shown("4", "field-03", "executorTimedOut, deadline_startup, exit 24");
}

#[test]
fn field_03_the_first_record_ends_the_startup_deadline() {
    let stage = Stage::new([say(golden("codex", "stall-headers")), Step::Hang(true)]);
    let limits = ["--startup-timeout-sec", "2", "--idle-timeout-sec", "3"];
    let envelope = stage.exec("codex").args(limits).words("Do it.").run().envelope();
    assert_eq!(envelope.failed("executorTimedOut").exit_kind(), "deadline_idle");
}

#[test]
fn field_04_a_lying_pwd_reaches_nobody() {
    let write = |path: &str| WriteFile { path: path.into(), content: "here".into() };
    for id in ["opencode", "claude"] {
        let stage = Stage::new([]);
        stage.play([Step::Write(write("rel.txt")), Dialect::of(id).ok("Done.").told()]);
        let elsewhere = stage.room.directory("elsewhere").unwrap();
        let linked = stage.path("linked");
        std::os::unix::fs::symlink(stage.room.work(), &linked).unwrap();
        let exec = stage.exec(id).current_dir(&elsewhere).arg("--cwd").arg(&linked);
        let exec = exec.env("PWD", &elsewhere).env("OLDPWD", &elsewhere);
        exec.args(["--env", "PWD=/lie"]).words("Do it.").run().envelope().ok("Done.");
        let (seen, work) = (stage.seen(), stage.room.work().canonicalize().unwrap());
        assert_eq!((seen.pwd.as_deref(), &seen.cwd), (work.to_str(), &work), "{id}");
        assert!(!seen.env.contains_key("OLDPWD"));
        assert!(work.join("rel.txt").exists() && !elsewhere.join("rel.txt").exists());
    }
    shown("4", "field-04", "PWD is the working directory, relative writes land there");
}

#[test]
fn field_05_a_nested_session_guard_is_stripped_and_nothing_else() {
    let stage = Stage::new([say(golden("claude", "ok-text"))]);
    let guards = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"];
    let mut exec = stage.exec("claude").env("CLAUDE_CONFIG_DIR", "/keep").env("DCLI_DEPTH", "1");
    for guard in guards {
        exec = exec.env(guard, "1");
    }
    exec.words("Do it.").run().envelope().ok("OK");
    let env = stage.seen().env;
    assert!(guards.iter().all(|guard| !env.contains_key(*guard)), "{env:?}");
    assert_eq!(env.get("CLAUDE_CONFIG_DIR").map(String::as_str), Some("/keep"));
    assert_eq!(env.get("DCLI_DEPTH").map(String::as_str), Some("2"), "our own sentinel counts on");
    shown("4", "field-05", "CLAUDECODE and its kin are gone, the depth sentinel counts on");
}

#[test]
fn field_05_the_guard_does_not_reach_a_version_probe_either() {
    let stage = Stage::new([Step::Hang(true)]);
    let bin = stage.room.directory("bin").unwrap();
    // A program that refuses, as claude does, when it finds itself nested.
    let script = "#!/bin/sh\n[ -z \"$CLAUDECODE\" ] && echo '2.1.197 (Claude Code)'\n";
    let program = stage.room.file("bin/claude", script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).unwrap();
    let search = format!("{}:/usr/bin:/bin", bin.display());
    let exec = stage.dcli().args(["backends", "--json"]).env("PATH", search);
    let outcome = exec.env("CLAUDECODE", "1").run();
    let listing = outcome.json("backends");
    let backends = listing["backends"].as_array().unwrap();
    let claude = backends.iter().find(|backend| backend["id"] == "claude").unwrap();
    assert_eq!(
        (&claude["version"], &claude["version_standing"]),
        (&"2.1.197".into(), &"tested".into())
    );
}
