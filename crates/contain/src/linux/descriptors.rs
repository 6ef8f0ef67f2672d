//! Turning a launch into what travels: checked descriptors and one sealed memory file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, MemfdFlags, SealFlags, fcntl_add_seals, fstat, memfd_create};

use super::mark::Mark;
use super::target::Parcel;
use super::wire::{Failure, Stage, TargetWriter};
use crate::error::StartError;
use crate::kind::Kind;
use crate::launch::{Input, Launch};

/// A launch ready to be handed over.
pub(crate) struct Prepared {
    pub(crate) parcel: Parcel,
    pub(crate) names: Names,
}

/// What error messages call the parts of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) kind: Kind,
    program: PathBuf,
    cwd: PathBuf,
    stdin: String,
}

impl Names {
    /// The error that a failed step means to the caller.
    pub(crate) fn explain(&self, failure: Failure) -> StartError {
        let source = io::Error::from_raw_os_error(failure.errno);
        match failure.stage {
            Stage::Program => StartError::Program { path: self.program.clone(), source },
            Stage::Directory => StartError::Directory { path: self.cwd.clone(), source },
            Stage::Stdin => StartError::Stdin { input: self.stdin.clone(), source },
            Stage::Isolation if is_refusal(failure.errno) => StartError::Unsupported {
                kind: self.kind,
                reason: format!("{}: {source}", failure.operation),
            },
            Stage::Isolation | Stage::Init => {
                StartError::Init { operation: failure.operation, source }
            }
        }
    }
}

/// Where namespaces are refused the error differs by cause: a sysctl, a limit, an LSM, a masked /proc.
fn is_refusal(errno: i32) -> bool {
    let refusals = [
        libc::EPERM,
        libc::EACCES,
        libc::ENOSPC,
        libc::EUSERS,
        libc::EINVAL,
        libc::ENOSYS,
        libc::EOPNOTSUPP,
    ];
    refusals.contains(&errno)
}

/// Checks `launch` and packs it. `mark` is added to the target's environment.
pub(crate) fn prepare(launch: Launch, mark: Option<&Mark>) -> Result<Prepared, StartError> {
    reject_directory("output", &launch.stdout)?;
    reject_directory("error", &launch.stderr)?;
    reject_nul(&launch)?;
    let names = Names {
        kind: launch.kind,
        program: launch.program.clone(),
        cwd: launch.cwd.clone(),
        stdin: name_of(&launch.stdin),
    };
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|source| internal("find the current directory", source))
    };
    let mut writer = TargetWriter::default();
    writer.path(&absolute(&launch.program)?).path(&absolute(&launch.cwd)?);
    let stdin = match launch.stdin {
        Input::Null => None,
        Input::File(path) => {
            writer.path(&absolute(&path)?);
            None
        }
        Input::Descriptor(given) => Some(accept_input(given)?),
    };
    if stdin.is_some() || names.stdin.is_empty() {
        writer.text(b"");
    }
    let arg0 = launch.arg0.as_deref().unwrap_or(launch.program.as_os_str());
    write_lists(&mut writer, arg0, &launch.args, &launch.env, mark);
    let target = seal(&writer.finish()).map_err(|source| internal("seal the target", source))?;
    let parcel = Parcel { target, stdout: launch.stdout, stderr: launch.stderr, stdin };
    Ok(Prepared { parcel, names })
}

fn name_of(input: &Input) -> String {
    match input {
        Input::Null => String::new(),
        Input::File(path) => path.display().to_string(),
        Input::Descriptor(_) => "descriptor".to_owned(),
    }
}

pub(crate) fn internal(operation: &str, source: io::Error) -> StartError {
    StartError::Init { operation: operation.to_owned(), source }
}

fn write_lists(
    writer: &mut TargetWriter,
    arg0: &OsStr,
    args: &[OsString],
    env: &[(OsString, OsString)],
    mark: Option<&Mark>,
) {
    writer.count(args.len() + 1).text(arg0.as_bytes());
    for arg in args {
        writer.text(arg.as_bytes());
    }
    let kept = env.iter().filter(|(name, _)| mark.is_none() || !Mark::is_name(name));
    let entries = kept.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let entries: Vec<Vec<u8>> = entries.chain(mark.map(|mark| mark.entry().into_bytes())).collect();
    writer.count(entries.len());
    for entry in entries {
        writer.text(&entry);
    }
}

fn seal(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"target", flags)?);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok(file.into())
}

fn reject_directory(stream: &'static str, descriptor: &OwnedFd) -> Result<(), StartError> {
    let refused = |source: io::Error| StartError::Output { stream, source };
    let stat = fstat(descriptor).map_err(|errno| refused(errno.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Err(refused(io::ErrorKind::IsADirectory.into())),
        FileType::BlockDevice => Err(refused(io::ErrorKind::InvalidInput.into())),
        _ => Ok(()),
    }
}

/// A directory would lead out through `/proc/self/fd/0/…`, a terminal back to the user's.
fn accept_input(descriptor: OwnedFd) -> Result<OwnedFd, StartError> {
    let refused = |source: io::Error| StartError::Stdin { input: "descriptor".to_owned(), source };
    let stat = fstat(&descriptor).map_err(|errno| refused(errno.into()))?;
    let null = || rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Fifo | FileType::Socket => Ok(descriptor),
        FileType::CharacterDevice if null() => Ok(descriptor),
        FileType::Directory => Err(refused(io::ErrorKind::IsADirectory.into())),
        _ => Err(refused(io::ErrorKind::InvalidInput.into())),
    }
}

fn reject_nul(launch: &Launch) -> Result<(), StartError> {
    let clean = |text: &OsStr| !text.as_bytes().contains(&0);
    let check = |ok: bool, fault: &'static str, what: &dyn Fn() -> String| {
        if ok { Ok(()) } else { Err(StartError::Argument { what: what(), fault }) }
    };
    check(clean(launch.program.as_os_str()), "a NUL byte", &|| "the program's path".to_owned())?;
    check(clean(launch.cwd.as_os_str()), "a NUL byte", &|| "the directory's path".to_owned())?;
    if let Input::File(path) = &launch.stdin {
        check(clean(path.as_os_str()), "a NUL byte", &|| "the input's path".to_owned())?;
    }
    for (index, arg) in launch.arg0.iter().chain(&launch.args).enumerate() {
        let first = usize::from(launch.arg0.is_none());
        check(clean(arg), "a NUL byte", &|| format!("argument {}", index + first))?;
    }
    for (name, value) in &launch.env {
        let what = || format!("environment variable {}", name.display());
        check(clean(name) && clean(value), "a NUL byte", &what)?;
        check(!name.as_bytes().contains(&b'='), "an equals sign in its name", &what)?;
    }
    Ok(())
}

/// Sends what was prepared. The order of descriptors is that of [`Parcel::from_descriptors`].
pub(crate) fn in_order(parcel: &Parcel) -> Vec<std::os::fd::BorrowedFd<'_>> {
    let fixed = [parcel.target.as_fd(), parcel.stdout.as_fd(), parcel.stderr.as_fd()];
    fixed.into_iter().chain(parcel.stdin.as_ref().map(AsFd::as_fd)).collect()
}
