//! The hidden entry: how an executable offers to be re-run as init, guardian or probe, and the proof that it does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::{marker, platform};

/// Must be the first call in a host's `main`.
///
/// In a process that was started as init, guardian or probe it does that work and never returns.
/// Otherwise it marks this program as offering the entry, and returns at once. If the program was started
/// with SIGCHLD ignored, it makes that the default again: nobody could learn how a child ended.
pub fn entry() {
    platform::play_role();
    marker::impress();
}

/// An executable proven to offer [`entry`]. It is opened once and always run by descriptor, so an
/// upgrade on disk changes nothing.
#[derive(Debug, Clone)]
pub struct Entry {
    executable: Executable,
}

/// An opened executable, and how its file looked when it was proven.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux runs it again"))]
pub(crate) struct Executable {
    file: Arc<File>,
    proven: Option<Fingerprint>,
}

/// What changes when a file is overwritten in place. Replacing it by name does not matter.
type Fingerprint = (u64, SystemTime);

/// An executable that cannot be used as the init. Its `Debug` is its message, since a `main` that
/// returns it shows that.
#[derive(thiserror::Error)]
pub enum EntryError {
    /// This program did not call [`entry`] first in its `main`.
    #[error(
        "this program does not call dcli_contain::entry() first in its main, \
         so it cannot be run again as the containment init; call it, or name a dcli executable"
    )]
    NotCalled,
    /// The executable has no entry.
    #[error("{path} does not offer the containment entry", path = path.display())]
    NotOffered {
        /// The executable.
        path: PathBuf,
    },
    /// The executable speaks another version of the entry.
    #[error("{path} offers version {found} of the containment entry, not {wanted}", path = path.display())]
    OtherVersion {
        /// The executable.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        wanted: u32,
    },
    /// The executable cannot be opened or read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// The executable.
        path: PathBuf,
        /// What was wrong.
        source: io::Error,
    },
}

impl std::fmt::Debug for EntryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Entry {
    /// This very program.
    ///
    /// # Errors
    /// [`EntryError::NotCalled`] if its `main` did not call [`entry`]: it is then never run again.
    pub fn current() -> Result<Self, EntryError> {
        if !marker::is_impressed() {
            return Err(EntryError::NotCalled);
        }
        // A running executable cannot be overwritten in place, so there is nothing to look for later.
        let path = own_executable().map_err(unreadable(Path::new("this program")))?;
        let file = File::open(&path).map_err(unreadable(&path))?;
        Ok(Self { executable: Executable { file: Arc::new(file), proven: None } })
    }

    /// A named executable, usually an installed dcli. It is read, not run, to prove that it offers the entry.
    ///
    /// # Errors
    /// If it cannot be read, offers no entry, or another version of it.
    pub fn at(path: &Path) -> Result<Self, EntryError> {
        let file = File::open(path).map_err(unreadable(path))?;
        let proven = fingerprint(&file).map_err(unreadable(path))?;
        match marker::find(&file).map_err(unreadable(path))? {
            Some(marker::VERSION) => {
                Ok(Self { executable: Executable { file: Arc::new(file), proven: Some(proven) } })
            }
            Some(found) => {
                let path = path.to_owned();
                Err(EntryError::OtherVersion { path, found, wanted: marker::VERSION })
            }
            None => Err(EntryError::NotOffered { path: path.to_owned() }),
        }
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux runs it again"))]
    pub(crate) fn executable(&self) -> Executable {
        self.executable.clone()
    }
}

#[cfg(target_os = "linux")]
impl Executable {
    /// A path to run the opened file by, whatever its name points to by now.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd;
        if self.proven.is_some_and(|proven| !fingerprint(&self.file).is_ok_and(|now| now == proven))
        {
            return Err(io::Error::other("the executable was overwritten after it was proven"));
        }
        Ok(PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd())))
    }
}

fn own_executable() -> io::Result<PathBuf> {
    // Not the path that it stands for: that may name another file after an upgrade.
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

fn fingerprint(file: &File) -> io::Result<Fingerprint> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified()?))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> EntryError {
    let path = path.to_owned();
    move |source| EntryError::Unreadable { path, source }
}
