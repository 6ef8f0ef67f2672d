//! FIELD 6: an agent that hands its task on to an agent, which hands it on.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::common::{Dialect, Exec, Stage, shown};

/// A worker that gives its own task to the next backend before it answers. More than nine of them
/// never run, whatever dcli allows.
const WORKER: &str = r#"#!/bin/sh
cat > /dev/null
: > "$(mktemp ROOM/tmp/started.XXXXXX)"
[ "$(ls ROOM/tmp | grep -c '^started')" -gt 9 ] && exit 70
next=$(cat "ROOM/next-$DCLI_BACKEND")
DCLI exec --backend "$next" --command ROOM/worker -- 'Do it.' \
    < /dev/null > "ROOM/tmp/nested-$DCLI_DEPTH" 2> /dev/null
cat "ROOM/stream-$DCLI_BACKEND"
"#;

/// A stage on which each backend is such a worker, and names the next as `next` has it.
fn stage(next: &[(&str, &str)]) -> Stage {
    let stage = Stage::new([]);
    let room = stage.room.path().display().to_string();
    let script = WORKER.replace("ROOM", &room).replace("DCLI exec", &dcli_exec());
    let worker = stage.room.file("worker", &script).unwrap();
    std::fs::set_permissions(worker, Permissions::from_mode(0o755)).unwrap();
    for (backend, next) in next {
        stage.room.file(format!("next-{backend}"), next).unwrap();
        let answer = Dialect::of(backend).ok("Done.").text();
        stage.room.file(format!("stream-{backend}"), &answer).unwrap();
    }
    stage
}

fn dcli_exec() -> String {
    format!("'{}' exec", env!("CARGO_BIN_EXE_dcli"))
}

fn worker<'s>(stage: &'s Stage, backend: &str) -> Exec<'s> {
    let exec = stage.dcli().args(["exec", "--backend", backend, "--command"]);
    exec.arg(stage.path("worker")).words("Do it.")
}

/// How many workers were started.
fn started(stage: &Stage) -> usize {
    let names = std::fs::read_dir(stage.room.tmp()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("started")).count()
}

/// What dcli answered to the worker at this depth: the error's code, and the whole envelope.
fn answered(stage: &Stage, depth: u32) -> (String, Value) {
    let text = std::fs::read_to_string(stage.path(&format!("tmp/nested-{depth}"))).unwrap();
    let envelope: Value = serde_json::from_str(&text).unwrap();
    (envelope["errors"][0]["code"].as_str().unwrap_or_default().to_owned(), envelope)
}

#[test]
fn field_06_a_worker_may_start_a_worker_and_that_one_none() {
    let stage = stage(&[("claude", "codex"), ("codex", "claude")]);
    worker(&stage, "claude").run().envelope().ok("Done.");
    assert_eq!(started(&stage), 2);
    assert_eq!(answered(&stage, 1).1["status"], "ok");
    let (code, envelope) = answered(&stage, 2);
    assert_eq!(code, "executorCapExceeded", "{envelope}");
    let message = envelope["summary"].as_str().unwrap();
    for needle in ["2 dcli workers", "DCLI_DEPTH", "nothing was started", "max_depth"] {
        assert!(message.contains(needle), "{needle:?} is not in: {message}");
    }
    shown(
        "4",
        "field-06",
        "2 workers of a chain without end; the third start is executorCapExceeded",
    );
}

#[test]
fn field_06_the_user_may_allow_more_levels_or_none() {
    for (allowed, workers) in [(3, 4), (0, 1)] {
        let stage = stage(&[("claude", "codex"), ("codex", "claude")]);
        let text = format!("[limits]\nmax_depth = {allowed}\n");
        stage.room.file("home/.config/dcli/config.toml", &text).unwrap();
        worker(&stage, "claude").run().envelope().ok("Done.");
        assert_eq!(started(&stage), workers);
        assert_eq!(answered(&stage, workers.try_into().unwrap()).0, "executorCapExceeded");
    }
}

#[test]
fn field_06_a_worker_never_starts_its_own_backend() {
    let stage = stage(&[("codex", "codex")]);
    stage.room.file("home/.config/dcli/config.toml", "[limits]\nmax_depth = 8\n").unwrap();
    worker(&stage, "codex").run().envelope().ok("Done.");
    assert_eq!(started(&stage), 1);
    let (code, envelope) = answered(&stage, 1);
    assert_eq!(code, "requestInvalid", "{envelope}");
    let message = envelope["summary"].as_str().unwrap();
    assert!(message.contains("codex may not start itself"), "{message}");
}

#[test]
fn field_06_a_depth_that_is_no_number_is_too_deep() {
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    let refused = |depth: &str| {
        let outcome = stage.exec("codex").env("DCLI_DEPTH", depth).words("Do it.").run();
        outcome.refused("executorCapExceeded", 28)
    };
    for depth in ["deep", "-1", "4294967296"] {
        assert!(refused(depth).contains("not a number"));
    }
    assert!(refused("2").contains("2 dcli workers"));
    assert!(!stage.was_started());
    stage.exec("codex").env("DCLI_DEPTH", "1").words("Do it.").run().envelope().ok("Done.");
}

#[test]
fn field_06_nobody_sets_a_variable_of_dcli_by_name() {
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    for variable in ["DCLI_DEPTH=0", "DCLI_BACKEND=", "DCLI_ANYTHING=1"] {
        let exec = stage.exec("codex").args(["--env", variable]).words("Do it.");
        let message = exec.run().refused("requestInvalid", 2);
        let name = variable.split('=').next().unwrap();
        assert!(message.contains(name) && message.contains("dcli's own"), "{message}");
    }
    assert!(!stage.was_started());
}
