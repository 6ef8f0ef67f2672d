//! The real coding CLIs, as `npm ci` in `clis/` installs them, and how to point each at a model
//! server without an account, a network, or anybody's own settings.
//!
//! Which file is the real program, and the settings, were found by running Claude Code 2.1.197 and
//! 2.1.332, Codex 0.171.0, opencode 1.18.33, Qwen Code 0.15.10 and Gemini CLI 0.61.0.

mod settings;

use std::path::{Path, PathBuf};

pub use settings::{MODEL, Retries};

/// Environment variable that names the `node_modules` to look in.
pub const CLIS_VARIABLE: &str = "DCLI_CLIS";
/// Environment variables of which either, when set, makes a missing CLI a failure in place of a
/// skip: the one is about CLIs, the other about everything a test could skip.
pub const REQUIRE_VARIABLES: [&str; 2] = ["DCLI_REQUIRE_CLIS", "DCLI_REQUIRE_ALL"];

/// A real CLI at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CliId {
    /// Claude Code 2.1.197.
    Claude197,
    /// Claude Code 2.1.332.
    Claude332,
    /// Codex 0.171.0.
    Codex,
    /// opencode 1.18.33.
    Opencode,
    /// Qwen Code 0.15.10.
    Qwen,
    /// Gemini CLI 0.61.0.
    Gemini,
}

/// An installed CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cli {
    /// Which one.
    pub id: CliId,
    /// The real program, no wrapper where there is a native one.
    pub program: PathBuf,
}

/// A CLI that is not installed.
#[derive(Debug, thiserror::Error)]
#[error("{cli} is not installed: {program} is missing; run `npm ci` in clis/", cli = id.name())]
pub struct CliMissing {
    /// Which one.
    pub id: CliId,
    /// Where its program was looked for.
    pub program: String,
}

impl CliId {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Claude197, Self::Claude332, Self::Codex, Self::Opencode, Self::Qwen, Self::Gemini];

    /// A name that tells the versions apart, as reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude197 => "claude-2.1.197",
            Self::Claude332 => "claude-2.1.332",
            Self::Codex => "codex-0.171.0",
            Self::Opencode => "opencode-1.18.33",
            Self::Qwen => "qwen-0.15.10",
            Self::Gemini => "gemini-0.61.0",
        }
    }

    /// The backend whose record runs it.
    pub fn backend(self) -> &'static str {
        match self {
            Self::Claude197 | Self::Claude332 => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
            Self::Gemini => "gemini",
        }
    }

    /// The pinned version.
    pub fn version(self) -> &'static str {
        self.name().rsplit('-').next().unwrap_or_default()
    }

    fn program(self) -> &'static str {
        match self {
            Self::Claude197 => "claude-2.1.197/claude",
            Self::Claude332 => "claude-2.1.332/claude",
            Self::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            Self::Opencode => "opencode-linux-x64/bin/opencode",
            Self::Qwen => ".bin/qwen",
            Self::Gemini => ".bin/gemini",
        }
    }
}

impl Cli {
    /// Looks a CLI up in `DCLI_CLIS`, or else in the workspace's `clis/node_modules`.
    ///
    /// # Errors
    /// When its program is not there.
    pub fn find(id: CliId) -> Result<Self, CliMissing> {
        let program = installed().join(id.program());
        if program.is_file() {
            Ok(Self { id, program })
        } else {
            Err(CliMissing { id, program: program.display().to_string() })
        }
    }

    /// The same for a test that can be skipped: `None`, and the reason on standard error, where the
    /// CLI is missing and nothing requires it.
    ///
    /// # Errors
    /// When it is missing and one of [`REQUIRE_VARIABLES`] is set.
    pub fn find_or_skip(id: CliId) -> Result<Option<Self>, CliMissing> {
        match Self::find(id) {
            Ok(cli) => Ok(Some(cli)),
            Err(missing) if is_required() => Err(missing),
            Err(missing) => {
                let said = format!("SKIPPED: {missing}\n");
                drop(std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes()));
                Ok(None)
            }
        }
    }
}

/// Codex's npm wrapper, a Node script whose native child outlives its SIGKILL (0.171.0).
///
/// # Errors
/// When it is not installed.
pub fn codex_wrapper() -> Result<PathBuf, CliMissing> {
    let wrapper = installed().join(".bin/codex");
    let program = wrapper.display().to_string();
    if wrapper.is_file() { Ok(wrapper) } else { Err(CliMissing { id: CliId::Codex, program }) }
}

fn is_required() -> bool {
    REQUIRE_VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
}

fn installed() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clis/node_modules");
    std::env::var_os(CLIS_VARIABLE).map_or_else(default, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::{Cli, CliId, codex_wrapper};

    #[test]
    fn every_cli_is_found_or_says_where_it_was_looked_for() {
        for id in CliId::ALL {
            match Cli::find(id) {
                Ok(cli) => assert!(cli.program.is_file()),
                Err(missing) => assert!(missing.to_string().contains("npm ci"), "{missing}"),
            }
            assert!(id.name().starts_with(id.backend()));
            assert!(id.version().starts_with(|first: char| first.is_ascii_digit()));
        }
        let codex = Cli::find(CliId::Codex).is_ok();
        assert_eq!(codex_wrapper().is_ok(), codex);
    }
}
