//! Bad input: what is asked for cannot be done. Each with its message and its exit code, and
//! nothing is started.

use crate::common::{Dialect, Exec, Stage, shown};

/// Fails unless `exec` is refused so, saying all of `needles`, and the agent was never started.
fn refused(stage: &Stage, exec: Exec<'_>, code: (&str, i32), needles: &[&str]) {
    let message = exec.run().refused(code.0, code.1);
    for needle in needles {
        assert!(message.contains(needle), "{needle:?} is not in: {message}");
    }
    assert!(message.contains("nothing was started"), "{message}");
    assert!(!stage.was_started(), "{message}");
}

const INVALID: (&str, i32) = ("requestInvalid", 2);
const UNAVAILABLE: (&str, i32) = ("executorUnavailable", 12);
const DENIED: (&str, i32) = ("executorPermissionDenied", 15);

fn stage() -> Stage {
    Stage::new([Dialect::of("codex").ok("Done.").told()])
}

#[test]
fn an_unknown_executor_is_refused_with_the_list() {
    let stage = stage();
    let ids = ["claude", "codex", "gemini", "opencode", "qwen"];
    let needles: Vec<&str> = ids.into_iter().chain(["\"nobody\""]).collect();
    refused(&stage, stage.exec("nobody").words("x"), ("executorNotFound", 2), &needles);
    let exec = stage.exec_as(&["--executor", "nobody"]).words("x");
    refused(&stage, exec, ("executorNotFound", 2), &needles);
    shown("7", "unknown-executor", "executorNotFound, exit 2, with the list of ids");
}

/// A change to a valid record, and the key that the refusal has to name.
const BREAKS: [(&str, &str, &str); 11] = [
    ("command = \"unseen-cli\"", "command = \" \"", "`command`"),
    ("id = \"unseen\"", "id = \"Un Seen\"", "`id`"),
    ("path = 'blocks.0.body\\.md', when", "path = '', when", "path"),
    ("success = { \"head.kind\" = \"closed\", \"tail.1.grade\" = 7 }", "success = {}", "terminal"),
    ("key = \"weather\"", "key = \"usage\"", "output.metadata.1.key"),
    ("flag_path = \"tail.2.bad\"", "status_path = \"tail.2.bad\"", "status_p"),
    ("flag_path = \"tail.2.bad\"", "flag_path = \"\"", "flag_path"),
    ("usage_when = { \"head.kind\" = \"spent\" }", "usage_when = {}", "usage.usage_when"),
    ("usage_paths = [\"sums.0.in\", \"sums.0.out\"]", "usage_paths = [\"\"]", "usage_paths"),
    ("keys = [\"used\", \"until\"]", "keys = []", "usage.usage_windows.keys"),
    ("argument_index = 1", "argument_indexx = 1", "argument_indexx"),
];

#[test]
fn an_invalid_record_is_refused_by_its_key() {
    let stage = stage();
    let records = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/unseen.toml");
    let valid = std::fs::read_to_string(records).unwrap();
    for (before, after, key) in BREAKS {
        assert!(valid.contains(before), "{before} is not in the record");
        let file = stage.room.file("broken.toml", &valid.replacen(before, after, 1)).unwrap();
        let file = file.display().to_string();
        let exec = stage.exec_as(&["--record", &file]).words("x");
        refused(&stage, exec, ("executorInvalid", 2), &["broken.toml", key]);
    }
    for text in ["", "id = [", "\u{0}"] {
        let file = stage.room.file("broken.toml", text).unwrap().display().to_string();
        let exec = stage.exec_as(&["--record", &file]).words("x");
        refused(&stage, exec, ("executorInvalid", 2), &["broken.toml"]);
    }
    let exec = stage.exec_as(&["--record", "/nowhere/at-all.toml"]).words("x");
    refused(&stage, exec, INVALID, &["/nowhere/at-all.toml"]);
    shown("7", "invalid-record", "executorInvalid, exit 2, naming the file and the key");
}

#[test]
fn an_invalid_record_of_the_user_is_refused_too() {
    let stage = stage();
    stage.room.file("home/.config/dcli/executors/mine.toml", "schema_version = 1").unwrap();
    refused(&stage, stage.exec("codex").words("x"), ("executorInvalid", 2), &["mine.toml"]);
}

#[test]
fn a_program_that_cannot_be_run_is_refused_with_what_it_is() {
    let stage = stage();
    let file = stage.room.file("no-program", "text").unwrap();
    for path in [file, stage.room.work(), "/nowhere/at-all".into()] {
        let exec = Dialect::of("codex").exec_itself(&stage).arg("--command").arg(&path);
        refused(&stage, exec.words("x"), UNAVAILABLE, &[path.to_str().unwrap(), "--command"]);
    }
    // A relative entry of PATH would let a repository supply the program.
    let program = stage.room.file("work/codex", "#!/bin/sh\ntouch ran\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).unwrap();
    let exec = Dialect::of("codex").exec_itself(&stage).env("PATH", ".::/nowhere").words("x");
    refused(&stage, exec, UNAVAILABLE, &["looked in /nowhere", "npm install -g @openai/codex"]);
    assert!(!stage.room.work().join("ran").exists());
    shown("7", "missing-binary", "executorUnavailable, exit 12, where it looked, how to install");
}

#[test]
fn a_directory_that_is_missing_or_none_is_refused() {
    let stage = stage();
    let file = stage.room.file("a-file", "").unwrap().display().to_string();
    let missing = stage.path("missing").display().to_string();
    for (cwd, why) in [(&missing, "cannot be used"), (&file, "not a directory")] {
        let exec = stage.exec("codex").args(["--cwd", cwd]).words("x");
        refused(&stage, exec, INVALID, &[cwd, why, "--cwd"]);
        refused(&stage, stage.exec("codex").args(["--repo", cwd]).words("x"), INVALID, &[cwd]);
    }
    shown("7", "directory", "requestInvalid, exit 2, missing and not a directory");
}

#[test]
fn a_time_limit_that_is_none_is_refused() {
    let stage = stage();
    let flags =
        ["--hard-timeout-sec", "--idle-timeout-sec", "--startup-timeout-sec", "--timeout-sec"];
    for flag in flags {
        for limit in ["0", "-1", "-0", "NaN", "inf", "1e300", "1e-300", "soon", ""] {
            refused(&stage, stage.exec("codex").args([flag, limit]).words("x"), INVALID, &[limit]);
            let joined = format!("{flag}={limit}");
            refused(&stage, stage.exec("codex").arg(joined).words("x"), INVALID, &[limit]);
        }
    }
    shown("7", "timeout", "requestInvalid, exit 2: 0, negative, NaN, infinite, no number");
}

#[test]
fn an_extra_argument_that_decides_access_or_model_is_refused() {
    let stage = stage();
    for (id, extra) in [
        ("codex", &["-s", "danger-full-access"][..]),
        ("codex", &["--sandbox=danger-full-access"]),
        ("codex", &["-c", "sandbox_mode=\"danger-full-access\""]),
        ("codex", &["--dangerously-bypass-approvals-and-sandbox"]),
        ("codex", &["-c", "model=\"other\""]),
        ("codex", &["-m", "other"]),
        ("codex", &["--config=model_reasoning_effort=high"]),
        ("claude", &["--dangerously-skip-permissions"]),
        ("claude", &["--permission-mode=bypassPermissions"]),
        ("claude", &["--add-dir", "/"]),
        ("claude", &["--model", "other"]),
        ("claude", &["--effort", "high"]),
        ("opencode", &["--auto"]),
        ("opencode", &["--model=a/b"]),
        ("gemini", &["--yolo"]),
        ("gemini", &["-y"]),
        ("qwen", &["--approval-mode", "yolo"]),
    ] {
        let mut exec = stage.exec(id);
        for argument in extra {
            exec = exec.arg(format!("--extra-arg={argument}"));
        }
        refused(&stage, exec.words("x"), INVALID, &[]);
    }
    let exec = stage.exec("opencode").args(["--env", "OPENCODE_PERMISSION={\"*\":\"allow\"}"]);
    refused(&stage, exec.words("x"), INVALID, &["OPENCODE_PERMISSION", "--access"]);
    shown(
        "7",
        "collision",
        "requestInvalid, exit 2: extra argument or variable against access or model",
    );
}

#[test]
fn a_variable_or_model_that_is_none_is_refused() {
    let stage = stage();
    for bad in ["NOVALUE", "=x", ""] {
        refused(&stage, stage.exec("codex").args(["--env", bad]).words("x"), INVALID, &[]);
    }
    for model in ["--model=", "--model=-x", "--model=a b", "--model=a\nb"] {
        refused(&stage, stage.exec("codex").arg(model).words("x"), INVALID, &["model"]);
    }
    let exec = Dialect::of("unseen-single").exec(&stage).args(["--model", "m"]).words("x");
    refused(&stage, exec, INVALID, &["unseen-single", "--model", "dcli capabilities"]);
    refused(&stage, stage.exec("codex").args(["--access", "all"]).words("x"), INVALID, &["all"]);
    refused(
        &stage,
        stage.exec("codex").args(["--frobnicate"]).words("x"),
        INVALID,
        &["--frobnicate"],
    );
}

#[test]
fn a_containment_that_is_unknown_or_not_there_is_refused() {
    let stage = stage();
    for kind in ["cage", "cage+", "", "+", "pid-namespace++"] {
        let exec = stage.exec("codex").args(["--containment", kind]).words("x");
        refused(&stage, exec, INVALID, &["pid-namespace", "guardian", "process-group", "none"]);
    }
    for kind in ["job-object", "taskkill-tree"] {
        let exec = stage.exec("codex").args(["--containment", kind]).words("x");
        refused(&stage, exec, UNAVAILABLE, &[kind, "--containment"]);
    }
    shown(
        "7",
        "containment",
        "unknown: requestInvalid, exit 2; not there: executorUnavailable, exit 12",
    );
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let stage = stage();
    // Nobody can tell which form standard output should have: it stays empty.
    let outcome = stage.exec("codex").args(["--text", "--events"]).words("x").run();
    assert_eq!((outcome.code(), outcome.text()), (2, ""));
    assert!(outcome.stderr.contains("--text") && outcome.stderr.contains("--events"));
    assert!(!stage.was_started());
    shown("7", "text-with-events", "exit 2, the message on standard error");
}

#[test]
fn a_policy_only_tightens_and_its_refusals_name_it() {
    let stage = stage();
    let policy = |text: &str| drop(stage.room.file("work/.dcli/policy.json", text).unwrap());
    let exec = || stage.exec("codex");
    policy(r#"{"delegation": {"allowed_backends": ["claude", "gemini"]}}"#);
    refused(&stage, exec().words("x"), DENIED, &["codex", "claude, gemini"]);
    policy(r#"{"delegation": {"read_only": true}}"#);
    let more = exec().args(["--access", "workspace"]).words("x");
    refused(&stage, more, DENIED, &["read-only"]);
    for text in [r#"{"delegation": {"min_jobs": 3}}"#, "{", r#"{"delegation": {"command": "sh"}}"#]
    {
        policy(text);
        refused(&stage, exec().words("x"), INVALID, &["policy.json"]);
    }
    policy(r#"{"delegation": {"hard_timeout_sec": -1}}"#);
    refused(&stage, exec().words("x"), INVALID, &["policy.json", "hard_timeout_sec"]);
    // It counts for everything below it.
    policy(r#"{"delegation": {"allowed_backends": []}}"#);
    let below = stage.room.directory("work/a/b").unwrap();
    refused(&stage, exec().arg("--cwd").arg(below).words("x"), DENIED, &["codex"]);
    shown("7", "policy", "executorPermissionDenied, exit 15; an unreadable policy exit 2");
}

#[test]
fn a_user_configuration_that_is_invalid_is_refused_by_name() {
    let stage = stage();
    for text in ["executor = 3", "exekutor = \"codex\"", "executor = "] {
        stage.room.file("home/.config/dcli/config.toml", text).unwrap();
        refused(&stage, stage.exec("codex").words("x"), INVALID, &["config.toml"]);
    }
    shown("7", "user-configuration", "requestInvalid, exit 2, naming the file");
}
