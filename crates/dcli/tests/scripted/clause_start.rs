//! Clauses about the start: arguments, program, prompt.

use std::path::Path;

use dcli_core::executor::record::{Delivery, Native, Record};

use crate::clauses::every;
use crate::common::{Dialect, Stage, fake_agent};

/// The shipped command lines, written out: backend, access, and every argument before the prompt.
const WRITTEN_OUT: [(&str, &str, &str); 9] = [
    (
        "claude",
        "read-only",
        "--print --output-format stream-json --verbose --no-session-persistence \
         --permission-mode dontAsk --allowedTools Read,Glob,Grep,WebFetch,WebSearch,TodoWrite",
    ),
    (
        "claude",
        "workspace",
        "--print --output-format stream-json --verbose --no-session-persistence \
         --permission-mode acceptEdits",
    ),
    (
        "claude",
        "unconfined",
        "--print --output-format stream-json --verbose --no-session-persistence \
         --dangerously-skip-permissions",
    ),
    ("codex", "read-only", "exec --json --skip-git-repo-check -s read-only"),
    (
        "codex",
        "workspace",
        "exec --json --skip-git-repo-check -s workspace-write \
         -c sandbox_workspace_write.exclude_slash_tmp=true \
         -c sandbox_workspace_write.exclude_tmpdir_env_var=true",
    ),
    ("codex", "unconfined", "exec --json --skip-git-repo-check -s danger-full-access"),
    ("opencode", "read-only", "run --format json"),
    ("opencode", "workspace", "run --format json"),
    ("opencode", "unconfined", "run --format json --auto"),
];

fn native<'r>(record: &'r Record, access: &str) -> &'r Native {
    match access {
        "read-only" => &record.access.read_only,
        "workspace" => &record.access.workspace,
        _ => &record.access.unconfined,
    }
}

/// The arguments that the record's own data ask for, the prompt among them.
fn expected(record: &Record, scoped: &[&str], prompt: &str) -> Vec<String> {
    let mut words: Vec<String> = [record.args.clone(), record.exec_args.clone()].concat();
    let rest = words.split_off(record.argument_index.unwrap_or(words.len()));
    words.extend(scoped.iter().map(ToString::to_string));
    words.extend(rest);
    match (&record.prompt.delivery, &record.prompt.joined_flag) {
        (Delivery::Stdin, _) => {}
        (Delivery::Argument, Some(flag)) => words.push(format!("{flag}={prompt}")),
        (Delivery::Argument, None) => {
            words.extend([record.prompt.separator.clone(), prompt.to_owned()]);
        }
    }
    words
}

fn run(dialect: &Dialect, prompt: &str, more: &[&str]) -> dcli_testkit::agent::Record {
    let stage = Stage::new([]);
    stage.play(stage.hear().into_iter().chain([dialect.ok("Done.").told()]));
    // Root may not use claude's own argument for unconfined access without this.
    let exec = dialect.exec(&stage).args(more).args(["--env", "IS_SANDBOX=1"]);
    exec.words(prompt).run().envelope().ok("Done.");
    stage.seen()
}

#[test]
fn clause_exact_argv_for_each_access() {
    every("exact-argv", |dialect| {
        let record = &dialect.record;
        for access in ["read-only", "workspace", "unconfined"] {
            let native = native(record, access);
            let mut more = vec!["--access", access, "--extra-arg", "--one", "--extra-arg", "a b"];
            let mut scoped: Vec<&str> = native.args.iter().map(String::as_str).collect();
            if let Some(controls) = &record.controls {
                more.extend(["--model", "some/model"]);
                scoped.extend([controls.model.flag.as_str(), "some/model"]);
            }
            scoped.extend(["--one", "a b"]);
            let seen = run(dialect, "Say it.", &more);
            assert_eq!(seen.argv[1..], expected(record, &scoped, "Say it."), "{access}");
            let by_stdin = record.prompt.delivery == Delivery::Stdin;
            assert_eq!(seen.stdin.as_deref(), Some(if by_stdin { "Say it." } else { "" }));
            for (name, value) in &native.env {
                assert_eq!(seen.env.get(name), Some(value), "{access}");
            }
        }
    });
}

#[test]
fn clause_exact_argv_is_what_the_contract_writes_out() {
    for (id, access, words) in WRITTEN_OUT {
        let dialect = Dialect::of(id);
        let seen = run(&dialect, "Say it.", &["--access", access]);
        let mut wanted: Vec<&str> = words.split_whitespace().collect();
        if id == "opencode" {
            wanted.extend(["--", "Say it."]);
        }
        assert_eq!(seen.argv[1..], wanted, "{id} {access}");
    }
}

#[test]
fn clause_command_override_keeps_identity() {
    every("command-override", |dialect| {
        let stage = Stage::new([dialect.ok("Done.").told()]);
        let elsewhere = stage.path("tmp/another name");
        std::os::unix::fs::symlink(fake_agent(), &elsewhere).unwrap();
        let exec = dialect.exec_itself(&stage).arg("--command").arg(&elsewhere);
        let envelope = exec.words("Say it.").run().envelope();
        let executor = &envelope.ok("Done.").run()["executor"];
        assert_eq!(executor["id"], dialect.id());
        assert_eq!(executor["source"], dialect.source());
        assert_eq!(executor["program"], elsewhere.to_str().unwrap());
        assert_eq!(Path::new(&stage.seen().argv[0]), elsewhere);
    });
}

#[test]
fn clause_missing_binary_is_named_with_where_it_was_looked_for() {
    every("missing-binary", |dialect| {
        let stage = Stage::new([]);
        let search = format!("{}:/nowhere", stage.room.home().display());
        let outcome = dialect.exec_itself(&stage).env("PATH", &search).words("Say it.").run();
        let message = outcome.refused("executorUnavailable", 12);
        assert!(message.contains(&dialect.record.command), "{message}");
        assert!(message.contains(&search), "where it looked: {message}");
        assert!(message.contains(&dialect.record.install), "how to install it: {message}");
        let exec = dialect.exec_itself(&stage).args(["--command", "/nowhere/at-all"]);
        let message = exec.words("Say it.").run().refused("executorUnavailable", 12);
        assert!(message.contains("/nowhere/at-all"), "{message}");
        assert!(!stage.was_started());
    });
}

#[test]
fn clause_dash_prompt_cannot_become_a_flag() {
    every("dash-prompt", |dialect| {
        for prompt in ["--help -x", "-", "--", "--version"] {
            let seen = run(dialect, prompt, &[]);
            let native = &dialect.record.access.read_only.args;
            let scoped: Vec<&str> = native.iter().map(String::as_str).collect();
            assert_eq!(seen.argv[1..], expected(&dialect.record, &scoped, prompt));
            if dialect.record.prompt.delivery == Delivery::Stdin {
                assert_eq!(seen.stdin.as_deref(), Some(prompt));
            }
        }
    });
}
