//! One line that says with what a run was made: versions, system, user.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::Error;

/// Prints the versions of everything that a run needs.
///
/// # Errors
/// When one of the programs is missing.
pub(crate) fn print() -> Result<(), Error> {
    let asked = [
        ("rustc", "--version"),
        ("cargo", "--version"),
        ("git", "--version"),
        ("node", "--version"),
        ("npm", "--version"),
        ("uname", "-srm"),
    ];
    let mut said = Vec::new();
    for (program, flag) in asked {
        let version = command::output_of(Command::new(program).arg(flag))?;
        let version = version.lines().next().unwrap_or_default().trim().to_owned();
        let named = version.starts_with(program) || program == "uname";
        said.push(if named { version } else { format!("{program} {version}") });
    }
    println!("{} · uid {}", said.join(" · "), uid()?);
    Ok(())
}

/// The user that this program runs as.
///
/// # Errors
/// When /proc is not there.
pub(crate) fn uid() -> Result<u32, Error> {
    let path = Path::new("/proc/self");
    let found = std::fs::metadata(path).map_err(|source| Error::File {
        operation: "look at",
        path: path.to_owned(),
        source,
    })?;
    Ok(found.uid())
}
