//! The script: steps as data, read from JSON and written by tests.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Steps in order. In JSON a bare list, or an object with `version` and `steps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Printed, with a line feed, when `--version` is among the arguments before `--`; no step is taken then.
    #[serde(default)]
    pub version: Option<String>,
    /// What the agent does; it exits 0 after the last one.
    pub steps: Vec<Step>,
}

/// One step. Each write to an output is flushed before the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Writes this text to standard output, nothing added.
    Stdout(String),
    /// Writes bytes given as hexadecimal digits; blanks between them do not count.
    StdoutHex(String),
    /// Writes a file's bytes.
    StdoutFile(PathBuf),
    /// Writes one line many times.
    StdoutRepeat(Repeat),
    /// Writes this text to standard error.
    Stderr(String),
    /// Reads standard input to its end; the bytes go into later records.
    ReadStdin(bool),
    /// Reads lines of standard input until one holds this text, or there is no more; the bytes go
    /// into later records.
    ReadUntil(String),
    /// Takes these steps where the last line read holds this text.
    IfHeard(Heard),
    /// Writes a [`Record`](super::Record) of this process as JSON; the file appears whole.
    Record(PathBuf),
    /// Milliseconds of sleep.
    SleepMs(u64),
    /// Milliseconds of full use of one core.
    BusyMs(u64),
    /// Waits until this path exists.
    WaitFile(PathBuf),
    /// Creates an empty file.
    Touch(PathBuf),
    /// Creates a file with content; a relative path goes where the working directory is.
    Write(WriteFile),
    /// Starts a process that outlives the step.
    Spawn(Child),
    /// Ignores these signals (`INT`, `TERM`, `HUP`, …) from the very start of the process.
    Ignore(Vec<String>),
    /// On the first SIGINT, plays these steps beside the running one, then exits with 130.
    OnInterrupt(Vec<Step>),
    /// Starts a new session.
    Setsid(bool),
    /// Stops itself with SIGSTOP; goes on after SIGCONT.
    StopSelf(bool),
    /// Puts /dev/null in the place of standard output: its reader sees the end.
    CloseStdout(bool),
    /// Puts /dev/null in the place of standard input: its writer sees a broken pipe.
    CloseStdin(bool),
    /// Exits with this code.
    Exit(i32),
    /// Sends itself the signal with this number.
    SignalSelf(i32),
    /// Stays until ended from outside (or for ten minutes, so that nothing leaks for ever).
    Hang(bool),
}

/// See [`Step::StdoutRepeat`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// The line, without its line feed.
    pub line: String,
    /// How many times.
    pub times: u64,
}

/// See [`Step::Write`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Where.
    pub path: PathBuf,
    /// The whole content.
    pub content: String,
}

/// See [`Step::IfHeard`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// What the line has to hold.
    pub text: String,
    /// What is done then.
    pub steps: Vec<Step>,
}

/// See [`Step::Spawn`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Child {
    /// How it relates to the agent.
    pub kind: ChildKind,
    /// How long it lives by itself.
    #[serde(default = "one_minute")]
    pub seconds: u64,
    /// Arguments for a hostile tree, before its own `--life-sec`.
    #[serde(default)]
    pub args: Vec<String>,
}

fn one_minute() -> u64 {
    60
}

/// What kind of process [`Step::Spawn`] starts. Except for `hold-stdout` and `hostile`, the step
/// ends when the process is what its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChildKind {
    /// A child in the agent's session, without the agent's outputs.
    Plain,
    /// A child that keeps both outputs of the agent open.
    HoldStdout,
    /// A child in a session of its own, without the agent's outputs.
    Setsid,
    /// A grandchild in another session whose parent has exited.
    DoubleFork,
    /// A `dcli-hostile-tree`, from the same directory as the agent's own program. Its root keeps
    /// the agent's outputs open.
    Hostile,
}

/// Why there is no script to play.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Neither the argument nor the variable is there.
    #[error("no script: give --script FILE first or set {}", super::SCRIPT_VARIABLE)]
    Missing,
    /// The file could not be read.
    #[error("cannot read script {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not a script.
    #[error("script is not valid: {0}")]
    Invalid(#[from] serde_json::Error),
}

impl Script {
    /// A script of these steps.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { version: None, steps: steps.into_iter().collect() }
    }

    /// Reads a script from JSON text.
    ///
    /// # Errors
    /// When it is not JSON, or has a step that does not exist.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let value: Value = serde_json::from_str(text)?;
        if value.is_array() {
            return Ok(Self { version: None, steps: serde_json::from_value(value)? });
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    /// Writes the script to a file, for a fake agent to be started with.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        std::fs::write(path, serde_json::to_vec(self)?)
    }
}
