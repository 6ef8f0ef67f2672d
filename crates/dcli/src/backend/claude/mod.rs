//! Claude Code's control channel: it asks on standard output and is answered on standard input.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use dcli_contain::Identity;
use dcli_core::interaction::Reply;

use super::session::{Hear, Session};

/// A session whose backend reads `stdin` and works in `directory`, which is canonical. The prompt is
/// its first line.
pub(crate) fn session(stdin: OwnedFd, prompt: String, directory: PathBuf) -> Box<dyn Session> {
    Box::new(Unspoken(stdin, prompt, directory))
}

struct Unspoken(OwnedFd, String, PathBuf);

impl Session for Unspoken {
    fn begin(&mut self, _leader: &Identity, _hear: Hear) {}

    fn reply(&mut self, _reply: Reply) {}

    fn abort(&mut self) {}

    fn close(&mut self) {}
}
