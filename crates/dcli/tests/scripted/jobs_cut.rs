//! What is on the disk of a job, damaged: its journal cut at every byte, its projection gone or
//! garbage, its request garbage. A torn end costs nothing but what was torn off.

use std::path::{Path, PathBuf};
use std::process::Command;

use dcli::contain::Entry;
use dcli::job::Engine;
use dcli_core::job::id::JobId;
use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::common::{Dialect, Stage, shown};

/// A file, and what is in it instead; `None`: it is gone.
type Change<'a> = (&'a str, Option<&'a [u8]>);

/// A job that is over, and every file that it had then.
struct Ended {
    stage: Stage,
    id: String,
    state: &'static str,
    files: Vec<(PathBuf, Vec<u8>)>,
    journal: Vec<u8>,
}

impl Ended {
    fn of(stage: Stage, id: String, state: &'static str) -> Self {
        assert_eq!(stage.waited(&id)["state"], state);
        let directory = stage.job_dir(&id);
        let journal = std::fs::read(directory.join("journal.jsonl")).unwrap();
        Self { files: Stage::files(&directory), journal, stage, id, state }
    }

    fn done() -> Self {
        let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
        let id = stage.submit("codex");
        Self::of(stage, id, "done")
    }

    fn interrupted() -> Self {
        let stage = Stage::new([Step::Hang(true)]);
        let id = stage.submit("codex");
        stage.wait_file("tmp/seen.json");
        stage.kill_worker(&id);
        Self::of(stage, id, "interrupted")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.stage.job_dir(&self.id).join(name)
    }

    /// All as it was, but this.
    fn with(&self, changed: &[Change]) {
        for (path, bytes) in &self.files {
            std::fs::write(path, bytes).unwrap();
        }
        for (name, bytes) in changed {
            match bytes {
                Some(bytes) => std::fs::write(self.path(name), bytes).unwrap(),
                None => std::fs::remove_file(self.path(name)).unwrap(),
            }
        }
    }

    fn cut(&self, at: usize) {
        self.with(&[("journal.jsonl", Some(&self.journal[..at])), ("status.json", None)]);
    }

    /// How the job ends whose journal has so many of these lines.
    fn promised(&self, lines: usize) -> &'static str {
        let names: Vec<String> = events(&self.journal).take(lines).collect();
        let has = |name: &str| names.iter().any(|event| event == name);
        match lines {
            ..2 => "failed",
            _ if has("ended") || has("completion_observed") => self.state,
            _ => "interrupted",
        }
    }

    /// A copy in memory, where a sync costs nothing, is cut again and again by this process.
    fn cut_everywhere(&self) -> usize {
        let entry = Entry::at(Path::new(env!("CARGO_BIN_EXE_dcli"))).unwrap();
        let memory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(self.stage.room.state()).arg(memory.path());
        assert!(copy.status().unwrap().success());
        let root = memory.path().join(self.stage.room.state().file_name().unwrap());
        let job = self.stage.job_dir(&self.id);
        let job = root.join(job.strip_prefix(self.stage.room.state()).unwrap());
        let (journal, status) = (job.join("journal.jsonl"), job.join("status.json"));
        let engine = Engine::at(entry, root);
        let id: JobId = self.id.parse().unwrap();
        let lines = events(&self.journal).count();
        let promised: Vec<_> = (0..=lines).map(|lines| self.promised(lines)).collect();
        for at in 0..=self.journal.len() {
            std::fs::write(&journal, &self.journal[..at]).unwrap();
            std::fs::remove_file(&status).unwrap();
            let whole = self.journal[..at].iter().filter(|byte| **byte == b'\n').count();
            // A program that another test starts from this process has, until it is one, every
            // lock of this process.
            let over = || {
                let status = dcli::job::status(&engine, &id).ok()?.status;
                status.state.is_terminal().then_some(status.state.name())
            };
            let state = wait_for(&format!("the end, cut at byte {at}"), HANG_LIMIT, over).unwrap();
            assert_eq!(state, promised[whole], "cut at byte {at}");
            let after = std::fs::read(&journal).unwrap();
            let ends = events(&after).filter(|event| event == "ended").count();
            assert_eq!(ends, 1, "cut at byte {at}");
        }
        self.journal.len()
    }

    /// The built binary, with the journal cut at and inside each line.
    fn commands(&self) {
        let ends = self.journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
        let cuts =
            ends.iter().enumerate().flat_map(|(line, end)| [(line + 1, *end), (line, end - 2)]);
        for (whole, at) in cuts {
            let promised = self.promised(whole);
            self.cut(at);
            let status = self.stage.status(&self.id);
            assert_eq!(status["state"], promised, "cut at byte {at}: {status}");
            let listing = self.stage.over(&["list", "--json"]).json("jobs");
            assert_eq!(listing["jobs"][0]["state"], promised, "cut at byte {at}");
        }
    }
}

/// The names of the events of a journal.
fn events(journal: &[u8]) -> impl Iterator<Item = String> {
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let line = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap();
    lines.map(move |bytes| line(bytes)["type"].as_str().unwrap().to_owned())
}

#[test]
fn a_finished_job_whose_journal_is_cut_at_any_byte_is_over_and_says_how() {
    let job = Ended::done();
    let cuts = job.cut_everywhere();
    job.commands();
    shown("9", "journal-cut-done", &format!("{cuts} cuts, each a true ending"));
}

#[test]
fn an_interrupted_job_whose_journal_is_cut_at_any_byte_is_over_and_says_how() {
    let job = Ended::interrupted();
    let cuts = job.cut_everywhere();
    job.commands();
    shown("9", "journal-cut-interrupted", &format!("{cuts} cuts, each a true ending"));
}

#[test]
fn a_projection_that_is_gone_cut_or_garbage_is_made_anew() {
    let job = Ended::done();
    let before = job.stage.status(&job.id);
    let kept = std::fs::read(job.path("status.json")).unwrap();
    let bad: [Option<&[u8]>; 5] =
        [None, Some(b""), Some(b"\xff\x00"), Some(b"[]"), Some(&kept[..kept.len() / 2])];
    for projection in bad {
        job.with(&[("status.json", projection)]);
        assert_eq!(job.stage.status(&job.id), before, "{projection:?}");
        let made: Value =
            serde_json::from_slice(&std::fs::read(job.path("status.json")).unwrap()).unwrap();
        super::common::schema::fits("status", &made);
        assert_eq!(made["state"], "done");
    }
    shown("9", "projection-damaged", "made anew, the same");
}

#[test]
fn a_damaged_record_is_unreadable_where_it_is_needed_and_nothing_is_overwritten() {
    let job = Ended::done();
    job.with(&[("request.json", Some(b"{"))]);
    assert_eq!(job.stage.status(&job.id)["state"], "done");
    let second = job.journal.iter().position(|byte| *byte == b'\n').unwrap() + 3;
    let mut broken = job.journal.clone();
    broken[second] = b'\0';
    let cases: [&[Change]; 2] = [
        &[("request.json", Some(b"{")), ("journal.jsonl", Some(b"")), ("status.json", None)],
        &[("journal.jsonl", Some(&broken)), ("status.json", None)],
    ];
    for changed in cases {
        job.with(changed);
        let before = Stage::files(&job.stage.job_dir(&job.id));
        let outcome = job.stage.over(&["status", &job.id, "--json"]);
        let report = outcome.json("error");
        let seen = (outcome.code(), &report["error"]["code"]);
        assert_eq!(seen, (17, &json!("unreadable_record")), "{outcome:?}");
        assert_eq!(Stage::files(&job.stage.job_dir(&job.id)), before, "{changed:?}");
    }
    shown("9", "record-damaged", "17, nothing overwritten");
}
