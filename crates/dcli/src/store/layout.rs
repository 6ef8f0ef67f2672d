//! Every directory and file name below the state root and the configuration directory.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The state root: `DCLI_STATE_ROOT`, else `$XDG_STATE_HOME/dcli`, else `~/.local/state/dcli`.
///
/// # Errors
/// Neither variable is set to an absolute path and there is no home directory.
pub fn state_root() -> io::Result<PathBuf> {
    let own = absolute("DCLI_STATE_ROOT");
    own.or_else(|| absolute("XDG_STATE_HOME").map(|base| base.join("dcli")))
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state/dcli")))
        .ok_or_else(|| no_directory("DCLI_STATE_ROOT, XDG_STATE_HOME and HOME"))
}

/// `DCLI_STATE_ROOT`, where it points into the working tree that `directory` lies in: a run there
/// would work on dcli's own records.
#[must_use]
pub fn state_root_inside(directory: &Path) -> Option<PathBuf> {
    let root = absolute("DCLI_STATE_ROOT")?;
    let is_tree = |ancestor: &&Path| ancestor.join(".git").exists();
    let tree = directory.ancestors().find(is_tree).unwrap_or(directory);
    // The root itself need not be there yet.
    let resolved = root.ancestors().find_map(|ancestor| {
        let below = root.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(below))
    });
    resolved.is_some_and(|resolved| resolved.starts_with(tree)).then_some(root)
}

/// The configuration directory: `$XDG_CONFIG_HOME/dcli`, else `~/.config/dcli`.
#[must_use]
pub fn configuration() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME");
    base.or_else(|| absolute("HOME").map(|home| home.join(".config"))).map(|base| base.join("dcli"))
}

/// Where one-shot runs capture when TMPDIR cannot be written; made if it is missing.
///
/// # Errors
/// It cannot be made.
pub fn exec_directory() -> io::Result<PathBuf> {
    let directory = state_root()?.join("exec");
    make_private(&directory)?;
    Ok(directory)
}

/// The cache of version probes.
///
/// # Errors
/// There is no state root.
pub fn versions() -> io::Result<PathBuf> {
    state_root().map(|root| root.join("versions.json"))
}

/// Makes a directory and its parents, for the owner alone (mode 0700).
///
/// # Errors
/// It cannot be made.
pub fn make_private(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn no_directory(names: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("none of {names} names a directory"))
}
