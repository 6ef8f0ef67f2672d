//! What is known of a binary, kept by its identity: the version that it printed, which takes one CLI
//! 1.5 s, and what was made sure of about it, which takes another 1.5 s.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The version of the file's shape.
const SCHEMA_VERSION: u32 = 1;
/// Entries beyond this are dropped, oldest file first.
const KEPT: usize = 64;

/// What tells a binary from another one: replaced, upgraded or touched, it is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    device: u64,
    inode: u64,
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl Fingerprint {
    /// Of the file at `path`, following links.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let meta = path.metadata()?;
        let ns = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Ok(Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// What is known of one binary.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    fingerprint: Fingerprint,
    /// The version, or the label of whoever made sure of something.
    #[serde(rename = "version", alias = "label")]
    word: String,
}

/// By path.
type Entries = BTreeMap<String, Entry>;

#[derive(Debug, Serialize, Deserialize)]
struct Versions {
    schema_version: u32,
    binaries: Entries,
    #[serde(default)]
    proven: Entries,
}

/// Whether `label` was proven of the binary at `path`, and it is still the same file.
#[must_use]
pub fn is_proven(path: &Path, label: &str) -> bool {
    load().and_then(|versions| known(versions.proven, path)).is_some_and(|found| found == label)
}

/// Remembers that `label` was proven of the binary at `path`.
///
/// # Errors
/// The cache cannot be written; it has to be proven again.
pub fn prove(path: &Path, label: &str) -> io::Result<()> {
    note(path, label, |versions| &mut versions.proven)
}

/// The version that the binary at `path` printed when it was last asked, if it is still the same
/// file. An unreadable cache is an empty one: it only saves time.
#[must_use]
pub fn recall(path: &Path) -> Option<String> {
    known(load()?.binaries, path)
}

/// Remembers what the binary at `path` printed.
///
/// # Errors
/// The cache cannot be written; the version is known all the same.
pub fn remember(path: &Path, version: &str) -> io::Result<()> {
    note(path, version, |versions| &mut versions.binaries)
}

/// What is known of the file at `path`, if it is still the same one.
fn known(mut entries: Entries, path: &Path) -> Option<String> {
    let entry = entries.remove(&*path.to_string_lossy())?;
    (entry.fingerprint == Fingerprint::of(path).ok()?).then_some(entry.word)
}

fn note(path: &Path, word: &str, among: fn(&mut Versions) -> &mut Entries) -> io::Result<()> {
    let file = super::layout::versions()?;
    let (binaries, proven) = (Entries::new(), Entries::new());
    let empty = Versions { schema_version: SCHEMA_VERSION, binaries, proven };
    let mut versions = load().unwrap_or(empty);
    let entry = Entry { fingerprint: Fingerprint::of(path)?, word: word.to_owned() };
    let entries = among(&mut versions);
    entries.insert(path.to_string_lossy().into_owned(), entry);
    while entries.len() > KEPT {
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.fingerprint.modified_ns);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
        entries.remove(&name);
    }
    super::record::replace(&file, &serde_json::to_vec_pretty(&versions)?)
}

fn load() -> Option<Versions> {
    let bytes = super::regular::read(&super::layout::versions().ok()?).ok()?;
    let versions: Versions = serde_json::from_slice(&bytes).ok()?;
    (versions.schema_version == SCHEMA_VERSION).then_some(versions)
}
