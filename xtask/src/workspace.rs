//! Where things are: the root, the target directory, and the names of the integration tests.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::command;
use crate::error::Error;

/// Integration tests whose file name starts so run real CLIs, and need them installed.
const LIVE_PREFIXES: [&str; 2] = ["live_", "real_"];

/// The workspace, as cargo describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Integration tests, apart by what they need.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IntegrationTests {
    pub(crate) scripted: Vec<String>,
    pub(crate) live: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo fails or its answer has another shape.
    pub(crate) fn find() -> Result<Self, Error> {
        // As cargo runs it now: the same build may be run from another place of the same checkout.
        let now = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let here = now.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(here);
        Self::read(&command::output_of(&mut cargo)?)
    }

    fn read(metadata: &str) -> Result<Self, Error> {
        let shape = |source| Error::Shape { what: "cargo metadata".to_owned(), source };
        serde_json::from_str(metadata).map_err(shape)
    }

    /// A cargo command at the root.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.root);
        cargo
    }

    /// A cargo command at the root, for tests: signals that this process was started to ignore
    /// (nohup, a background job of a script) would be ignored by every program under test too.
    pub(crate) fn cargo_for_tests(&self) -> Command {
        let mut cargo = Command::new("env");
        cargo.args(["--default-signal=HUP,INT,QUIT,TERM", "cargo"]).current_dir(&self.root);
        cargo
    }

    /// The integration tests of all packages.
    pub(crate) fn integration_tests(&self) -> IntegrationTests {
        let targets = self.packages.iter().flat_map(|package| &package.targets);
        let tests = targets.filter(|target| target.kind.iter().any(|kind| kind == "test"));
        let mut found = IntegrationTests::default();
        for target in tests {
            let live = LIVE_PREFIXES.iter().any(|prefix| target.name.starts_with(prefix));
            let names = if live { &mut found.live } else { &mut found.scripted };
            names.push(target.name.clone());
        }
        for names in [&mut found.scripted, &mut found.live] {
            names.sort();
            names.dedup();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_tests_are_told_by_their_names() {
        let metadata = r#"{"workspace_root": "/r", "target_directory": "/t", "other": 1, "packages": [
            {"targets": [{"name": "a", "kind": ["lib"]}, {"name": "live_claude", "kind": ["test"]}]},
            {"targets": [{"name": "fields", "kind": ["test"]}, {"name": "fields", "kind": ["test"]},
                         {"name": "real_clis", "kind": ["test"]}]}]}"#;
        let tests = Workspace::read(metadata).unwrap().integration_tests();
        assert_eq!(tests.scripted, ["fields"]);
        assert_eq!(tests.live, ["live_claude", "real_clis"]);
    }
}
