//! The last steps before the target runs: descriptors, session, signals, directory, exec.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::channel::Channel;
use super::process;
use super::wire::{Failure, Message, Stage, TargetReader};

/// What the controller handed over: the sealed description and the three standard descriptors.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) target: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Absent: a file to open, or the null device, as the description says.
    pub(crate) stdin: Option<OwnedFd>,
}

impl Parcel {
    /// The descriptors of a launch message in their order on the wire.
    pub(crate) fn from_descriptors(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        Some(Self {
            target: descriptors.next()?,
            stdout: descriptors.next()?,
            stderr: descriptors.next()?,
            stdin: descriptors.next(),
        })
    }
}

/// Everything about the target that is text.
struct Target {
    program: CString,
    cwd: CString,
    stdin: CString,
    args: Vec<CString>,
    env: Vec<CString>,
}

/// Becomes the target. Reports the last step, or the failed one, on `status`.
pub(crate) fn become_target(parcel: Parcel, status: &Channel) -> ! {
    let failure = match prepare(parcel) {
        Ok(target) => execute(&target, status),
        Err(failure) => failure,
    };
    let _unreported = status.send(&Message::Failed(failure), &[]);
    process::leave(127)
}

fn execute(target: &Target, status: &Channel) -> Failure {
    if let Err(error) = status.send(&Message::Ready, &[]) {
        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
        return Failure::new(Stage::Init, "report readiness", errno);
    }
    let errno = process::execute(&target.program, &target.args, &target.env);
    Failure::new(Stage::Program, "execute", errno)
}

fn prepare(parcel: Parcel) -> Result<Target, Failure> {
    let init = |operation: &'static str| move |errno| Failure::new(Stage::Init, operation, errno);
    let target = read_target(&parcel.target).map_err(init("read the target's description"))?;
    let stdin = match parcel.stdin {
        Some(given) => reopened(given),
        None => open_input(&target.stdin),
    };
    let stdin = stdin.map_err(|errno| Failure::new(Stage::Stdin, "open", errno))?;
    own_session().map_err(init("make a session for the target"))?;
    rustix::process::chdir(&target.cwd)
        .map_err(|errno| Failure::new(Stage::Directory, "enter", errno))?;
    place([stdin.as_fd(), parcel.stdout.as_fd(), parcel.stderr.as_fd()])
        .map_err(init("place the target's descriptors"))?;
    process::seal_descriptors().map_err(init("close descriptors on exec"))?;
    process::reset_signals().map_err(init("reset signals"))?;
    Ok(target)
}

fn read_target(sealed: &OwnedFd) -> Result<Target, Errno> {
    let parse = || {
        let file = File::from(sealed.try_clone()?);
        let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0)?;
        let mut reader = TargetReader::new(&bytes);
        Ok(Target {
            program: reader.text()?,
            cwd: reader.text()?,
            stdin: reader.text()?,
            args: reader.list()?,
            env: reader.list()?,
        })
    };
    parse().map_err(|error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::BADMSG))
}

/// Opens a regular file, read-only, at offset 0; the null device for an empty path. Without
/// `NONBLOCK` a FIFO put in the file's place could hold the start up for ever.
fn open_input(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    if path.is_empty() {
        return rustix::fs::open(c"/dev/null", flags, Mode::empty());
    }
    let file = rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::INVAL),
    }
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// A regular file that the caller opened, opened anew: read-only and from its beginning, whatever
/// the caller did with it. What cannot be opened twice is taken as it is.
fn reopened(given: OwnedFd) -> Result<OwnedFd, Errno> {
    if FileType::from_raw_mode(rustix::fs::fstat(&given)?.st_mode) != FileType::RegularFile {
        return Ok(given);
    }
    let path = format!("/proc/self/fd/{}", given.as_raw_fd());
    let path = CString::new(path).map_err(|_| Errno::INVAL)?;
    open_input(&path)
}

/// A session of its own, which also leaves any controlling terminal. A bare target already leads
/// the one that its init made.
fn own_session() -> Result<(), Errno> {
    match rustix::process::setsid() {
        Ok(_) => Ok(()),
        Err(Errno::PERM) if leads_session() => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn leads_session() -> bool {
    super::process::own_session() == Some(rustix::process::getpid())
}

fn place(standard: [BorrowedFd<'_>; 3]) -> Result<(), Errno> {
    let [stdin, stdout, stderr] = standard;
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)
}
