//! The lease of an attempt: the lock that its worker holds for life, and the one proof that it lives.
//!
//! It is flock(2): it belongs to the open file description, so a descriptor that is handed to
//! another process carries it, and the kernel drops it with the last of them, however that ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// How often a lock is tried that only a look at it can be holding.
const TRIES: u32 = 100;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// An exclusive lock on one file, held as long as the value, and as every copy of its descriptor.
#[derive(Debug)]
pub struct Lease {
    file: File,
}

impl Lease {
    /// Makes the file at `path`. Whoever sees it sees it locked.
    ///
    /// # Errors
    /// There is one already, or it cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let unseen = tempfile::NamedTempFile::new_in(directory)?;
        flock(unseen.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        let file = unseen.persist_noclobber(path).map_err(|error| error.error)?;
        Ok(Self { file })
    }

    /// Takes the lock on the file at `path`; `None`: somebody else has it.
    ///
    /// # Errors
    /// There is no such file, or it cannot be opened for writing.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            let file = open(path, OFlags::RDWR)?;
            // Who merely looks holds a shared lock for an instant. It must not pass for a worker.
            if !try_lock(&file, FlockOperation::NonBlockingLockShared)? {
                return Ok(None);
            }
            let locked = try_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
            if locked && is_at(&file, path)? {
                return Ok(Some(Self { file }));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// The lease that another process handed over.
    ///
    /// # Errors
    /// The descriptor is of another file than the one at `path`, or somebody else has the lock.
    pub fn adopt(descriptor: OwnedFd, path: &Path) -> io::Result<Self> {
        fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
        let file = File::from(descriptor);
        if !is_at(&file, path)? {
            return Err(io::Error::other("the descriptor is of another file"));
        }
        // Of the description that has the lock, this changes nothing.
        if !try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
            return Err(io::Error::other("the lease is held by somebody else"));
        }
        Ok(Self { file })
    }

    /// Whether somebody holds the lock on the file at `path`. Where there is no such file, nobody
    /// does. It writes nothing and works on a read-only mount.
    ///
    /// # Errors
    /// The file cannot be opened for reading.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        match open(path, OFlags::RDONLY) {
            Ok(file) => Ok(!try_lock(&file, FlockOperation::NonBlockingLockShared)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Lease {
    /// The descriptor to hand over: a copy of it that another process has keeps the lock.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A lock on a file that was removed or replaced meanwhile says nothing.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (held, named) = (file.metadata()?, path.symlink_metadata()?);
    Ok((held.dev(), held.ino()) == (named.dev(), named.ino()))
}
