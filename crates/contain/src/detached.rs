//! A process of one's own that nobody's end takes along: no terminal, no session, group or
//! descriptor of whoever started it. It is no child either, so it is never waited for.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::entry::Entry;
use crate::platform;

/// What a detached process is started with.
#[derive(Debug)]
pub struct Detached {
    /// Its arguments, without a name.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its standard input, output and error.
    pub stdio: [OwnedFd; 3],
}

impl Entry {
    /// Starts the executable again as a detached process. Its `main` runs as usual after
    /// [`entry`](crate::entry()); [`detached_args`] tells it what it was started for. Whether it works is
    /// for its own word on a descriptor to tell.
    ///
    /// # Errors
    /// It could not be started; nothing of it is left.
    pub fn start_detached(&self, detached: Detached) -> io::Result<()> {
        platform::start_detached(self, detached)
    }
}

/// The arguments of this process where it was started by [`Entry::start_detached`].
#[must_use]
pub fn detached_args() -> Option<Vec<OsString>> {
    platform::detached_args()
}
