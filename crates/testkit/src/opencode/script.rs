//! The script: what the server says it is, what its turns do, and which faults it has.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fault::Fault;

/// All of it. What is left out is as the real server has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The version of `--version` and `/global/health`.
    pub version: String,
    /// Printed in place of the line that announces the address, `{url}` standing for that; blank:
    /// nothing is announced.
    pub announce: Option<String>,
    /// Bytes of other lines before and after that line.
    pub chatter: usize,
    /// It takes requests without a password, and with any.
    pub is_open: bool,
    /// The directory that it says it works in.
    pub directory: Option<String>,
    /// Milliseconds from a prompt until its session is busy.
    pub bootstrap_ms: u64,
    /// The models that there are, each with its variants.
    pub models: BTreeMap<String, Vec<String>>,
    /// `GET /config` and `GET /global/config`.
    pub config: Value,
    /// Operations, as in `GET /question`, that its description lacks.
    pub lacks: Vec<String>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What each prompt sets off, the last for all that follow.
    pub turns: Vec<Vec<Step>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            version: super::VERSION.to_owned(),
            announce: None,
            chatter: 0,
            is_open: false,
            directory: None,
            bootstrap_ms: 0,
            models: [("stub/stub-model".to_owned(), vec!["low".to_owned(), "high".to_owned()])]
                .into(),
            config: json!({}),
            lacks: Vec::new(),
            faults: Vec::new(),
            turns: vec![vec![Step::Text("OK".to_owned())]],
        }
    }
}

impl Script {
    /// One turn of these steps.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { turns: vec![steps.into_iter().collect()], ..Self::default() }
    }

    /// With this fault besides.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Reads a script.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn load(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// Writes it for a server to be started with.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, serde_json::to_vec_pretty(self)?)
    }
}

/// One step of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// A message with this text, which finishes with `stop`.
    Text(String),
    /// The same, with a text of so many bytes.
    Large(usize),
    /// A message that calls these tools at once. Each that asks first waits for its answer.
    Tools(Vec<Tool>),
    /// A message that asks these questions.
    Question(Vec<Value>),
    /// A message that calls the task tool: these steps in a child session.
    Child(Vec<Step>),
    /// A message that fails with this error object; the turn is over.
    Error(Value),
    /// The provider is asked again: attempt, and milliseconds of waiting.
    Retry(u64, u64),
    /// Milliseconds.
    SleepMs(u64),
    /// Waits until this file is there.
    WaitFile(PathBuf),
    /// Makes an empty file.
    Touch(PathBuf),
    /// Begins a message and says nothing more, busy for ever.
    Stall(bool),
    /// Every event stream is cut.
    CutEvents(bool),
    /// The process exits with this code.
    Exit(i32),
    /// The process kills itself.
    Kill(bool),
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub tool: String,
    /// What it is given.
    pub input: Value,
    /// What it says when it has completed.
    pub output: String,
    /// It fails with this.
    pub error: Option<String>,
    /// Leave that it asks for first.
    pub asks: Option<Asking>,
    /// A file that it makes: whether it ran can be seen.
    pub writes: Option<Write>,
    /// Milliseconds that it runs.
    pub runs_ms: u64,
}

/// Leave that a tool asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asking {
    /// Which.
    pub permission: String,
    /// For what.
    pub patterns: Vec<String>,
    /// What leave for always would cover.
    pub always: Vec<String>,
    /// What the server knows besides.
    pub metadata: Value,
    /// Somebody who is not dcli answers so, as soon as it was listed.
    pub somebody: Option<String>,
}

/// A file that a tool makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Where: relative to the session's directory.
    pub path: PathBuf,
    /// All of it.
    pub content: String,
}

impl Tool {
    /// A shell command that asks for leave.
    #[must_use]
    pub fn bash(command: &str) -> Self {
        let metadata = json!({"command": command});
        Self {
            tool: "bash".to_owned(),
            input: json!({"command": command, "description": "a command"}),
            output: "done\n".to_owned(),
            asks: Some(Asking {
                permission: "bash".to_owned(),
                patterns: vec![command.to_owned()],
                always: vec![format!("{} *", command.split(' ').next().unwrap_or_default())],
                metadata,
                somebody: None,
            }),
            ..Self::default()
        }
    }

    /// It makes this file when it runs.
    #[must_use]
    pub fn writing(mut self, path: &str, content: &str) -> Self {
        self.writes = Some(Write { path: path.into(), content: content.to_owned() });
        self
    }

    /// It asks nobody.
    #[must_use]
    pub fn unasked(mut self) -> Self {
        self.asks = None;
        self
    }
}
