//! State roots that cannot be written, that a newer dcli wrote, and that are full.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::process::ORDINARY_USER;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::common::{Dialect, Stage, shown};
use crate::jobs_bad_input::{answering, done, hanging, refused};

/// Refused with 15: the root and what to do are named, and nothing was made.
fn unwritable(stage: &Stage, root: &Path, what: &str) {
    let before = tree(root);
    for verb in ["run", "submit"] {
        let job = stage.job(verb, "codex").env("DCLI_STATE_ROOT", root).arg("--json");
        let outcome = job.words("Do it.").start().finish_uncontained();
        let report = refused(&outcome, 15);
        let message = report["error"]["message"].as_str().unwrap();
        let hint = report["error"]["hint"].as_str().unwrap();
        assert!(message.contains(&root.display().to_string()), "{what}: {message}");
        assert!(hint.contains("DCLI_STATE_ROOT"), "{what}: {hint}");
        assert_eq!(report["error"]["job_created"], false, "{what}");
    }
    assert_eq!(tree(root), before, "{what}");
    assert!(!stage.was_started(), "{what}");
    assert!(!stage.path("home/.local").exists(), "a second root was made");
}

fn tree(root: &Path) -> Vec<String> {
    let mut all: Vec<String> = std::fs::read_dir(root).map_or(Vec::new(), |entries| {
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    });
    all.sort();
    all
}

#[test]
fn a_state_root_that_cannot_be_written_is_15_and_nothing_is_made() {
    let stage = answering();
    let open = stage.room.directory("open").unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    unwritable(&stage, &open, "others may write to it");
    let foreign = stage.room.directory("foreign").unwrap();
    chown(&foreign, Some(ORDINARY_USER), None).unwrap();
    std::fs::set_permissions(&foreign, std::fs::Permissions::from_mode(0o700)).unwrap();
    unwritable(&stage, &foreign, "somebody else's");
    let file = stage.room.file("file", "").unwrap();
    unwritable(&stage, &file, "no directory");
    let user = Stage::of_user(ORDINARY_USER, [Dialect::of("codex").ok("Done.").told()]);
    let closed = user.room.directory("closed").unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    unwritable(&user, &closed, "read-only for its owner");
    shown("15", "state-root", "open, foreign, no directory, read-only: 15 with root and remedy");
}

#[test]
fn a_state_root_that_is_no_absolute_path_is_15_and_no_other_one_is_taken() {
    let stage = answering();
    unwritable(&stage, Path::new("relative"), "relative");
    let list = stage.dcli().env("DCLI_STATE_ROOT", "relative").args(["list", "--json"]);
    refused(&list.run(), 15);
}

#[test]
fn a_state_root_of_a_newer_dcli_is_read_and_not_written() {
    let stage = answering();
    let id = done(&stage);
    let format = stage.path("state/format.json");
    let newer = std::fs::read_to_string(&format).unwrap().replace("\"format\":1", "\"format\":2");
    assert!(newer.contains("\"format\":2"), "{newer}");
    std::fs::write(&format, &newer).unwrap();
    for verb in ["run", "submit"] {
        let job = stage.job(verb, "codex").arg("--json").words("Do it.");
        let report = refused(&job.start().finish_uncontained(), 12);
        assert!(report["error"]["hint"].as_str().unwrap().contains("newer dcli"), "{report:#}");
    }
    refused(&stage.over(&["cleanup", "--older-than", "0s", "--all-repos", "--json"]), 12);
    assert_eq!(stage.status(&id)["state"], "done");
    assert_eq!(stage.over(&["read", &id]).text(), "Done.");
    let listed = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(stage.jobs(), [id]);
    shown("15", "newer-format", "format 2: 12 for what writes; status, read and list work");
}

#[test]
fn a_job_of_a_newer_dcli_is_read_and_not_written() {
    let stage = hanging();
    let id = stage.submit("codex");
    stage.wait_running(&id);
    stage.kill_worker(&id);
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    let dir = stage.job_dir(&id);
    for name in ["journal.jsonl", "status.json"] {
        let text = std::fs::read_to_string(dir.join(name)).unwrap();
        let newer = text.replace("\"schema_version\":1", "\"schema_version\":2");
        std::fs::write(dir.join(name), newer.replacen('{', "{\"unheard_of\":[],", 1)).unwrap();
    }
    let before = Stage::files(&dir);
    let status = stage.over(&["status", &id, "--json"]);
    assert_eq!(status.code(), 0, "{status:?}");
    assert!(status.text().contains("\"interrupted\""), "{status:?}");
    let cleanup = stage.over(&["cleanup", "--older-than", "0s", "--all-repos", "--json"]);
    assert_eq!(cleanup.json("cleanup")["removed"], json!([]), "{cleanup:?}");
    assert_eq!(Stage::files(&dir), before);

    let stage = hanging();
    let id = stage.submit("codex");
    stage.wait_running(&id);
    // A stopped worker holds its job and writes nothing over this.
    kill_process(Pid::from_raw(stage.worker(&id)).unwrap(), Signal::STOP).unwrap();
    let path = stage.job_dir(&id).join("status.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"schema_version\":1", "\"schema_version\":2", 1))
        .unwrap();
    let report = refused(&stage.over(&["cancel", &id, "--json"]), 12);
    assert_eq!(report["error"]["code"], "newer_format", "{report:#}");
    assert!(!stage.job_dir(&id).join("cancel.request").exists());
    stage.kill_worker(&id);
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    shown("15", "newer-record", "a newer journal and status: read, a death said, nothing written");
}

/// A full file system of the state root's own.
struct Full<'s> {
    stage: &'s Stage,
}

impl<'s> Full<'s> {
    fn on(stage: &'s Stage) -> Self {
        let state = stage.room.state();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
            .arg(state)
            .status();
        assert!(mount.unwrap().success());
        Self { stage }
    }

    /// Leaves so many bytes free, rounded to pages.
    fn fill(&self, but: u64) {
        let state = self.stage.room.state();
        let stat = rustix::fs::statvfs(&state).unwrap();
        let free = stat.f_bavail * stat.f_frsize;
        let filler = vec![b'x'; usize::try_from(free.saturating_sub(but)).unwrap()];
        std::fs::write(state.join("filler"), filler).unwrap();
    }

    fn empty(&self) {
        std::fs::remove_file(self.stage.path("state/filler")).unwrap();
    }
}

impl Drop for Full<'_> {
    fn drop(&mut self) {
        // Whoever still has a file open there lets it go later.
        let mut umount = std::process::Command::new("umount");
        let _left = umount.arg("-l").arg(self.stage.room.state()).status();
    }
}

#[test]
fn a_full_disk_makes_no_job() {
    let stage = answering();
    let full = Full::on(&stage);
    let before = done(&stage);
    full.fill(0);
    for verb in ["run", "submit"] {
        let job = stage.job(verb, "codex").arg("--json").words("Do it.");
        let report = refused(&job.start().finish_uncontained(), 11);
        assert_eq!(report["error"]["job_created"], false, "{report:#}");
        let message = report["error"]["message"].as_str().unwrap();
        assert!(message.contains("No space left"), "{message}");
        assert_eq!(stage.jobs(), [before.as_str()]);
        let orphans = stage.over(&["cleanup", "--keep", "9", "--all-repos", "--json"]);
        assert_eq!(orphans.json("cleanup")["orphans"], json!([]), "{orphans:?}");
    }
    assert_eq!(stage.over(&["read", &before]).text(), "Done.");
    full.empty();
    done(&stage);
    shown("15", "disk-full", "no space before a job is made: 11, nothing left, earlier jobs whole");
}

#[test]
fn a_disk_that_fills_while_a_job_runs_ends_it_without_a_result() {
    let codex = Dialect::of("codex");
    let stage = answering();
    let full = Full::on(&stage);
    let before = done(&stage);
    let line = codex.tale([codex.answer(&"x".repeat(4000))]).text();
    let (ready, go) = (stage.path("tmp/ready"), stage.path("tmp/go"));
    let flood = (0..100).map(|_| Step::Stdout(line.clone()));
    let waits = [Step::Touch(ready), Step::WaitFile(go)];
    stage.play(waits.into_iter().chain(flood).chain([codex.ok("Done.").told()]));
    let id = stage.submit("codex");
    stage.wait_running(&id);
    full.fill(64 << 10);
    stage.room.file("tmp/go", "").unwrap();
    let ended = || stage.status(&id)["phase"] == "terminal";
    wait_until("the job to end", HANG_LIMIT, ended).unwrap();
    let status = stage.status(&id);
    assert_eq!(
        (&status["state"], &status["command_exit_code"]),
        (&json!("failed"), &json!(11)),
        "{status:#}"
    );
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    assert_eq!(stage.over(&["read", &before]).text(), "Done.");
    full.empty();
    assert_eq!(stage.status(&id)["state"], "failed");
    assert_eq!(stage.over(&["read", &id]).code(), 11);
    done_again(&stage);
    shown("15", "disk-fills", "no space while a job runs: failed 11, earlier jobs whole");
}

fn done_again(stage: &Stage) {
    stage.play([Dialect::of("codex").ok("Done.").told()]);
    done(stage);
}
