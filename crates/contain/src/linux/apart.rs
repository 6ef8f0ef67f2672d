//! Both sides of a detached start: the spawn, and what the new process does before its `main` goes on.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;

use super::process::{self, Side};
use crate::detached::Detached;
use crate::entry::Entry;

/// The name (`argv[0]`) by which an executable is run again as a detached process.
const NAME: &str = "dcli-worker";

/// Spawns the executable and waits for the part of it that only makes the other one.
pub(crate) fn start_detached(entry: &Entry, detached: Detached) -> io::Result<()> {
    let [stdin, stdout, stderr] = detached.stdio;
    let mut child = Command::new(entry.executable().path()?)
        .arg0(NAME)
        .args(detached.args)
        .env_clear()
        .envs(detached.env)
        .current_dir(detached.cwd)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn()?;
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("the process that detaches it ended with {status}")))
}

/// The arguments after the name, in a detached process.
pub(crate) fn detached_args() -> Option<Vec<OsString>> {
    is_named().then(|| std::env::args_os().skip(1).collect())
}

pub(crate) fn is_named() -> bool {
    std::env::args_os().next().is_some_and(|name| name.as_bytes() == NAME.as_bytes())
}

/// Leaves everything of the starter's: descriptors, signal settings, session, terminal and parent.
/// The process that returns leads no session, so no terminal that it opens becomes its own.
pub(crate) fn detach() {
    if detached().is_err() {
        process::leave(114);
    }
}

fn detached() -> Result<(), Errno> {
    process::close_inherited()?;
    process::hear_signals_again()?;
    rustix::process::setsid()?;
    // Run by descriptor, it would be called by that number.
    rustix::thread::set_name(c"dcli-worker")?;
    match process::fork()? {
        Side::Parent(_) => process::leave(0),
        Side::Child => Ok(()),
    }
}
