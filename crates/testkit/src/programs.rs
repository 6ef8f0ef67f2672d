//! Where this crate's own programs are, for the tests of other crates.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Environment variable that names a directory with the programs already built.
pub const PROGRAMS_VARIABLE: &str = "DCLI_TESTKIT_PROGRAMS";

/// Why a program is not there.
#[derive(Debug, thiserror::Error)]
pub enum ProgramMissing {
    /// Cargo could not be run, or the test's own place could not be told.
    #[error("cannot build the programs of the testkit: {0}")]
    Io(#[from] io::Error),
    /// Cargo could not build them.
    #[error("cannot build the programs of the testkit: {0}")]
    Build(String),
    /// No such file.
    #[error("there is no program {0}")]
    Absent(PathBuf),
}

/// The path of `dcli-fake-agent`, `dcli-hostile-tree` or `dcli-model-server`. The first call of a
/// test process asks cargo to bring them up to date beside the test, since cargo builds the
/// programs of a dependency for nobody.
///
/// # Errors
/// When they cannot be built, or the name is not one of them.
pub fn program(name: &str) -> Result<PathBuf, ProgramMissing> {
    let directory = match std::env::var_os(PROGRAMS_VARIABLE) {
        Some(directory) => PathBuf::from(directory),
        None => built()?,
    };
    let path = directory.join(name);
    if path.is_file() { Ok(path) } else { Err(ProgramMissing::Absent(path)) }
}

fn built() -> Result<PathBuf, ProgramMissing> {
    static DIRECTORY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || build().map_err(|error| error.to_string());
    DIRECTORY.get_or_init(build).clone().map_err(ProgramMissing::Build)
}

/// A test runs from `TARGET/PROFILE/deps`; its programs go to `TARGET/PROFILE`.
fn build() -> Result<PathBuf, ProgramMissing> {
    let test = std::env::current_exe()?;
    let profile = test.parent().filter(|deps| deps.ends_with("deps")).and_then(Path::parent);
    let target = profile.and_then(Path::parent);
    let (Some(profile), Some(target)) = (profile, target) else {
        return Err(ProgramMissing::Absent(test));
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "dcli-testkit", "--bins"]);
    command.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(ProgramMissing::Build(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(profile.to_owned())
}
