//! Which file a record's command is: looked for in PATH, and followed from a script that only
//! spawns the real executable to that executable.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file that is executed.
    pub path: PathBuf,
    /// True where a script was found and the real executable behind it was not: killing the script
    /// alone would leave it running (containment still ends it).
    pub is_wrapper: bool,
}

/// No program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ProgramError {
    #[error("no program called {command:?} in PATH; looked in {looked}")]
    NotInPath { command: String, looked: String },
    #[error("{path} does not exist", path = path.display())]
    Missing { path: PathBuf },
    #[error("{path} is not an executable file", path = path.display())]
    NotExecutable { path: PathBuf },
}

/// Finds `command`. A bare name is looked for in the absolute directories of `search` (the value of
/// PATH): a relative entry would let a repository supply the program. Anything with a slash is
/// taken relative to the caller's own directory.
pub(crate) fn find(
    command: &OsStr,
    search: Option<&OsStr>,
    native: &[String],
) -> Result<Program, ProgramError> {
    let path = if Path::new(command).components().count() > 1 || Path::new(command).is_absolute() {
        given(Path::new(command))?
    } else {
        searched(command, search)?
    };
    Ok(followed(path, native))
}

fn given(path: &Path) -> Result<PathBuf, ProgramError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if !path.exists() {
        return Err(ProgramError::Missing { path });
    }
    if is_executable(&path) { Ok(path) } else { Err(ProgramError::NotExecutable { path }) }
}

fn searched(command: &OsStr, search: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let entries: Vec<PathBuf> = search.map(std::env::split_paths).into_iter().flatten().collect();
    let absolute = || entries.iter().filter(|entry| entry.is_absolute());
    let found = absolute().map(|entry| entry.join(command)).find(|path| is_executable(path));
    found.ok_or_else(|| {
        let looked: Vec<String> = absolute().map(|entry| entry.display().to_string()).collect();
        ProgramError::NotInPath {
            command: command.to_string_lossy().into_owned(),
            looked: if looked.is_empty() { "no directory".to_owned() } else { looked.join(":") },
        }
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// From a script to the executable that its package ships, where the record says where that lies.
fn followed(path: PathBuf, native: &[String]) -> Program {
    if native.is_empty() || !is_script(&path) {
        return Program { path, is_wrapper: false };
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let packages = real.ancestors().skip(1).take(3);
    let candidates = packages.flat_map(|package| native.iter().map(|below| package.join(below)));
    match candidates.into_iter().find(|candidate| is_executable(candidate)) {
        Some(found) => Program { path: found.canonicalize().unwrap_or(found), is_wrapper: false },
        None => Program { path, is_wrapper: true },
    }
}

fn is_script(path: &Path) -> bool {
    let mut start = [0_u8; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"#!"
}
