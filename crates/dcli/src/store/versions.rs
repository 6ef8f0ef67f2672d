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

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    fingerprint: Fingerprint,
    version: String,
}

/// What was made sure of about a binary, by a label of whoever did.
#[derive(Debug, Serialize, Deserialize)]
struct Proof {
    fingerprint: Fingerprint,
    label: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Versions {
    schema_version: u32,
    binaries: BTreeMap<String, Entry>,
    #[serde(default)]
    proven: BTreeMap<String, Proof>,
}

impl Versions {
    fn none() -> Self {
        let (binaries, proven) = (BTreeMap::new(), BTreeMap::new());
        Self { schema_version: SCHEMA_VERSION, binaries, proven }
    }
}

/// Whether `label` was proven of the binary at `path`, and it is still the same file.
#[must_use]
pub fn is_proven(path: &Path, label: &str) -> bool {
    let proof = load().and_then(|mut versions| versions.proven.remove(&*path.to_string_lossy()));
    let same = |found: &Fingerprint| Fingerprint::of(path).is_ok_and(|now| now == *found);
    proof.is_some_and(|proof| proof.label == label && same(&proof.fingerprint))
}

/// Remembers that `label` was proven of the binary at `path`.
///
/// # Errors
/// The cache cannot be written; it has to be proven again.
pub fn prove(path: &Path, label: &str) -> io::Result<()> {
    let mut versions = load().unwrap_or_else(Versions::none);
    let proof = Proof { fingerprint: Fingerprint::of(path)?, label: label.to_owned() };
    versions.proven.insert(path.to_string_lossy().into_owned(), proof);
    while versions.proven.len() > KEPT {
        let oldest = versions.proven.iter().min_by_key(|(_, p)| p.fingerprint.modified_ns);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
        versions.proven.remove(&name);
    }
    let file = super::layout::versions()?;
    super::record::replace(&file, &serde_json::to_vec_pretty(&versions)?)
}

/// The version that the binary at `path` printed when it was last asked, if it is still the same
/// file. An unreadable cache is an empty one: it only saves time.
#[must_use]
pub fn recall(path: &Path) -> Option<String> {
    let mut versions = load()?;
    let entry = versions.binaries.remove(&*path.to_string_lossy())?;
    (entry.fingerprint == Fingerprint::of(path).ok()?).then_some(entry.version)
}

/// Remembers what the binary at `path` printed.
///
/// # Errors
/// The cache cannot be written; the version is known all the same.
pub fn remember(path: &Path, version: &str) -> io::Result<()> {
    let file = super::layout::versions()?;
    let mut versions = load().unwrap_or_else(Versions::none);
    let entry = Entry { fingerprint: Fingerprint::of(path)?, version: version.to_owned() };
    versions.binaries.insert(path.to_string_lossy().into_owned(), entry);
    while versions.binaries.len() > KEPT {
        let oldest = versions.binaries.iter().min_by_key(|(_, e)| e.fingerprint.modified_ns);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
        versions.binaries.remove(&name);
    }
    super::record::replace(&file, &serde_json::to_vec_pretty(&versions)?)
}

fn load() -> Option<Versions> {
    let bytes = super::regular::read(&super::layout::versions().ok()?).ok()?;
    let versions: Versions = serde_json::from_slice(&bytes).ok()?;
    (versions.schema_version == SCHEMA_VERSION).then_some(versions)
}
