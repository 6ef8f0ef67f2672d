//! One connection: read a request, log it, do what the scenario says.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::{Answer, Frame};
use super::call;
use super::http::{self, Incoming, Reader};
use super::log::Logged;
use super::request::{Asked, auth};
use super::scenario::{Cut, Stall, Turn, Usage};
use super::server::Shared;
use super::wire::{Refusal, refusal};

/// What becomes of the connection after an answer.
enum Next {
    Keep,
    Close,
    /// The client left first.
    Left,
}

/// Serves one connection until it closes.
pub(super) fn serve(stream: TcpStream, shared: &Shared) {
    let Ok(read_half) = stream.try_clone() else { return };
    let mut connection = Connection { stream, reader: Reader::new(read_half), shared };
    while let Ok(Some(incoming)) = connection.reader.next() {
        if !connection.answer(&incoming) {
            break;
        }
    }
}

struct Connection<'a> {
    stream: TcpStream,
    reader: Reader,
    shared: &'a Shared,
}

impl Connection<'_> {
    /// Answers one request; false when the connection is over.
    fn answer(&mut self, incoming: &Incoming) -> bool {
        if incoming.method == "POST"
            && let Some(asked) = Asked::read(incoming)
        {
            return self.answer_asked(incoming, &asked);
        }
        let (status, body) = side_answer(incoming);
        self.shared.log.add(logged(incoming, Some(status)));
        let sent = match body {
            Some(body) => http::write_json(&mut self.stream, status, &body, &[]),
            None => http::write_empty(&mut self.stream, status),
        };
        sent.is_ok()
    }

    fn answer_asked(&mut self, incoming: &Incoming, asked: &Asked) -> bool {
        let log = &self.shared.log;
        let main = (!asked.tools.is_empty()).then(|| log.take_main());
        let turn = main.map_or_else(|| side_turn(asked), |index| self.shared.scenario.turn(index));
        let status = turn.status.unwrap_or(200);
        let speaks = turn.stall != Some(Stall::Headers);
        let index = log.add(Logged {
            wire: Some(asked.wire),
            model: asked.model.clone(),
            stream: asked.stream,
            tools: asked.tools.iter().map(|tool| tool.name.clone()).collect(),
            main,
            usage: (status == 200 && speaks).then(|| turn.usage.unwrap_or_default()),
            ..logged(incoming, speaks.then_some(status))
        });
        let next = self.play(asked, &turn, index);
        match next {
            Ok(Next::Keep) => true,
            Ok(Next::Close) => false,
            Ok(Next::Left) | Err(_) => {
                self.shared.log.client_left(index);
                false
            }
        }
    }

    fn play(&mut self, asked: &Asked, turn: &Turn, index: usize) -> io::Result<Next> {
        let delay = turn.delay_ms.unwrap_or(self.shared.scenario.delay_ms);
        if delay > 0 && self.left_within(Duration::from_millis(delay))? {
            return Ok(Next::Left);
        }
        if turn.stall == Some(Stall::Headers) {
            return Ok(self.stall());
        }
        if let Some(status) = turn.status {
            return self.refuse(asked, turn, status);
        }
        let answer = compose(asked, turn, index);
        if asked.stream {
            return self.stream(&asked.wire.frames(&answer), turn);
        }
        http::write_json(&mut self.stream, 200, &asked.wire.plain(&answer), &[])?;
        Ok(Next::Keep)
    }

    fn refuse(&mut self, asked: &Asked, turn: &Turn, status: u16) -> io::Result<Next> {
        let message = turn.message.clone().unwrap_or_else(|| format!("scripted status {status}"));
        let error = Refusal { status, message, retry_after: turn.retry_after };
        let after = turn.retry_after.map(|seconds| ("retry-after", seconds.to_string()));
        let extra: Vec<(&str, String)> = after.into_iter().collect();
        http::write_json(&mut self.stream, status, &refusal(asked.wire, &error), &extra)?;
        Ok(Next::Keep)
    }

    fn stream(&mut self, frames: &[Frame], turn: &Turn) -> io::Result<Next> {
        http::write_stream_head(&mut self.stream)?;
        for frame in frames {
            let over = match frame {
                Frame::Event(event) => self.stream.write_all(event.as_bytes()).map(|()| None),
                Frame::Middle => self.middle(turn),
            };
            if let Some(next) = over? {
                return Ok(next);
            }
        }
        Ok(Next::Close)
    }

    /// Does what the script has for the middle; `None` when the answer goes on.
    fn middle(&mut self, turn: &Turn) -> io::Result<Option<Next>> {
        if turn.stall == Some(Stall::Mid) {
            return Ok(Some(self.stall()));
        }
        if let Some(cut) = turn.cut {
            if cut == Cut::Reset {
                let at_once = Some(Duration::ZERO);
                rustix::net::sockopt::set_socket_linger(&self.stream, at_once)?;
            }
            return Ok(Some(Next::Close));
        }
        let left = turn.hold_ms > 0 && self.left_within(Duration::from_millis(turn.hold_ms))?;
        Ok(left.then_some(Next::Left))
    }

    fn stall(&mut self) -> Next {
        self.reader.until_closed();
        if self.shared.is_stopping() { Next::Close } else { Next::Left }
    }

    /// Lets `pause` pass; true when the client closes its end before that.
    fn left_within(&mut self, pause: Duration) -> io::Result<bool> {
        let until = Instant::now() + pause;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                self.stream.set_read_timeout(None)?;
                return Ok(false);
            }
            self.stream.set_read_timeout(Some(rest.max(Duration::from_millis(1))))?;
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Ok(true),
                // The next request is already here: its bytes stay, the rest of the pause too.
                Ok(_) => std::thread::sleep(rest),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn compose(asked: &Asked, turn: &Turn, index: usize) -> Answer {
    let tools = turn.all_tools();
    let id = |at: usize| format!("call_scripted_{index:06}_{at}");
    let call = |(at, tool)| call::map(tool, asked, id(at));
    Answer {
        serial: index,
        model: asked.model.clone(),
        reasoning: turn.reasoning.clone(),
        text: turn.whole_text(),
        calls: tools.iter().enumerate().map(call).collect(),
        usage: turn.usage.unwrap_or_default(),
    }
}

/// The answer to a request without tools: a title, or what a classifier can read.
fn side_turn(asked: &Asked) -> Turn {
    let classified = json!({"reasoning": "scripted", "next_speaker": "user", "complexity": 1});
    let text = if asked.wants_json { classified.to_string() } else { "scripted title".to_owned() };
    Turn { text: Some(text), usage: Some(Usage::default()), ..Turn::default() }
}

/// Status and body of everything that is not a request to a model.
fn side_answer(incoming: &Incoming) -> (u16, Option<Value>) {
    let path = incoming.bare_path();
    match incoming.method.as_str() {
        "HEAD" => (200, None),
        "GET" if path.ends_with("/models") => (200, Some(models())),
        "POST" if path.ends_with("/count_tokens") => (200, Some(json!({"input_tokens": 19}))),
        "POST" if path.ends_with(":countTokens") => (200, Some(json!({"totalTokens": 19}))),
        method => {
            let message = format!("nothing is scripted for {method} {}", incoming.path);
            let error = json!({"type": "not_found_error", "message": message});
            (404, Some(json!({"type": "error", "error": error})))
        }
    }
}

fn models() -> Value {
    let model = json!({
        "id": "stub-model", "object": "model", "created": 0, "owned_by": "stub",
        "type": "model", "display_name": "Stub", "created_at": "2026-01-01T00:00:00Z",
    });
    json!({"object": "list", "data": [model], "models": []})
}

fn logged(incoming: &Incoming, status: Option<u16>) -> Logged {
    Logged {
        index: 0,
        at_ms: 0,
        method: incoming.method.clone(),
        path: incoming.path.clone(),
        wire: None,
        model: String::new(),
        stream: false,
        tools: Vec::new(),
        main: None,
        auth: auth(incoming),
        body_bytes: incoming.body.len(),
        body: incoming.body.clone(),
        status,
        usage: None,
    }
}
