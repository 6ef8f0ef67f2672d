//! Which repository a directory belongs to, read from `.git` alone: no git is run, so nothing that
//! a repository configures can run either.

use std::path::{Path, PathBuf};

use dcli_core::job::id::RepoKey;
use sha2::{Digest, Sha256};

use crate::store::regular;

/// Where a job works, as far as repositories go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its key: linked worktrees of one repository share it.
    pub key: RepoKey,
    /// The root of the working tree; `None` outside a repository and in a bare one.
    pub root: Option<PathBuf>,
}

impl Repository {
    /// The repository that `directory` lies in; `directory` itself is the key outside one.
    #[must_use]
    pub fn of(directory: &Path) -> Self {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        for ancestor in directory.ancestors() {
            if let Some(common) = common_directory(&ancestor.join(".git")) {
                return Self { key: key(&common), root: Some(ancestor.to_owned()) };
            }
            if is_git_directory(ancestor) {
                return Self { key: key(ancestor), root: None };
            }
        }
        Self { key: key(&directory), root: None }
    }
}

fn key(directory: &Path) -> RepoKey {
    use std::os::unix::ffi::OsStrExt;
    RepoKey::from_digest(Sha256::digest(directory.as_os_str().as_bytes()).into())
}

/// The common git directory behind `.git`: itself, or what a linked worktree's file leads to
/// (gitrepository-layout(5): `gitdir: PATH`, then the file `commondir` in it).
fn common_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let text = regular::read_text(dot_git).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let own = dot_git.parent()?.join(named).canonicalize().ok()?;
    match regular::read_text(&own.join("commondir")) {
        Ok(common) => own.join(common.trim()).canonicalize().ok(),
        Err(_) => Some(own),
    }
}

/// What git itself takes for a repository: `HEAD`, `objects` and `refs`.
fn is_git_directory(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(directory: &Path, words: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=n", "-c", "user.email=e@e"]).args(words);
        let ran = command.current_dir(directory).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    #[test]
    fn linked_worktrees_and_subdirectories_share_a_key_and_other_directories_do_not() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let main = place.join("main");
        std::fs::create_dir_all(main.join("deep/er")).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "m"]);
        git(&main, &["worktree", "add", "-q", "../linked"]);
        git(&place, &["clone", "-q", "--bare", "main", "bare.git"]);
        let of = |name: &str| Repository::of(&place.join(name));
        assert_eq!(of("main").root, Some(main.clone()));
        assert_eq!(of("main/deep/er"), of("main"));
        assert_eq!(of("linked").key, of("main").key);
        assert_eq!(of("linked").root, Some(place.join("linked")));
        assert_eq!(of("bare.git").root, None);
        assert_ne!(of("bare.git").key, of("main").key);
        assert_eq!(of(".").root, None);
        assert_ne!(of(".").key, of("main").key);
    }
}
