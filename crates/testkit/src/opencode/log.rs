//! What was asked of the server, in the order in which it was answered or not.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a request was authorised with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// User and password of this server.
    Right,
    /// Something else.
    Wrong,
    /// Nothing.
    None,
}

/// One request. Its password is not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// Without its query.
    pub path: String,
    /// The operation that it is, as the description writes it; blank: none.
    pub route: String,
    /// The `directory` of its query.
    pub directory: Option<String>,
    /// What it was authorised with.
    pub auth: Auth,
    /// Its body.
    pub body: Value,
}

impl Request {
    /// The requests in a log, oldest first.
    ///
    /// # Errors
    /// It cannot be read, or holds something else.
    pub fn all(path: &Path) -> io::Result<Vec<Self>> {
        let text = std::fs::read_to_string(path)?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

/// The log.
#[derive(Debug, Default)]
pub(super) struct Log(Option<Mutex<File>>);

impl Log {
    pub(super) fn new(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| File::options().create(true).append(true).open(path).map(Mutex::new);
        Ok(Self(path.map(open).transpose()?))
    }

    /// One line, whole: several servers may share a log.
    pub(super) fn add(&self, request: &Request) -> io::Result<()> {
        let Some(file) = &self.0 else { return Ok(()) };
        let line = serde_json::to_string(request)? + "\n";
        file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())
    }
}
