//! What is left of jobs that never came to be or are half gone, and entries whose job is not there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dcli_core::job::id::{JobId, RepoKey};

use super::attempt::AttemptDir;
use super::jobs::{self, JobsError, entries};
use super::lease::Lease;
use super::root::{StateRoot, WritableRoot};
use super::{layout, tree};

/// A directory without a lease may be one that is being made, unless it is older than this.
const MAKING: Duration = Duration::from_secs(600);

/// What kind of leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrphanKind {
    /// A job whose maker died before anybody could see it.
    Staged,
    /// A job whose removal did not end.
    Discarded,
    /// A place in the queue of no job.
    QueueEntry,
    /// A member of a group that is no job.
    GroupEntry,
    /// Slots of descendants of no job.
    Descendants,
    /// A store of its own of no job.
    Nested,
    /// A server of no job.
    Server,
}

/// A leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Which kind.
    pub kind: OrphanKind,
    /// Where it is.
    pub path: PathBuf,
    /// What it takes on the disk.
    pub bytes: u64,
}

impl Orphan {
    fn new(kind: OrphanKind, path: PathBuf) -> Self {
        let bytes = tree::bytes(&path);
        Self { kind, path, bytes }
    }
}

/// All leftovers below the root.
///
/// # Errors
/// A directory cannot be read.
pub fn find(root: &StateRoot) -> Result<Vec<Orphan>, JobsError> {
    let mut orphans = Vec::new();
    for repo in jobs::repositories(root)? {
        for entry in entries(&layout::repository(root.path(), &repo))? {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(layout::DISCARDED) {
                orphans.push(Orphan::new(OrphanKind::Discarded, entry.path()));
            } else if name.starts_with(layout::STAGED) && is_abandoned(&entry.path()) {
                orphans.push(Orphan::new(OrphanKind::Staged, entry.path()));
            }
        }
    }
    let mut jobless = |kind, directory: &Path| -> Result<(), JobsError> {
        let entries = entries(directory)?;
        // Looked at after the entries: a repository has its directory before its jobs have theirs.
        let repositories = jobs::repositories(root)?;
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_str().map(|name| name.strip_suffix(".json").unwrap_or(name));
            let id = name.and_then(|name| name.parse::<JobId>().ok());
            if id.is_some_and(|id| !is_there(root, &repositories, &id)) {
                orphans.push(Orphan::new(kind, entry.path()));
            }
        }
        Ok(())
    };
    jobless(OrphanKind::QueueEntry, &layout::queue(root.path()))?;
    jobless(OrphanKind::Descendants, &layout::all_descendants(root.path()))?;
    jobless(OrphanKind::Nested, &layout::all_nested(root.path()))?;
    jobless(OrphanKind::Server, &layout::servers(root.path()))?;
    for group in entries(&layout::groups(root.path()))? {
        jobless(OrphanKind::GroupEntry, &group.path())?;
    }
    Ok(orphans)
}

/// Removes a leftover. A job whose maker turns out to live stays.
///
/// # Errors
/// Something of it is left.
pub fn remove(_root: &WritableRoot, orphan: &Orphan) -> io::Result<()> {
    if orphan.kind != OrphanKind::Staged {
        return remove_any(&orphan.path);
    }
    match Lease::take(&AttemptDir::of(&orphan.path, 1).lease()) {
        Ok(Some(_lease)) => tree::remove(&orphan.path),
        Ok(None) => Err(io::ErrorKind::ResourceBusy.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => tree::remove(&orphan.path),
        Err(error) => Err(error),
    }
}

fn remove_any(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return tree::remove(path);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_abandoned(staged: &Path) -> bool {
    let lease = AttemptDir::of(staged, 1).lease();
    if lease.symlink_metadata().is_ok() {
        return !Lease::is_held(&lease).unwrap_or(true);
    }
    let changed = staged.metadata().and_then(|meta| meta.modified());
    changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > MAKING))
}

/// A job that is published between the two looks has its other name at the second.
fn is_there(root: &StateRoot, repositories: &[RepoKey], id: &JobId) -> bool {
    let exists = |path: PathBuf| path.symlink_metadata().is_ok();
    repositories.iter().any(|repo| exists(layout::staged_job(root.path(), repo, id)))
        || repositories.iter().any(|repo| exists(layout::job(root.path(), repo, id)))
}
