//! What to start: the target's program, arguments, environment, directory and descriptors.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::kind::Kind;

/// An owned descriptor or handle of this platform.
#[cfg(unix)]
pub type Descriptor = std::os::fd::OwnedFd;
/// An owned descriptor or handle of this platform.
#[cfg(windows)]
pub type Descriptor = std::os::windows::io::OwnedHandle;

/// Where the target's standard input comes from.
#[derive(Debug)]
pub enum Input {
    /// The null device.
    Null,
    /// A regular file, opened by the init itself: read-only, at offset 0.
    File(PathBuf),
    /// A file, pipe, socket or null device that the caller opened. A regular file is opened anew by
    /// the init, read-only and from its beginning. Anything else is refused: a directory would be a
    /// way out of a confined tree.
    Descriptor(Descriptor),
}

/// One contained start. Nothing is inherited: environment and descriptors are exactly these.
#[derive(Debug)]
pub struct Launch {
    /// The executable. Not looked up in `PATH`; a relative path is relative to the caller's directory.
    pub program: PathBuf,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The program's own name (`argv[0]`); `program` if absent.
    pub arg0: Option<OsString>,
    /// The whole environment, in this order. [`Kind::Guardian`] and [`Kind::ProcessGroup`] add
    /// `DCLI_TREE`, by which they recognise what left the tree.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory, entered after any mounts were made.
    pub cwd: PathBuf,
    /// Standard input.
    pub stdin: Input,
    /// Standard output.
    pub stdout: Descriptor,
    /// Standard error.
    pub stderr: Descriptor,
    /// How the tree is held.
    pub kind: Kind,
}
