//! What a process was given by whoever started it, as it sees it itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{getpid, getuid};
use serde::{Deserialize, Serialize};

use crate::proc;

/// A process's account of itself. Text that is not UTF-8 has its bad bytes replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// All arguments, the program's name first.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The working directory as the kernel has it.
    pub cwd: PathBuf,
    /// The variable `PWD`.
    pub pwd: Option<String>,
    /// Standard input as text, once it was read.
    pub stdin: Option<String>,
    /// Standard input as hexadecimal digits, where it is not UTF-8.
    pub stdin_hex: Option<String>,
    /// The number of bytes read from standard input.
    pub stdin_bytes: usize,
    /// Every open descriptor.
    pub fds: Vec<Descriptor>,
    /// Process id in the process's own namespace; so are the next ones.
    pub pid: i32,
    /// Parent's process id; 0 when the parent is outside the namespace.
    pub ppid: i32,
    /// Session id; equal to `pid` in a session leader.
    pub sid: i32,
    /// Process group id.
    pub pgid: i32,
    /// Real user id.
    pub uid: u32,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
    /// Signals ignored, bit n-1 for signal n.
    pub ignored_signals: u64,
    /// Signals blocked, in the same form.
    pub blocked_signals: u64,
    /// `NoNewPrivs` of proc(5).
    pub no_new_privs: bool,
}

/// One open descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// Its number.
    pub fd: u32,
    /// What it is open on, as `/proc/self/fd` names it.
    pub target: PathBuf,
    /// Its open flags, in octal as `/proc/self/fdinfo` has them.
    pub flags: String,
    /// Its file offset.
    pub position: u64,
}

impl Record {
    /// Describes this process. `stdin` is what was read from standard input, if it was.
    ///
    /// # Errors
    /// When the working directory or `/proc` cannot be read.
    pub fn of_self(stdin: Option<&[u8]>) -> io::Result<Self> {
        let status = proc::status("self").unwrap_or_default();
        let (group, session) = proc::group_and_session("self").unwrap_or_default();
        let number = |name| proc::field(&status, name).and_then(|value| value.parse().ok());
        Ok(Self {
            argv: std::env::args_os().map(|argument| text(&argument)).collect(),
            env: std::env::vars_os().map(|(key, value)| (text(&key), text(&value))).collect(),
            cwd: std::env::current_dir()?,
            pwd: std::env::var_os("PWD").map(|value| text(&value)),
            stdin: stdin.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            stdin_hex: stdin.filter(|bytes| std::str::from_utf8(bytes).is_err()).map(hex),
            stdin_bytes: stdin.map_or(0, <[u8]>::len),
            fds: descriptors()?,
            pid: getpid().as_raw_nonzero().get(),
            ppid: number("PPid").unwrap_or(0),
            sid: session,
            pgid: group,
            uid: getuid().as_raw(),
            has_terminal: proc::own_terminal() != 0,
            ignored_signals: proc::mask(&status, "SigIgn"),
            blocked_signals: proc::mask(&status, "SigBlk"),
            no_new_privs: number("NoNewPrivs") == Some(1),
        })
    }

    /// Reads a record that a fake agent wrote.
    ///
    /// # Errors
    /// When the file cannot be read or is no record.
    pub fn load(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// Writes the record so that the file appears whole or not at all.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}.part", self.pid));
        std::fs::write(&beside, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&beside, path)
    }
}

fn descriptors() -> io::Result<Vec<Descriptor>> {
    let list = std::fs::read_dir("/proc/self/fd")?.collect::<io::Result<Vec<_>>>()?;
    let mut found: Vec<Descriptor> =
        list.iter().filter_map(|entry| descriptor(&entry.path())).collect();
    found.sort_by_key(|descriptor| descriptor.fd);
    Ok(found)
}

/// `None` for a descriptor that is closed again, as the one that listed the directory is.
fn descriptor(path: &Path) -> Option<Descriptor> {
    let target = std::fs::read_link(path).ok()?;
    let fd: u32 = path.file_name()?.to_str()?.parse().ok()?;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    let flags = proc::field(&info, "flags")?.to_owned();
    let position = proc::field(&info, "pos")?.parse().ok()?;
    Some(Descriptor { fd, target, flags, position })
}

fn text(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
