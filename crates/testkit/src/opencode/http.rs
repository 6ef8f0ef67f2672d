//! Answers: an empty one, JSON, a stream of events.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};

/// Between two heartbeats.
const BEAT: Duration = Duration::from_secs(10);

/// What goes back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Its bytes; none: an empty answer.
    pub(super) body: Option<String>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, body: Some(body.to_string()) }
    }

    pub(super) fn ok(body: &Value) -> Self {
        Self::json(200, body)
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, body: None }
    }

    pub(super) fn not_found(what: &str) -> Self {
        let message = format!("not found: {what}");
        Self::json(404, &json!({"name": "NotFoundError", "data": {"message": message}}))
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        if self.status == 401 {
            head += "www-authenticate: Basic realm=\"Secure Area\"\r\n";
        }
        match &self.body {
            Some(body) => {
                head += "content-type: application/json\r\n";
                head += &format!("content-length: {}\r\n\r\n{body}", body.len());
            }
            None if self.status == 204 => head += "\r\n",
            None => head += "content-length: 0\r\n\r\n",
        }
        head.into_bytes()
    }
}

/// Sends events as they come, until the client leaves or nobody tells anything any more.
pub(super) fn stream(to: &mut TcpStream, events: &Receiver<String>) -> io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
          transfer-encoding: chunked\r\n\r\n",
    )?;
    event(to, &own("server.connected"))?;
    loop {
        match events.recv_timeout(BEAT) {
            Ok(told) => event(to, &told)?,
            Err(RecvTimeoutError::Timeout) => event(to, &own("server.heartbeat"))?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn own(what: &str) -> String {
    json!({"id": "evt_server", "type": what, "properties": {}}).to_string()
}

fn event(to: &mut TcpStream, data: &str) -> io::Result<()> {
    let frame = format!("data: {data}\n\n");
    to.write_all(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes())
}
