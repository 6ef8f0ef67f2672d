//! What the server is to say: the script, as data.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A script for one server. Main request `i`, one that offers tools, gets `turns[min(i, last)]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The answers, in order; the last one repeats. None at all means an empty answer.
    pub turns: Vec<Turn>,
    /// Milliseconds before the first byte of every answer, unless the turn has its own.
    pub delay_ms: u64,
}

/// One answer. Everything that is left out is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// The answer's text.
    pub text: Option<String>,
    /// An answer of exactly so many bytes, in place of `text`.
    pub bytes: Option<usize>,
    /// Reasoning, sent before the text in the format's own channel for it.
    pub reasoning: Option<String>,
    /// Tool calls, sent after the text.
    pub tools: Vec<Tool>,
    /// Short for one shell tool call, after those of `tools`.
    pub shell: Option<String>,
    /// An HTTP error in place of an answer.
    pub status: Option<u16>,
    /// The `retry-after` header of that error, in seconds.
    pub retry_after: Option<u64>,
    /// The message of that error.
    pub message: Option<String>,
    /// Where the answer stops coming while the connection stays open.
    pub stall: Option<Stall>,
    /// How the connection ends in the middle of the answer.
    pub cut: Option<Cut>,
    /// Milliseconds of silence in the middle of the answer, which then goes on.
    pub hold_ms: u64,
    /// Milliseconds before the first byte of this answer.
    pub delay_ms: Option<u64>,
    /// The tokens that this answer claims to have used.
    pub usage: Option<Usage>,
}

/// Where a stalled answer stops. It lasts until the client leaves or the server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stall {
    /// Not even a status line is sent.
    Headers,
    /// Silence after the first piece of the text.
    Mid,
}

/// How a connection is cut after the first piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// An orderly end of the stream (FIN), too early.
    Close,
    /// A reset (RST).
    Reset,
}

/// A tool call, by what it does. The server finds the offered tool that does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Tool {
    /// Writes a file.
    Write {
        /// As the model would give it: absolute, or relative to wherever the CLI thinks it is.
        path: String,
        /// The file's whole content.
        content: String,
    },
    /// Runs a shell command.
    Shell {
        /// The command line.
        command: String,
    },
    /// Reads a file.
    Read {
        /// As the model would give it.
        path: String,
    },
    /// Asks the user to pick A or B.
    Ask {
        /// The question's text.
        question: String,
    },
    /// Calls a tool by its own name, offered or not.
    Raw {
        /// The tool's name.
        name: String,
        /// Its arguments: an object, or for a free-form tool a string.
        args: Value,
    },
}

/// Tokens of one answer, counted the OpenAI way: `input` includes the cached and cache-written
/// ones, `output` includes reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All input tokens.
    pub input: u64,
    /// Those of `input` that were read from a cache.
    pub cached: u64,
    /// Those of `input` that were written to a cache (Gemini has no figure for it).
    pub cache_write: u64,
    /// All output tokens.
    pub output: u64,
    /// Those of `output` that were reasoning (Anthropic has no figure for it).
    pub reasoning: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 19, cached: 5, cache_write: 3, output: 7, reasoning: 2 }
    }
}

/// Why a scenario could not be had from a file or an argument.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("cannot read scenario {path}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not a scenario.
    #[error("scenario is not valid")]
    Invalid(#[from] serde_json::Error),
}

impl Scenario {
    /// A script of these turns, without delay.
    pub fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), delay_ms: 0 }
    }

    /// One plain text answer to everything.
    pub fn text(text: &str) -> Self {
        Self::of([Turn::text(text)])
    }

    /// Takes JSON itself, or the name of a file that holds it.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else.
    pub fn parse(argument: &str) -> Result<Self, ScenarioError> {
        if argument.trim_start().starts_with('{') {
            return Ok(serde_json::from_str(argument)?);
        }
        let text = std::fs::read_to_string(Path::new(argument))
            .map_err(|source| ScenarioError::Read { path: argument.to_owned(), source })?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The turn of main request `index`.
    pub(super) fn turn(&self, index: usize) -> Turn {
        let last = self.turns.len().saturating_sub(1);
        self.turns.get(index.min(last)).cloned().unwrap_or_default()
    }
}

impl Turn {
    /// A plain text answer.
    pub fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::default() }
    }

    /// One tool call without text.
    pub fn tool(tool: Tool) -> Self {
        Self { tools: vec![tool], ..Self::default() }
    }

    /// One shell command without text.
    pub fn shell(command: &str) -> Self {
        Self { shell: Some(command.to_owned()), ..Self::default() }
    }

    /// One written file without text.
    pub fn write(path: &str, content: &str) -> Self {
        Self::tool(Tool::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// An HTTP error.
    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// A text answer that stalls.
    pub fn stalled(stall: Stall) -> Self {
        Self { stall: Some(stall), ..Self::text("these words stop coming in the middle") }
    }

    /// A text answer whose connection is cut.
    pub fn cut(cut: Cut) -> Self {
        Self { cut: Some(cut), ..Self::text("these words are cut in the middle") }
    }

    /// The text to send: `bytes` first, else `text`.
    pub(super) fn whole_text(&self) -> Option<String> {
        self.bytes.map_or_else(|| self.text.clone(), |length| Some(long_text(length)))
    }

    /// All tool calls, the short form included.
    pub(super) fn all_tools(&self) -> Vec<Tool> {
        let short = self.shell.iter().map(|command| Tool::Shell { command: command.clone() });
        self.tools.iter().cloned().chain(short).collect()
    }
}

/// Exactly `length` bytes of numbered lines that never repeat: Gemini CLI 0.61.0 and Qwen Code
/// 0.15.10 end an answer that does, as a loop.
fn long_text(length: usize) -> String {
    let mut text = String::with_capacity(length + 64);
    let mut mixed: u64 = 0x9e37_79b9_7f4a_7c15;
    for number in 0.. {
        if text.len() >= length {
            break;
        }
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(number);
        text += &format!("line {number:06} has {mixed:016x} and {:016x}\n", mixed.rotate_left(23));
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::{Scenario, long_text};

    #[test]
    fn a_long_text_has_its_length_and_no_line_twice() {
        assert_eq!(long_text(1 << 20).len(), 1 << 20);
        assert_eq!(long_text(0), "");
        let text = long_text(100_000);
        let lines: std::collections::BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split_once(" has "))
            .map(|(_, tail)| tail)
            .collect();
        assert_eq!(lines.len(), text.lines().count());
    }

    #[test]
    fn a_scenario_is_read_from_text_or_file_and_a_wrong_key_is_an_error() {
        let json = r#"{"turns":[{"tools":[{"kind":"shell","command":"ls"}]},{"stall":"mid"}]}"#;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json).unwrap();
        let read = Scenario::parse(file.path().to_str().unwrap()).unwrap();
        assert_eq!(read, Scenario::parse(json).unwrap());
        assert_eq!(
            serde_json::from_str::<Scenario>(&serde_json::to_string(&read).unwrap()).unwrap(),
            read
        );
        assert!(Scenario::parse(r#"{"turns":[{"txet":"x"}]}"#).is_err());
        assert!(Scenario::parse("/no/such/file").is_err());
    }
}
