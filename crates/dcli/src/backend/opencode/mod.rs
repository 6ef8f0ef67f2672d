//! opencode as a server of one job: `opencode serve` driven over HTTP.

use std::fs::File;
use std::path::PathBuf;

use dcli_contain::Identity;
use dcli_core::executor::access::Access;
use dcli_core::executor::record::Native;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::interaction::{Reply, Terms};

use super::session::{Hear, Heard, Session};

/// What a session is opened with.
pub(crate) struct Opening {
    /// The server's standard output, from its start: its address is announced there.
    pub announced: File,
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
pub(crate) fn native(_access: Access, _terms: &Terms) -> Native {
    Native::default()
}

/// A session on the server that is being started.
pub(crate) fn session(opening: Opening) -> Box<dyn Session> {
    Box::new(Unspoken(opening))
}

struct Unspoken(Opening);

impl Session for Unspoken {
    fn begin(&mut self, _leader: &Identity, hear: Hear) {
        let message = format!("no adapter speaks with {}", self.0.title);
        hear(Heard::Failed(Failure::seen(FailureClass::Environment, message)));
        hear(Heard::Settled);
    }

    fn reply(&mut self, _reply: Reply) {}

    fn abort(&mut self) {}

    fn close(&mut self) {}
}
