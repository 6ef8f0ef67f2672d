//! The request log: what came in, kept in memory for a test and as JSON lines for the binary.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::{Usage, Wire};
use crate::hang::Hang;

/// Kind of the credential that came with a request. Its value is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// An `authorization` header.
    Bearer,
    /// An `x-api-key` header.
    ApiKey,
    /// An `x-goog-api-key` header.
    GoogleApiKey,
}

/// One request as it was received.
#[derive(Clone, Debug, Serialize)]
pub struct Logged {
    /// Position among all requests, from 0.
    pub index: usize,
    /// Milliseconds since the server started.
    pub at_ms: u64,
    /// HTTP method.
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// Wire format, when the path belongs to one.
    pub wire: Option<Wire>,
    /// Model asked for; empty when none was named.
    pub model: String,
    /// Whether a streamed answer was asked for.
    pub stream: bool,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// Position among the main requests (those that offer tools), from 0.
    pub main: Option<usize>,
    /// Kind of credential.
    pub auth: Option<Auth>,
    /// Length of the body after any chunked framing was taken off.
    pub body_bytes: usize,
    /// The body itself; not part of the log file.
    #[serde(skip)]
    pub body: Vec<u8>,
    /// Status the server answers with; `None` where it stalls before the headers.
    pub status: Option<u16>,
    /// Tokens that the answer claims; `None` for an answer that carries none.
    pub usage: Option<Usage>,
}

/// All requests so far, and the ones whose client left before its answer was complete.
#[derive(Debug)]
pub(super) struct Log {
    started: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<Logged>,
    mains: usize,
    left: Vec<usize>,
    file: Option<File>,
}

impl Log {
    pub(super) fn new(file: Option<&Path>) -> std::io::Result<Self> {
        let open = |path| File::options().create(true).append(true).open(path);
        let file = file.map(open).transpose()?;
        let state = Mutex::new(State { file, ..State::default() });
        Ok(Self { started: Instant::now(), state, changed: Condvar::new() })
    }

    /// The next main index.
    pub(super) fn take_main(&self) -> usize {
        let mut state = self.lock();
        state.mains += 1;
        state.mains - 1
    }

    /// Adds a request, fills in its index and time, and returns the index.
    pub(super) fn add(&self, mut logged: Logged) -> usize {
        let mut state = self.lock();
        logged.index = state.requests.len();
        logged.at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        write_line(&mut state, &json!(logged));
        state.requests.push(logged);
        self.changed.notify_all();
        state.requests.len() - 1
    }

    /// Notes that the client of request `index` left before its answer was complete.
    pub(super) fn client_left(&self, index: usize) {
        let mut state = self.lock();
        write_line(&mut state, &json!({"index": index, "client_left": true}));
        state.left.push(index);
        self.changed.notify_all();
    }

    pub(super) fn requests(&self) -> Vec<Logged> {
        self.lock().requests.clone()
    }

    pub(super) fn wait_requests(&self, n: usize, limit: Duration) -> Result<Vec<Logged>, Hang> {
        let what = format!("{n} requests at the model server");
        self.wait(&what, limit, |state| state.requests.len() >= n)
            .map(|state| state.requests.clone())
    }

    pub(super) fn wait_left(&self, index: usize, limit: Duration) -> Result<(), Hang> {
        let what = format!("the client of request {index} to leave");
        self.wait(&what, limit, |state| state.left.contains(&index)).map(drop)
    }

    fn wait(
        &self,
        what: &str,
        limit: Duration,
        done: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'_, State>, Hang> {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |state| !done(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if done(&state) { Ok(state) } else { Err(Hang { what: what.to_owned(), limit }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One write a line, so that a reader of the file never sees half of one. A log file that can no
/// longer be written is left alone: the requests in memory are the record that tests use.
fn write_line(state: &mut State, value: &serde_json::Value) {
    if let Some(file) = &mut state.file {
        let written = file.write_all(format!("{value}\n").as_bytes());
        if written.is_err() {
            state.file = None;
        }
    }
}
