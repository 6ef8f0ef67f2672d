//! The process: its arguments, the line that announces it, one thread a connection.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::description::operation;
use super::fault::Kind;
use super::http::{Answer, stream};
use super::log::{Auth, Log, Request};
use super::script::Script;
use super::world::World;
use super::{LOG_VARIABLE, SCRIPT_VARIABLE, routes};
use crate::model::http::{Incoming, Reader};

/// What a server without a password says first.
const UNSECURED: &str = "Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.";

/// Runs the fake opencode with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "dcli-fake-opencode: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<()> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let script = variable(SCRIPT_VARIABLE).map(|path| Script::load(&path)).transpose()?;
    let script = script.unwrap_or_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--version") {
        return writeln!(io::stdout(), "{}", script.version);
    }
    if arguments.first().is_none_or(|verb| verb != "serve") {
        return Err(io::Error::other(format!("{arguments:?}: only serve and --version are known")));
    }
    let directory = std::env::current_dir()?.display().to_string();
    let password = std::env::var("OPENCODE_SERVER_PASSWORD").ok().filter(|word| !word.is_empty());
    let log = Log::new(variable(LOG_VARIABLE).as_deref())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce(&script, password.is_none(), &format!("http://{}", listener.local_addr()?))?;
    let credential = password.map(|password| base64(&format!("opencode:{password}")));
    let server =
        Arc::new(Server { world: Arc::new(World::new(script, directory)), credential, log });
    for stream in listener.incoming() {
        let (stream, server) = (stream?, Arc::clone(&server));
        std::thread::spawn(move || server.serve(stream));
    }
    Ok(())
}

fn announce(script: &Script, is_unsecured: bool, url: &str) -> io::Result<()> {
    let mut out = io::stdout();
    let chatter = "some other line\n".repeat(script.chatter / 16);
    out.write_all(chatter.as_bytes())?;
    if is_unsecured {
        writeln!(out, "{UNSECURED}")?;
    }
    let line = script.announce.as_deref().unwrap_or("opencode server listening on {url}");
    if !line.is_empty() {
        writeln!(out, "{}", line.replace("{url}", url))?;
    }
    out.write_all(chatter.as_bytes())?;
    out.flush()
}

struct Server {
    world: Arc<World>,
    /// What a request has to be authorised with.
    credential: Option<String>,
    log: Log,
}

/// The operation, what fills its gap, its body.
struct Called {
    route: String,
    id: String,
    body: Value,
}

/// What becomes of the connection.
enum Next {
    Keep,
    Close,
}

impl Server {
    fn serve(&self, mut stream: TcpStream) {
        let Ok(half) = stream.try_clone() else { return };
        let mut reader = Reader::new(half);
        while let Ok(Some(incoming)) = reader.next() {
            match self.answer(&incoming, &mut stream, &mut reader) {
                Ok(Next::Keep) => {}
                Ok(Next::Close) | Err(_) => return,
            }
        }
    }

    fn answer(
        &self,
        incoming: &Incoming,
        to: &mut TcpStream,
        reader: &mut Reader,
    ) -> io::Result<Next> {
        let found = operation(&incoming.method, incoming.bare_path());
        let (route, id) = found.unwrap_or_default();
        let body = serde_json::from_slice(&incoming.body).unwrap_or_default();
        let auth = self.auth(incoming);
        self.log.add(&Request {
            method: incoming.method.clone(),
            path: incoming.bare_path().to_owned(),
            route: route.clone(),
            directory: directory_of(&incoming.path),
            auth,
            body,
        })?;
        let is_last =
            incoming.header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
        if auth != Auth::Right && !self.world.script.is_open {
            to.write_all(&Answer::empty(401).bytes())?;
            return Ok(if is_last { Next::Close } else { Next::Keep });
        }
        let body = serde_json::from_slice(&incoming.body).unwrap_or_default();
        let next = self.obey(&Called { route, id, body }, to, reader)?;
        Ok(if is_last { Next::Close } else { next })
    }

    fn obey(&self, called: &Called, to: &mut TcpStream, reader: &mut Reader) -> io::Result<Next> {
        let Called { route, id, body } = called;
        let done = || match route.as_str() {
            "" => Answer::not_found(route),
            _ => routes::answer(&self.world, route, id, body),
        };
        let answer = match self.world.fault(route) {
            Some(Kind::Stall) => {
                reader.until_closed();
                return Ok(Next::Close);
            }
            Some(Kind::Drop) => return Ok(Next::Close),
            Some(Kind::DropAfter) => {
                done();
                return Ok(Next::Close);
            }
            Some(Kind::Status(status)) => {
                let error =
                    serde_json::json!({"name": "UnknownError", "data": {"message": "scripted"}});
                Answer::json(status, &error)
            }
            Some(Kind::DelayMs(pause)) => {
                std::thread::sleep(Duration::from_millis(pause));
                return self.plainly(route, &done, to);
            }
            Some(Kind::Body(status, body)) => {
                done();
                Answer::json(status, &body)
            }
            Some(Kind::Raw(text)) => {
                done();
                Answer { status: 200, body: Some(text) }
            }
            Some(Kind::Retype(pointer, value)) => retyped(done(), &pointer, value),
            Some(Kind::Cut) => {
                let bytes = done().bytes();
                to.write_all(bytes.get(..bytes.len() / 2).unwrap_or_default())?;
                return Ok(Next::Close);
            }
            None => return self.plainly(route, &done, to),
        };
        to.write_all(&answer.bytes())?;
        Ok(Next::Keep)
    }

    fn plainly(
        &self,
        route: &str,
        done: &dyn Fn() -> Answer,
        to: &mut TcpStream,
    ) -> io::Result<Next> {
        if route == "GET /event" {
            let events = self.world.listen();
            stream(to, &events)?;
            return Ok(Next::Close);
        }
        to.write_all(&done().bytes())?;
        Ok(Next::Keep)
    }

    fn auth(&self, incoming: &Incoming) -> Auth {
        let given = incoming.header("authorization").and_then(|value| value.strip_prefix("Basic "));
        match (given, &self.credential) {
            (_, None) => Auth::Right,
            (Some(given), Some(credential)) if given == credential => Auth::Right,
            (Some(_), _) => Auth::Wrong,
            (None, _) => Auth::None,
        }
    }
}

/// What this pointer leads to, in the answer, becomes this; a key that is not there is added.
fn retyped(answer: Answer, pointer: &str, value: Value) -> Answer {
    let body = answer.body.as_deref().unwrap_or("null");
    let mut body: Value = serde_json::from_str(body).unwrap_or_default();
    match body.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => return answer,
    }
    Answer::json(answer.status, &body)
}

/// The `directory` of a query, percent-decoded.
fn directory_of(path: &str) -> Option<String> {
    let (_, query) = path.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("directory="))?;
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// As Basic authorisation has it (RFC 4648, section 4).
fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4 {
            let sextet = usize::try_from((bits >> (18 - 6 * place)) & 63).unwrap_or(0);
            let letter = ALPHABET.get(sextet).map_or('=', |letter| char::from(*letter));
            encoded.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_authorisation_is_encoded_with_its_padding() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(base64(text), encoded);
        }
        assert_eq!(base64("opencode:s3cret"), "b3BlbmNvZGU6czNjcmV0");
    }

    #[test]
    fn the_directory_of_a_query_is_decoded() {
        assert_eq!(directory_of("/path?directory=%2Fa%20b+c&x=1").unwrap(), "/a b c");
        assert_eq!(directory_of("/path"), None);
    }
}
