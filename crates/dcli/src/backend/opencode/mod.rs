//! opencode as a server of one job: `opencode serve` driven over HTTP.

use std::fs::File;
use std::path::PathBuf;

use dcli_core::executor::access::Access;
use dcli_core::executor::record::Native;
use dcli_core::interaction::Terms;

use super::session::Session;

mod announce;
mod asks;
mod begin;
mod ears;
mod events;
mod fault;
mod http;
mod judge;
mod link;
mod negotiate;
mod operations;
mod project;
mod ruleset;
mod talk;
mod watch;
mod wire;

/// What a session is opened with.
pub(crate) struct Opening {
    /// The server's standard output, from its start: its address is announced there.
    pub announced: File,
    /// The server's program.
    pub program: PathBuf,
    /// What it accepts requests with. Written nowhere.
    pub password: String,
    /// The versions that the record supports, as a semver requirement; empty: any.
    pub supported: String,
    /// Where it works: canonical.
    pub directory: PathBuf,
    /// What is asked.
    pub prompt: String,
    /// The session's title.
    pub title: String,
    /// `provider/model`; `None`: the server's default.
    pub model: Option<String>,
    /// The model's variant.
    pub variant: Option<String>,
    /// What the run may change.
    pub access: Access,
    /// Who or what answers.
    pub terms: Terms,
}

/// The variables that hold the access for all sessions of the server, children too.
pub(crate) fn native(access: Access, terms: &Terms) -> Native {
    let permission = ("OPENCODE_PERMISSION".to_owned(), ruleset::variable(access, terms));
    Native { env: [permission].into(), ..Native::default() }
}

/// A session on the server that is being started.
pub(crate) fn session(opening: Opening) -> Box<dyn Session> {
    Box::new(talk::Conversation::new(opening))
}
