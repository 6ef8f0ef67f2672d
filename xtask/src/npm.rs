//! The real coding CLIs and the schema validator: installed from the lock file of their directory, once
//! per lock file.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::Error;

/// A copy of the lock file that the installed tree was made from. `npm ci` removes the whole tree
/// first, so an installation that was broken off leaves none.
const STAMP: &str = "node_modules/.installed-lock.json";

/// Runs `npm ci` in the directory, unless what is installed comes from this very lock file.
///
/// # Errors
/// When npm fails, or a file cannot be read or written.
pub(crate) fn install(directory: &Path) -> Result<(), Error> {
    if is_current(directory)? {
        println!("{} is installed from this lock file", directory.join("node_modules").display());
        return Ok(());
    }
    command::run(Command::new("npm").arg("ci").current_dir(directory))?;
    let stamp = directory.join(STAMP);
    std::fs::copy(directory.join("package-lock.json"), &stamp).map_err(|source| Error::File {
        operation: "write",
        path: stamp,
        source,
    })?;
    Ok(())
}

fn is_current(directory: &Path) -> Result<bool, Error> {
    let path = directory.join("package-lock.json");
    let lock =
        std::fs::read(&path).map_err(|source| Error::File { operation: "read", path, source })?;
    Ok(std::fs::read(directory.join(STAMP)).is_ok_and(|stamp| stamp == lock))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"{"name": "empty", "version": "0.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "empty", "version": "0.0.0"}}}"#;

    #[test]
    fn an_installation_serves_until_its_lock_file_changes() {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("package.json", r#"{"name": "empty", "version": "0.0.0"}"#);
        write("package-lock.json", LOCK);
        std::fs::create_dir(directory.path().join("node_modules")).unwrap();
        assert!(!is_current(directory.path()).unwrap());
        write(STAMP, LOCK);
        assert!(is_current(directory.path()).unwrap());
        write("package-lock.json", &LOCK.replace("0.0.0", "0.0.1"));
        assert!(!is_current(directory.path()).unwrap());
    }

    #[test]
    fn a_directory_without_a_lock_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(install(directory.path()), Err(Error::File { operation: "read", .. })));
    }
}
