//! A checkout that only its owner may enter hides programs and CLIs from the ordinary user whom
//! root's tests become. The check then runs again in a mount namespace of its own, where the same
//! checkout is bound to a place that everybody may enter.

use std::fs::{DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set in the run inside, so that it does not go further in.
const INSIDE: &str = "DCLI_CHECK_INSIDE";
/// Enter and read, for everybody else.
const OPEN: u32 = 0o005;

/// Runs the check where everybody may enter, if it is not there already.
///
/// Returns what came of it; `None` where the check can go on here: nobody but the caller takes
/// part, everybody may enter, or there is nowhere else (the tests then say which directory it is).
pub(crate) fn check_elsewhere(root: &Path) -> Option<ExitCode> {
    if !rustix::process::geteuid().is_root() || std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let closed = first_closed(root)?;
    println!("{} is closed to ordinary users, who take part in the tests.", closed.display());
    if closed == root && !open(root) {
        return None;
    }
    let stage = make_stage(root)?;
    println!("The check runs at {}, where the same checkout is bound.", stage.display());
    let mut inside = Command::new("unshare");
    inside
        .args(["--mount", "--propagation", "private", "sh", "-c"])
        .args([r#"mount --bind "$1" "$2" && cd "$2" && exec cargo xtask check"#, "sh"])
        .args([root, &stage])
        .env(INSIDE, "1");
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        // Programs remember the directory they were built in: each place has its own builds.
        inside.env("CARGO_TARGET_DIR", stage.join("target/elsewhere"));
    }
    let status = inside.status();
    // It may be left behind empty; nothing depends on it.
    let _ = std::fs::remove_dir(&stage);
    match status {
        Ok(status) if status.success() => Some(ExitCode::SUCCESS),
        Ok(_) => Some(ExitCode::FAILURE),
        Err(error) => {
            println!("cannot run unshare: {error}");
            None
        }
    }
}

/// The outermost directory on the way to `root`, or `root` itself, that others may not enter.
fn first_closed(root: &Path) -> Option<PathBuf> {
    let ancestors: Vec<&Path> = root.ancestors().collect();
    let closed = |path: &&&Path| path.metadata().is_ok_and(|m| m.permissions().mode() & 1 == 0);
    ancestors.iter().rev().find(closed).map(|path| path.to_path_buf())
}

/// In CI the checkout is nobody's but the run's: it is opened. Elsewhere that is its owner's choice.
fn open(root: &Path) -> bool {
    if std::env::var_os("CI").is_none() {
        println!("Open it to them, if you like: chmod o+rx {}", root.display());
        return false;
    }
    let opened = root.metadata().and_then(|found| {
        let mode = found.permissions().mode() | OPEN;
        std::fs::set_permissions(root, Permissions::from_mode(mode))
    });
    opened.is_ok()
}

/// The same place for the same checkout, so that what was built there is found again.
fn make_stage(root: &Path) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    let stage = std::env::temp_dir().join(format!("dcli-check-{:016x}", hasher.finish()));
    let made = match DirBuilder::new().mode(0o755).create(&stage) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_ours(&stage) => Ok(()),
        other => other,
    };
    match made {
        Ok(()) if first_closed(&stage).is_none() => Some(stage),
        Ok(()) => {
            println!("{} is closed too", stage.display());
            None
        }
        Err(error) => {
            println!("cannot make {}: {error}", stage.display());
            None
        }
    }
}

/// A directory, no link, that nobody but root may change.
fn is_ours(stage: &Path) -> bool {
    let found = stage.symlink_metadata();
    found.is_ok_and(|found| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_directory_on_the_way_is_found_and_an_open_way_is_not() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        assert_eq!(first_closed(&inner).as_deref(), Some(directory.path()));
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
        assert_eq!(first_closed(&inner), first_closed(&std::env::temp_dir()));
    }
}
