//! Which version a backend's program is: asked once for each binary, contained and bounded.

use std::path::Path;
use std::time::Duration;

use dcli_core::executor::record::Record;
use semver::Version;

use super::brief::Brief;
use super::host::Host;
use crate::backend::program::find;
use crate::store::versions;

/// The most time that a program gets to print its version. Measured: 1.5 s quiet, 4.2 s under load.
const LIMIT: Duration = Duration::from_secs(20);

/// The version of the program at `path`, if it was asked before and is still the same file.
pub(super) fn cached(record: &Record, path: &Path) -> Option<String> {
    if record.version.args.is_empty() { None } else { versions::recall(path) }
}

/// What was found of a backend on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program, or why there is none.
    pub program: Result<std::path::PathBuf, String>,
    /// Its version.
    pub version: Option<String>,
}

/// Looks for the record's program and asks it for its version, unless it was asked before.
#[must_use]
pub fn look(host: &Host, record: &Record) -> Found {
    let search = host.variable("PATH").map(|value| value.as_os_str());
    let program = match find(record.command.as_ref(), search, &record.native_executable) {
        Ok(program) => program.path,
        Err(error) => return Found { program: Err(error.to_string()), version: None },
    };
    let version = known(host, record, &program);
    Found { program: Ok(program), version }
}

/// The version of the program at `path`: it is asked unless it was asked before.
pub(super) fn known(host: &Host, record: &Record, path: &Path) -> Option<String> {
    cached(record, path).or_else(|| {
        let version = ask(host, record, path)?;
        // The cache only saves time; without it the next look asks again.
        let _ = versions::remember(path, &version);
        Some(version)
    })
}

fn ask(host: &Host, record: &Record, program: &Path) -> Option<String> {
    if record.version.args.is_empty() {
        return None;
    }
    let brief = Brief {
        program,
        args: &record.version.args,
        environment: &record.environment,
        backend: Some(&record.id),
        limit: LIMIT,
    };
    let said = host.run_briefly(&brief).ok()?;
    first_version(&said.stdout).or_else(|| first_version(&said.stderr))
}

/// The first word that is a version, with or without a leading `v`.
fn first_version(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '/'));
    let mut versions = words.map(|word| word.trim_start_matches('v'));
    versions.find(|word| word.parse::<Version>().is_ok()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_each_cli_prints() {
        assert_eq!(first_version("2.1.197 (Claude Code)\n").as_deref(), Some("2.1.197"));
        assert_eq!(first_version("codex-cli 0.171.0\n").as_deref(), Some("0.171.0"));
        assert_eq!(first_version("1.18.33\n").as_deref(), Some("1.18.33"));
        assert_eq!(first_version("v3.0.0-beta.1"), Some("3.0.0-beta.1".into()));
        assert_eq!(first_version("no version here, 12"), None);
    }
}
