//! The parts of a record that say how a job talks with its backend while that works.

use serde::{Deserialize, Serialize};

use super::native::Native;
use super::record::CancelRung;

/// A backend that jobs drive as a server of their own, over HTTP on the loopback interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Which adapter speaks with it.
    pub protocol: ServerProtocol,
    /// Arguments that start it. The record's own `args` are left out.
    pub args: Vec<String>,
    /// The variable by which it gets the password that admits the job's requests. The password is
    /// written nowhere. (A key that is named after what it names would itself be covered in records.)
    pub admission: String,
    /// The variable that names a database file of the job's own (`--isolated-state`), for backends
    /// whose processes share one.
    pub private_state: Option<String>,
    /// The rungs of a cancel, in place of the record's own.
    pub cancel: Vec<CancelRung>,
}

/// How a server is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerProtocol {
    /// The HTTP interface of `opencode serve`, as measured with 1.18.33.
    Opencode,
}

/// A backend that asks on standard output and reads answers on standard input. Used only where a
/// job has somebody or something to answer: else standard input is the prompt and nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialogue {
    /// Which adapter speaks with it.
    pub protocol: DialogueProtocol,
    /// More arguments, that open the channel.
    pub args: Vec<String>,
    /// In place of the access's own, where those would never ask.
    pub read_only: Native,
    /// The same.
    pub workspace: Native,
}

/// How it is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DialogueProtocol {
    /// The control records of `claude --permission-prompt-tool stdio --input-format stream-json`, as
    /// measured with 2.1.197 and 2.1.332.
    ClaudeControl,
}
