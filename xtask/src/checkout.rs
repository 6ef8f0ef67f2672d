//! Which checkout a run was of: its commit, and whether anything in it differs from that. Says; it
//! judges nothing.

use std::path::Path;
use std::process::Command;

use dcli_testkit::evidence::Row;

use crate::error::Error;
use crate::{command, evidence};

/// Keeps the row that says it.
///
/// # Errors
/// When the row cannot be written.
pub(crate) fn show(root: &Path, rows: &Path) -> Result<(), Error> {
    let git = |arguments: &[&str]| {
        command::output_of(Command::new("git").args(arguments).current_dir(root)).ok()
    };
    let commit = git(&["rev-parse", "HEAD"]);
    let status = git(&["status", "--porcelain"]);
    let observed = described(commit.as_deref(), status.as_deref());
    println!("{observed}");
    evidence::keep(&Row { observed, ..Row::of("1", "fresh-clone") }, rows)
}

/// In words, from what git answered to either question.
fn described(commit: Option<&str>, status: Option<&str>) -> String {
    let Some(commit) = commit.map(str::trim) else { return "git names no commit here".to_owned() };
    match status.map(|status| status.lines().count()) {
        Some(0) => format!("commit {commit}, as it was cloned"),
        Some(count) => format!("commit {commit}, NOT as it was cloned: {count} paths differ"),
        None => format!("commit {commit}, and git does not say whether anything differs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_unknown_file_is_said() {
        assert_eq!(described(Some("c0ffee\n"), Some("")), "commit c0ffee, as it was cloned");
        let changed = described(Some("c0ffee\n"), Some(" M a\n?? b\n"));
        assert_eq!(changed, "commit c0ffee, NOT as it was cloned: 2 paths differ");
        assert!(described(Some("c0ffee"), None).contains("does not say"));
        assert_eq!(described(None, Some("")), "git names no commit here");
    }
}
