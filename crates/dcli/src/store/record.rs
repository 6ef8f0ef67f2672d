//! Atomic replacement of one file: written new, synced, renamed over, its directory synced.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Whether something is on the disk before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It outlives a power failure.
    Synced,
    /// Its bytes do; its name does once somebody syncs its directory, with all the others in it.
    Nameless,
    /// It outlives this process. Enough for what can be made again, a heartbeat for one.
    Unsynced,
}

/// Replaces `path` with `bytes`, synced; its directory is made where it is missing. A reader sees
/// the old file or the new one, never a part. The file is the owner's alone (mode 0600).
///
/// # Errors
/// The old file is still there, whole.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    super::layout::make_private(directory(path))?;
    replace_in_place(path, bytes, Durability::Synced)
}

/// As [`replace`], in a directory that is there.
///
/// # Errors
/// The old file is still there, whole.
pub fn replace_in_place(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory(path))?;
    file.write_all(bytes)?;
    if durability != Durability::Unsynced {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    match durability {
        Durability::Synced => sync_directory(directory(path)),
        Durability::Nameless | Durability::Unsynced => Ok(()),
    }
}

/// How the name of a file begins that is not in its place yet; `tempfile` names it so.
const STAGED: &str = ".tmp";

/// Removes what processes left that died while they replaced a file of `directory`, which nobody
/// but the caller writes to now. It may be a result, or half of one.
///
/// # Errors
/// Some of it is left.
pub(super) fn remove_staged(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(STAGED) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes the names in a directory outlive a power failure.
///
/// # Errors
/// It cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
