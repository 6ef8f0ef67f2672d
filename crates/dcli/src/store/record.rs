//! Atomic replacement of one file: written new, synced, renamed over, its directory synced.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Replaces `path` with `bytes`. A reader sees the old file or the new one, never a part. The file
/// is the owner's alone (mode 0600).
///
/// # Errors
/// The old file is still there, whole.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    super::layout::make_private(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}
