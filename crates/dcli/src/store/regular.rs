//! Reading a file that somebody else may have put there: never waited for, and bounded.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most bytes of one file: 4 MiB.
const MOST: u64 = 4 << 20;

/// The bytes of the regular file at `path`, following links. A pipe or a device in its place, which
/// would block the reader or never end, is an error.
///
/// # Errors
/// It cannot be opened or read, is not a regular file, or is longer than 4 MiB.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MOST)
}

/// As [`read`], with a bound of the caller's, in bytes.
///
/// # Errors
/// As [`read`].
pub fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path, OFlags::empty())?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

/// Opens a log of dcli's own, of any length. A link in its place leads nowhere.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_own(path: &Path) -> io::Result<File> {
    open(path, OFlags::NOFOLLOW)
}

fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// As [`read`], for a text.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    String::from_utf8(read(path)?).map_err(invalid)
}
