//! The README's first command, as it stands there: it has to end well and show its four scenes.

use std::path::Path;
use std::process::Command;

use dcli_testkit::evidence::Row;

use crate::error::Error;
use crate::workspace::Workspace;
use crate::{command, evidence};

/// Begins the line that says what came of a scene.
const STATUS: &str = "status ";
/// What comes of each scene: a run that succeeds, one cut short, one that never comes back, a job.
const SCENES: [&str; 4] = [
    "ok, exit code 0",
    "executorOutputTruncated, exit code 26",
    "executorTimedOut, exit code 24",
    "done, exit code 0",
];

/// Runs the command and keeps its row.
///
/// # Errors
/// When the README has no such command, it cannot be run, it fails, or a scene is missing.
pub(crate) fn show(workspace: &Workspace, rows: &Path) -> Result<(), Error> {
    let path = workspace.root.join("README.md");
    let readme = std::fs::read_to_string(&path).map_err(|source| Error::File {
        operation: "read",
        path,
        source,
    })?;
    let (program, arguments) = first_command(&readme).ok_or(Error::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workspace.root);
    let mut said = Vec::new();
    let ended = command::follow(&mut command, |line| said.extend(outcome(line)));
    let ending = ended.as_ref().map_or_else(ToString::to_string, |()| "exit 0".to_owned());
    let shown = said == SCENES;
    let observed = format!("{ending}: {}", said.join("; "));
    let red = ended.is_err() || !shown;
    evidence::keep(&Row { observed, red, ..Row::of("1", "demo") }, rows)?;
    ended?;
    if shown { Ok(()) } else { Err(Error::Scenes(said.join("; "))) }
}

/// The first line of the first shell block: a program and its arguments.
fn first_command(readme: &str) -> Option<(&str, Vec<&str>)> {
    let (_, block) = readme.split_once("\n```sh\n")?;
    let mut words = block.lines().next()?.split_whitespace();
    Some((words.next()?, words.collect()))
}

/// `ok, exit code 0` of `   status ok, exit code 0: I wrote greeting.txt.`
fn outcome(line: &str) -> Option<String> {
    let (outcome, _) = line.trim_start().strip_prefix(STATUS)?.split_once(": ")?;
    Some(outcome.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_of_the_readme_is_the_demonstration() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        let readme = std::fs::read_to_string(readme).unwrap();
        let (program, arguments) = first_command(&readme).unwrap();
        assert_eq!((program, arguments.join(" ").as_str()), ("cargo", "run -p dcli -- demo"));
        assert_eq!(first_command("no block"), None);
    }

    #[test]
    fn only_the_line_of_an_outcome_tells_one() {
        let told = outcome("   status ok, exit code 0: I wrote greeting.txt.");
        assert_eq!(told.as_deref(), Some(SCENES[0]));
        assert_eq!(outcome("    · tool shell: sleep 600"), None);
        assert_eq!(outcome("status unknown"), None);
    }
}
