//! The store: journals cut and damaged, leases across processes, listings, slots, retention.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what stages a store may fail its test")]

mod jobs;
mod journal;
mod lease;
mod redaction;
mod retention;
mod role;
mod root;
mod slots;

use std::path::Path;

use dcli::model::job::event::{Event, JournalLine};
use dcli::model::job::id::{JobId, RepoKey};
use dcli::model::redact::Redactor;
use dcli::store::job_writer::JobWriter;
use dcli::store::new_job::NewJob;
use dcli::store::record::Durability;
use dcli::store::root::{StateRoot, WritableRoot};

/// A state root of one test.
struct Scratch {
    directory: tempfile::TempDir,
    root: WritableRoot,
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = StateRoot::writing(directory.path().join("state")).unwrap();
        Self { directory, root }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// The id of job `number`: a greater number is a newer job.
fn id(number: u32) -> JobId {
    format!("20261130T{:02}{:02}{:02}Z-abcdefgh", number / 3600, number / 60 % 60, number % 60)
        .parse()
        .unwrap()
}

fn repo() -> RepoKey {
    RepoKey::from_digest([0xab; 32])
}

fn line(seq: u64) -> JournalLine {
    let at = "2026-11-30T19:00:00.000Z".to_owned();
    JournalLine { schema_version: 1, seq, at, event: Event::Queued }
}

/// A job that everybody sees and this process holds.
fn published(root: &WritableRoot, id: &JobId) -> JobWriter {
    let mut new = NewJob::create(root, &repo(), id, Redactor::none()).unwrap();
    new.writer().append(&line(1), Durability::Synced).unwrap();
    new.writer().write_prompt(b"do it\n").unwrap();
    new.publish().unwrap()
}

/// A job that ended at `at`, whose worker is gone.
fn ended(root: &WritableRoot, id: &JobId, at: &str) {
    let status = serde_json::json!({"schema_version": 1, "state": "done", "finished_at": at});
    published(root, id).write_status(&status, Durability::Unsynced).unwrap();
}
