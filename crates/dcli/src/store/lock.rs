//! Short mutexes between processes: taken for one step, waited for with a bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dcli_core::exit::FailureClass;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use thiserror::Error;

use super::layout;

/// How long a lock is waited for.
pub const WAIT: Duration = Duration::from_secs(10);
/// The first pause between two tries; each further one is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);
/// The most bytes that the name of a holder takes.
const HOLDER: usize = 64;

/// Why a lock was not taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else had it all the time.
    #[error("{} was held for {waited:?}{}", .path.display(), by(.holder.as_deref()))]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Who wrote its name into it last.
        holder: Option<String>,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It cannot be made or locked.
    #[error("{} cannot be locked: {source}", .path.display())]
    Io {
        /// The lock.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LockError {
    /// The class that the exit code follows.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        FailureClass::Lock
    }
}

fn by(holder: Option<&str>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

/// A lock that is held as long as the value.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`, made where it is missing, and waits for it up to [`WAIT`].
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take(path: &Path) -> Result<Self, LockError> {
        Self::take_within(path, WAIT)
    }

    /// As [`Lock::take`], with a wait of the caller's.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take_within(path: &Path, wait: Duration) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = open(path).map_err(failed)?;
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        while !try_lock(&file).map_err(failed)? {
            let waited = began.elapsed();
            if waited >= wait {
                return Err(LockError::Busy {
                    path: path.to_owned(),
                    holder: holder(&file),
                    waited,
                });
            }
            std::thread::sleep(pause.min(wait - waited));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        sign(&file);
        Ok(Self { _file: file })
    }
}

/// A link in its place is not followed: the holder's name would be written over what it leads to.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            layout::make_private(path.parent().unwrap_or(Path::new(".")))?;
            options.open(path)
        }
        opened => opened,
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The holder's name is for messages alone: a disk that is full does not keep a lock from working.
fn sign(mut file: &File) {
    let name = format!("process {}", std::process::id());
    let _ = file.set_len(0).and_then(|()| file.write_all(name.as_bytes()));
}

fn holder(file: &File) -> Option<String> {
    let mut name = vec![0; HOLDER];
    let length = file.read_at(&mut name, 0).ok()?;
    name.truncate(length);
    let name = String::from_utf8(name).ok()?;
    name.strip_prefix("process ")?.parse::<u32>().ok()?;
    Some(name)
}
