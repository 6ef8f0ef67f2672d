//! Where things are kept: the state root, the temporary directory, and the space there is.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dcli_core::doctor::{Check, CheckStatus};

use crate::config;
use crate::store::layout;
use crate::store::root::{FORMAT, RootError, StateRoot};
use crate::supervise::capture::FREE_FLOOR;

const ROOT: &str = "state root";
/// Less free space than this is soon used up by what backends print: 1 GiB.
const SPACE: u64 = 1 << 30;

pub(super) fn checks(directory: &Path) -> Vec<Check> {
    let root = layout::state_root();
    let space = match &root {
        Ok(root) => space(root),
        Err(_) => Check::skipped("disk_space", DISK, "there is no state root"),
    };
    vec![root.map_or_else(homeless, |root| state_root(&root, directory)), space, temporary()]
}

fn homeless(error: io::Error) -> Check {
    let error = RootError::Nowhere(error);
    Check::ok("state_root", ROOT, error.to_string()).but(CheckStatus::Failed, error.remedy())
}

/// Right place, nobody else's, in a format that this dcli writes, and writable.
fn state_root(root: &Path, directory: &Path) -> Check {
    let failed = |seen: String, remedy: &str| {
        Check::ok("state_root", ROOT, seen).but(CheckStatus::Failed, remedy)
    };
    let project = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    if let Err(error) = config::state_outside(&project) {
        return failed(error.to_string(), "set DCLI_STATE_ROOT to a directory outside of it");
    }
    match usable(root) {
        Ok(()) => seen_by_others(root),
        Err(error) => failed(error.to_string(), &error.remedy()),
    }
}

/// A file is made to find out, and where the root is not there yet, in the directory that it would
/// be made in.
fn usable(root: &Path) -> Result<(), RootError> {
    let opened = StateRoot::reading(root.to_owned())?;
    if opened.format() > FORMAT {
        return Err(RootError::NewerFormat { root: root.to_owned(), found: opened.format() });
    }
    match tempfile::tempfile_in(nearest(root)) {
        Ok(_) => Ok(()),
        Err(source) => Err(RootError::NotWritable { root: root.to_owned(), source }),
    }
}

fn seen_by_others(root: &Path) -> Check {
    let shown = root.display();
    let check = |seen: String| Check::ok("state_root", ROOT, seen);
    match root.metadata().map(|found| found.permissions().mode() & 0o077) {
        Err(_) => check(format!("{shown}, made by the first job")),
        Ok(0) => check(format!("{shown}, writable, yours alone")),
        Ok(_) => check(format!("{shown} can be read by others"))
            .but(CheckStatus::Warning, format!("chmod 700 {shown}")),
    }
}

const DISK: &str = "free disk space";

fn space(root: &Path) -> Check {
    let place = nearest(root);
    let free = match rustix::fs::statvfs(&place) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => {
            let seen = format!("{}: {error}", place.display());
            return Check::ok("disk_space", DISK, seen)
                .but(CheckStatus::Warning, "see the check of the state root");
        }
    };
    let seen = format!("{} MiB beside the state root", free >> 20);
    let check = Check::ok("disk_space", DISK, seen);
    let remedy = "free some, or see 'dcli cleanup --dry-run'";
    match free {
        0..=FREE_FLOOR => check.but(CheckStatus::Failed, remedy),
        free if free < SPACE => check.but(CheckStatus::Warning, remedy),
        _ => check,
    }
}

/// One-shot runs capture there; jobs and runs without it use the state root.
fn temporary() -> Check {
    let place = std::env::temp_dir();
    let title = "temporary directory";
    match tempfile::tempfile_in(&place) {
        Ok(_) => Check::ok("tmpdir", title, format!("{}, writable", place.display())),
        Err(error) => {
            let seen = format!("{} cannot be written: {error}", place.display());
            let remedy = "set TMPDIR to a directory that you can write";
            Check::ok("tmpdir", title, seen).but(CheckStatus::Warning, remedy)
        }
    }
}

/// `path`, or the nearest directory above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|ancestor| ancestor.exists());
    there.unwrap_or(Path::new("/")).to_owned()
}
