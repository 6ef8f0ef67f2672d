//! Directory trees that a worker could write: measured and removed without following a link out of them.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// How deep a tree is looked into.
const DEEPEST: usize = 128;

/// Removes a tree. One that is not there is removed already.
///
/// # Errors
/// Something of it is left.
pub fn remove(path: &Path) -> io::Result<()> {
    let Err(first) = try_remove(path) else { return Ok(()) };
    if first.kind() != io::ErrorKind::PermissionDenied {
        return Err(first);
    }
    // A worker may have taken the owner's own rights away from a directory of its own.
    unlock(path, 0);
    try_remove(path)
}

fn try_remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn unlock(path: &Path, depth: usize) {
    let is_directory = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if !is_directory || depth > DEEPEST {
        return;
    }
    let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.for_each(|entry| unlock(&entry.path(), depth + 1));
}

/// What a tree takes on the disk, in bytes. What cannot be looked at counts as nothing.
#[must_use]
pub fn bytes(path: &Path) -> u64 {
    measure(path, 0)
}

fn measure(path: &Path, depth: usize) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    let own = meta.blocks() * 512;
    if !meta.is_dir() || depth > DEEPEST {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| measure(&entry.path(), depth + 1)).sum::<u64>()
}
