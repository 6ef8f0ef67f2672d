//! Every other platform: on Unix the process group, on Windows nothing yet. Here is the seam for more.

#[cfg(unix)]
mod group;

use std::ffi::OsString;
use std::io;

use crate::contained::Contained;
use crate::detached::Detached;
use crate::entry::Entry;
use crate::error::StartError;
use crate::kind::Kind;
use crate::launch::Launch;

/// No role is ever played here: nothing re-executes this program.
pub(crate) fn play_role() {}

/// Nothing is started detached here.
pub(crate) fn start_detached(_entry: &Entry, _detached: Detached) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not implemented on this platform yet"))
}

/// Nothing was started detached.
pub(crate) fn detached_args() -> Option<Vec<OsString>> {
    None
}

/// Starts `launch`, in the kind it names.
pub(crate) fn start(_entry: &Entry, launch: Launch) -> Result<Contained, StartError> {
    #[cfg(unix)]
    if matches!(launch.kind, Kind::ProcessGroup | Kind::None) {
        return group::start(launch);
    }
    let kind = launch.kind;
    Err(StartError::Unsupported { kind, reason: unavailable(kind).to_owned() })
}

fn unavailable(kind: Kind) -> &'static str {
    match kind {
        Kind::PidNamespace | Kind::Guardian => "only on Linux",
        Kind::JobObject | Kind::TaskkillTree if cfg!(windows) => "not implemented yet",
        Kind::JobObject | Kind::TaskkillTree => "only on Windows",
        Kind::ProcessGroup | Kind::None => "not implemented on this platform yet",
    }
}

/// A start of a child that does nothing.
#[cfg(unix)]
pub(crate) fn trivial(kind: Kind) -> Result<Launch, String> {
    if kind != Kind::ProcessGroup {
        return Err(unavailable(kind).to_owned());
    }
    let null = || {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/null");
        file.map_err(|error| format!("cannot open the null device: {error}"))
    };
    Ok(Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "exit 0".into()],
        arg0: None,
        env: Vec::new(),
        cwd: "/".into(),
        stdin: crate::launch::Input::Null,
        stdout: null()?.into(),
        stderr: null()?.into(),
        kind,
    })
}

/// A start of a child that does nothing.
#[cfg(not(unix))]
pub(crate) fn trivial(kind: Kind) -> Result<Launch, String> {
    Err(unavailable(kind).to_owned())
}

/// Not known here: pids are compared by number alone.
pub(crate) fn start_time(_pid: i32) -> io::Result<u64> {
    Ok(0)
}

/// Not known here.
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(String::new())
}

/// Not known here.
pub(crate) fn pid_namespace() -> io::Result<u64> {
    Ok(0)
}
