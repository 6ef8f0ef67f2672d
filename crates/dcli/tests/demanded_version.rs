//! A version that a run demands: asked before anything is started, refused where the record does
//! not support it. Each test runs in a process of its own, which has a state root of its own.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use dcli::contain::Entry;
use dcli::exec::{Hooks, Host, Request, exec};
use dcli::model::envelope::{ErrorCode, ResultEnvelope, Status};
use dcli::model::executor::{Executor, Record, Source};

/// Names the directory of a test that runs in its own process.
const ROOM: &str = "DEMANDED_VERSION_ROOM";

const RECORD: &str = r#"
schema_version = 1
id = "versioned"
display_name = "Versioned"
command = "versioned"
install = "get it anew"
prompt = { delivery = "stdin" }
version = { args = ["--version"], supported = ">=2.0.0, <3", tested = [], known_bad = ["2.5.0"] }
output = { format = "jsonl", result = { path = "text" }, terminal = { success = { end = true } } }
usage = { usage_when = { end = true }, usage_paths = ["tokens"] }
liveness = { signal = "records", tool_starts_announced = true }
access = { read_only = {}, workspace = {}, unconfined = {} }
"#;

/// Runs `check` with a directory, in a process whose state root lies in it.
fn apart(test: &str, check: impl Fn(&Path)) {
    if let Some(room) = std::env::var_os(ROOM) {
        return check(Path::new(&room));
    }
    let room = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(ROOM, room.path())
        .env("DCLI_STATE_ROOT", room.path().join("state"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// A program that says this version and counts how often it was started for work.
fn program(room: &Path, says: &str) -> PathBuf {
    let path = room.join(format!("program-{}", says.len()));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '{says}'; exit; }}\ncat >/dev/null\n\
         echo started >> {}/started\necho '{{\"text\":\"OK\"}}'\necho '{{\"end\":true}}'\n",
        room.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(room: &Path, program: &Path, demand_version: bool) -> ResultEnvelope {
    let record = Arc::new(Record::from_toml(RECORD, "test").unwrap());
    let executor = Executor { record, source: Source::File, origin: "test".to_owned() };
    let mut request = Request::new(executor, "Do it.", room);
    request.command = Some(program.to_owned());
    request.demand_version = demand_version;
    let entry = Entry::at(Path::new(env!("CARGO_BIN_EXE_dcli"))).unwrap();
    exec(&Host::new(entry), request, &Hooks::default())
}

fn warned(envelope: &ResultEnvelope) -> bool {
    let warnings = &envelope.run().unwrap().run.warnings;
    warnings.iter().any(|warning| warning.code == "version_unsupported")
}

#[test]
fn a_version_that_the_record_does_not_support_is_refused_before_a_start() {
    apart("a_version_that_the_record_does_not_support_is_refused_before_a_start", |room| {
        let cases = [("v1.9.9 old", "1.9.9", "outside"), ("2.5.0", "2.5.0", "known not to work")];
        for (says, found, why) in cases {
            let program = program(room, says);
            let envelope = run(room, &program, true);
            let error = &envelope.errors.as_ref().unwrap()[0];
            let (code, exit) = (error.code, envelope.exit_code());
            assert_eq!((code, exit), (ErrorCode::ExecutorUnavailable, 12), "{error:?}");
            let needles =
                [found, why, ">=2.0.0, <3", "nothing was started", "get it anew", "--backend"];
            for needle in needles {
                assert!(error.message.contains(needle), "{needle:?} is not in: {}", error.message);
            }
            assert!(!room.join("started").exists(), "{says}");
        }
    });
}

#[test]
fn a_supported_version_or_one_that_nobody_can_tell_runs() {
    apart("a_supported_version_or_one_that_nobody_can_tell_runs", |room| {
        for (says, found) in [("2.5.1", Some("2.5.1")), ("no version", None)] {
            let envelope = run(room, &program(room, says), true);
            assert_eq!(envelope.status, Status::Ok, "{envelope:?}");
            let version = envelope.run().unwrap().run.executor.version.clone();
            assert_eq!(version.as_deref(), found);
        }
    });
}

#[test]
fn where_no_version_is_demanded_none_is_asked_and_a_known_one_is_a_warning() {
    apart("where_no_version_is_demanded_none_is_asked_and_a_known_one_is_a_warning", |room| {
        let program = program(room, "1.0.0");
        let unasked = run(room, &program, false);
        assert_eq!((unasked.status, warned(&unasked)), (Status::Ok, false));
        assert_eq!(run(room, &program, true).status, Status::Failed);
        let known = run(room, &program, false);
        assert_eq!((known.status, warned(&known)), (Status::Ok, true));
    });
}
