//! Licences, bans and sources of all dependencies, by a pinned cargo-deny.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::Error;
use crate::workspace::Workspace;

/// The version that deny.toml was written for.
const VERSION: &str = "0.20.2";

/// Runs cargo-deny, after building it if no copy of the pinned version is at hand.
///
/// # Errors
/// When it cannot be had, or finds something.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let program = obtain(workspace)?;
    let mut deny = Command::new(program);
    deny.args(["check", "licenses", "bans", "sources"]).current_dir(&workspace.root);
    command::run(&mut deny)
}

/// A copy on the search path serves if it is exactly the pinned version; advisories are never
/// checked, since they need a network at each run.
fn obtain(workspace: &Workspace) -> Result<PathBuf, Error> {
    let tools = workspace.target.join("tools");
    let ours = tools.join("bin").join("cargo-deny");
    let at_hand = [ours.clone(), PathBuf::from("cargo-deny")];
    if let Some(found) = at_hand.into_iter().find(|program| is_pinned(program)) {
        return Ok(found);
    }
    println!("building cargo-deny {VERSION}, once; this takes some minutes");
    let mut install = workspace.cargo();
    install.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--root"]).arg(&tools);
    command::run(&mut install)?;
    Ok(ours)
}

fn is_pinned(program: &Path) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|output| names_version(&String::from_utf8_lossy(&output.stdout)))
}

fn names_version(said: &str) -> bool {
    said.split_whitespace().nth(1) == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_version_serves() {
        assert!(names_version(&format!("cargo-deny {VERSION}\n")));
        assert!(!names_version("cargo-deny 0.20.1\n"));
        assert!(!names_version(""));
        assert!(!is_pinned(Path::new("/nowhere/cargo-deny")));
    }
}
