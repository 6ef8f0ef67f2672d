//! `debug`: one redacted bundle of everything about a job.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use dcli_core::job::answer::{DebugBundle, FileEntry, LogEnd, SCHEMA_VERSION};
use dcli_core::job::id::JobId;
use serde::Serialize;
use serde_json::{Value, json};

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use crate::store::attempt::{AttemptDir, LogName};
use crate::store::job_dir::JobDir;
use crate::store::regular;

/// The most of one log: 16 KiB from its end.
const LOG_END: u64 = 16 * 1024;
/// The most facts, from the last on.
const FACTS: usize = 200;
/// How deep a job's directory is listed.
const DEPTH: usize = 6;

/// Everything about the job. What cannot be read is named, and the rest is there.
///
/// ```no_run
/// use dcli::job::{Engine, debug};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// let bundle = debug(engine, id)?;
/// println!("{} events, {} files", bundle.journal.len(), bundle.files.len());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job does not exist.
pub fn debug(engine: &Engine, id: &JobId) -> Result<DebugBundle, JobError> {
    let dir = engine.find(id)?;
    let mut problems = Vec::new();
    let status = note(&mut problems, reconcile::status(engine, &dir));
    let attempt = note(&mut problems, dir.latest_attempt());
    let journal = lines(&mut problems, &dir.journal_path());
    let mut facts = Vec::new();
    let mut logs = Vec::new();
    if let Some(attempt) = &attempt {
        facts = lines(&mut problems, &attempt.facts());
        facts.drain(..facts.len().saturating_sub(FACTS));
        logs = ends(attempt);
    }
    let mut files = Vec::new();
    list(dir.path(), dir.path(), 0, &mut files);
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let kept = |path: &Path| dir.record::<Value>(path).ok();
    let bundle = DebugBundle {
        schema_version: SCHEMA_VERSION,
        job_id: id.clone(),
        dcli_version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: dir.path().display().to_string(),
        status,
        request: kept(&dir.request_path()),
        command: attempt.as_ref().and_then(|attempt| kept(&attempt.command())),
        envelope: attempt.as_ref().and_then(|attempt| kept(&attempt.envelope())),
        problems,
        journal,
        facts,
        logs,
        files,
        machine: machine(engine, &dir),
    };
    redacted(engine, bundle)
}

/// Everything was redacted when it was kept; this covers what has become a secret since.
fn redacted(engine: &Engine, bundle: DebugBundle) -> Result<DebugBundle, JobError> {
    let redaction = crate::store::redacted::Redaction::new(engine.redactor(&[]));
    let internal = |error: String| JobError::Internal { message: error };
    let bytes = redaction.json(&bundle).map_err(|error| internal(error.to_string()))?;
    Ok(serde_json::from_slice(&bytes).unwrap_or(bundle))
}

fn note<T, E: std::fmt::Display>(problems: &mut Vec<String>, read: Result<T, E>) -> Option<T> {
    read.map_err(|error| problems.push(error.to_string())).ok()
}

/// The lines of a file that are JSON; the others are named.
fn lines(problems: &mut Vec<String>, path: &Path) -> Vec<Value> {
    let text = match regular::read_up_to(path, 64 << 20) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(format!("{}: {error}", path.display()));
            return Vec::new();
        }
    };
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(value) => values.push(value),
            Err(error) => problems.push(format!("{} line {}: {error}", path.display(), number + 1)),
        }
    }
    values
}

fn ends(attempt: &AttemptDir) -> Vec<LogEnd> {
    LogName::ALL.into_iter().filter_map(|name| end(&attempt.log(name), name.file())).collect()
}

fn end(path: &Path, name: &str) -> Option<LogEnd> {
    let mut file = regular::open_own(path).ok()?;
    let bytes = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(bytes.saturating_sub(LOG_END))).ok()?;
    let mut end = Vec::new();
    file.take(LOG_END).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end).into_owned();
    Some(LogEnd { name: name.to_owned(), bytes, end })
}

fn list(root: &Path, directory: &Path, depth: usize, files: &mut Vec<FileEntry>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() && depth < DEPTH {
            list(root, &path, depth + 1, files);
        } else if let Ok(name) = path.strip_prefix(root) {
            files.push(FileEntry { name: name.display().to_string(), bytes: meta.len() });
        }
    }
}

#[derive(Serialize)]
struct Machine {
    system: String,
    kernel: String,
    boot_id: Option<String>,
    containment: Vec<Value>,
    is_held: Option<bool>,
}

fn machine(engine: &Engine, dir: &JobDir) -> Value {
    let uname = rustix::system::uname();
    let support = engine.host.support();
    let rung = |rung: &dcli_contain::Rung| json!({"kind": rung.kind.to_string(), "missing": rung.available.as_ref().err()});
    let machine = Machine {
        system: std::env::consts::OS.to_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        boot_id: dcli_contain::Identity::current().ok().map(|identity| identity.boot_id),
        containment: support.rungs.iter().map(rung).collect(),
        is_held: dir.is_held().ok(),
    };
    serde_json::to_value(machine).unwrap_or_default()
}
