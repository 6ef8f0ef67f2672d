//! Files and pipes where dcli looks for text, and a backend that tampers with its own capture.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use dcli_testkit::agent::{Step, WriteFile};
use rustix::fs::Mode;

use crate::common::{Dialect, Stage, say};
use crate::jobs_bad_input::{answering, done};

fn stage() -> Stage {
    Stage::new([Dialect::of("codex").ok("Done.").told()])
}

fn pipe(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    path
}

#[test]
fn a_policy_that_is_a_pipe_or_a_device_is_refused_and_not_waited_for() {
    let piped = stage();
    pipe(piped.room.work().join(".dcli/policy.json"));
    let endless = stage();
    std::fs::create_dir_all(endless.room.work().join(".dcli")).unwrap();
    symlink("/dev/zero", endless.room.work().join(".dcli/policy.json")).unwrap();
    for stage in [piped, endless] {
        let message = stage.exec("codex").words("Do it.").run().refused("requestInvalid", 2);
        assert!(message.contains("policy.json: not a regular file"), "{message}");
        assert!(!stage.was_started());
    }
}

#[test]
fn a_prompt_file_or_a_record_that_is_a_pipe_is_refused_and_not_waited_for() {
    let stage = stage();
    let path = pipe(stage.path("pipe"));
    for flag in ["--prompt-file", "--record"] {
        let exec = stage.exec_as(&[]).arg(flag).arg(&path);
        let exec = if flag == "--record" { exec.words("Do it.") } else { exec };
        let message = exec.run().refused("requestInvalid", 2);
        assert!(message.contains("not a regular file"), "{message}");
    }
    assert!(!stage.was_started());
}

#[test]
fn a_backend_that_truncates_its_standard_output_is_never_ok() {
    let stage = Stage::new([]);
    let codex = Dialect::of("codex");
    let started = "{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n";
    let emptied = WriteFile { path: "/proc/self/fd/1".into(), content: String::new() };
    // What was read by then is far beyond all that is written after the truncation.
    stage.play([
        say("{\"type\":\"noise\"}\n".repeat(4096) + started),
        Step::WaitFile(stage.path("tmp/go")),
        Step::Write(emptied),
        codex.ok("Done.").told(),
    ]);
    let running = stage.exec("codex").arg("--events").words("Do it.").start();
    running.wait_fact("the session", |fact| fact["backend_session_id"] == "t1");
    std::fs::write(stage.path("tmp/go"), "").unwrap();
    let (_, envelope) = running.finish().events();
    let message = envelope.failed("executorRunFailed").message();
    assert!(message.contains("truncated its own standard output"), "{message}");
}

#[test]
fn a_standard_error_without_end_is_ended_at_the_byte_cap() {
    let stage = Stage::new([]);
    let grown = "#!/bin/sh\ntruncate -s 2G /proc/self/fd/2\nexec sleep 300\n";
    let program = stage.room.file("grown", grown).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let exec = stage.dcli().args(["exec", "--backend", "codex", "--command"]).arg(program);
    let envelope = exec.words("Do it.").run().envelope();
    let envelope = envelope.failed("executorOutputTruncated");
    assert_eq!(envelope.data()["stderrTruncated"], true);
}

#[test]
fn a_log_that_became_a_pipe_or_a_link_is_neither_waited_for_nor_followed() {
    let stage = answering();
    let id = done(&stage);
    let log = stage.job_dir(&id).join("attempts/1/stdout.log");
    let elsewhere = stage.room.file("elsewhere", "not the job's").unwrap();
    let replaced: [&dyn Fn(); 2] =
        [&|| drop(pipe(log.clone())), &|| symlink(&elsewhere, &log).unwrap()];
    for replace in replaced {
        std::fs::remove_file(&log).unwrap();
        replace();
        let tailed = stage.over(&["tail", &id, "--raw"]);
        assert!(tailed.code() != 0 && tailed.stdout.is_empty(), "{tailed:?}");
        let bundle = stage.over(&["debug", &id]);
        assert!(bundle.code() == 0 && !bundle.text().contains("not the job's"), "{bundle:?}");
    }
}
