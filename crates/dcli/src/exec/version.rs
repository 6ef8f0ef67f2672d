//! Which version a backend's program is: asked once for each binary, contained and bounded.

use std::path::Path;
use std::time::Duration;

use dcli_contain::{Input, Kind, Launch, Requirement};
use dcli_core::executor::record::Record;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use super::host::Host;
use crate::backend::environment::{Inherit, Recipe, environment};
use crate::backend::program::find;
use crate::backend::spawn::Running;
use crate::store::versions;
use crate::supervise::capture::Captures;

/// The most time that a program gets to print its version. Measured: 1.5 s quiet, 4.2 s under load.
const LIMIT: Duration = Duration::from_secs(20);
/// The most bytes that are read of it.
const CAP: u64 = 64 * 1024;

/// How a version stands to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The record was tested with it.
    Tested,
    /// Inside the supported range.
    InRange,
    /// Outside the supported range.
    OutOfRange,
    /// Known not to work.
    KnownBad,
    /// Not known.
    Unknown,
}

/// How `version` stands to `record`.
#[must_use]
pub fn standing(record: &Record, version: Option<&str>) -> Standing {
    let rule = &record.version;
    let Some(version) = version.and_then(|text| text.parse::<Version>().ok()) else {
        return Standing::Unknown;
    };
    let named = |list: &[String]| list.iter().any(|known| *known == version.to_string());
    if named(&rule.known_bad) {
        Standing::KnownBad
    } else if named(&rule.tested) {
        Standing::Tested
    } else {
        match rule.supported.parse::<VersionReq>() {
            Ok(range) if !range.matches(&version) => Standing::OutOfRange,
            _ => Standing::InRange,
        }
    }
}

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
    let cwd = std::env::temp_dir().canonicalize().ok()?;
    let native = dcli_core::executor::record::Native::default();
    let recipe = Recipe {
        ambient: &host.ambient,
        inherit: &Inherit::All,
        record: &record.environment,
        access: &native,
        explicit: &[],
        stamps: &host.lineage.stamps(Some(&record.id), None),
        cwd: &cwd,
    };
    let mut captures = Captures::new().ok()?;
    let (stdout, stderr) = captures.writers().ok()?;
    let mut launch = Launch {
        program: program.to_owned(),
        args: record.version.args.iter().map(Into::into).collect(),
        arg0: None,
        env: environment(&recipe),
        cwd,
        stdin: Input::Null,
        stdout,
        stderr,
        kind: Kind::PidNamespace,
    };
    launch.kind = host.spawn.support().choose(&Requirement::BestAvailable).ok()?.kind;
    let run = host.spawn.start(launch).ok()?;
    wait_bounded(&*run);
    let mut text = Vec::new();
    captures.stdout.read(CAP, |bytes| text.extend_from_slice(bytes)).ok()?;
    captures.stderr.read(CAP, |bytes| text.extend_from_slice(bytes)).ok()?;
    first_version(&String::from_utf8_lossy(&text))
}

fn wait_bounded(run: &dyn Running) {
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(sender.send(run.wait_leader())));
        let _ = ended.recv_timeout(LIMIT);
        run.end();
    });
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
