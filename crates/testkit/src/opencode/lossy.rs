//! A bad line between dcli and its server: started in the place of opencode, it starts the real one
//! as its child and forwards what is asked, with faults by seed.
//!
//! `LOSSY_PROGRAM` names the real one, `LOSSY_SEED`, `LOSSY_RATE` (of a hundred answers), `LOSSY_STALL_MS`
//! and `LOSSY_REPEATS` (`1`: also what changes something may arrive twice) say what goes wrong.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::description::operation;
use super::dice::{Dice, Mishap};
use crate::model::http::{Incoming, Reader};

/// What the line that announces the address begins with.
const SIGN: &str = "opencode server listening on http://";
/// The longest that the real server is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the bad line with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            drop(writeln!(io::stderr(), "dcli-lossy-opencode: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<u8> {
    let program = std::env::var_os("LOSSY_PROGRAM");
    let program = program.ok_or_else(|| io::Error::other("LOSSY_PROGRAM is not set"))?;
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let mut command = Command::new(program);
    command.args(&arguments);
    if arguments.first().is_none_or(|verb| verb != "serve") {
        return Ok(code(command.status()?));
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let Some(stdout) = child.stdout.take() else { return Err(io::Error::other("no output")) };
    std::thread::spawn(move || {
        // The end of the real server is the end of this one.
        let code = child.wait().map_or(2, code);
        std::process::exit(i32::from(code));
    });
    let (mut lines, mut out) = (BufReader::new(stdout), io::stdout());
    let mut line = String::new();
    let behind = loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the real server announced nothing"));
        }
        match line.trim().strip_prefix(SIGN) {
            Some(address) => break address.to_owned(),
            None => out.write_all(line.as_bytes())?,
        }
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    writeln!(out, "{SIGN}{}", listener.local_addr()?)?;
    out.flush()?;
    std::thread::spawn(move || drop(io::copy(&mut lines, &mut io::stdout())));
    let line = Arc::new(Line { behind, dice: dice(), calls: Mutex::default() });
    for stream in listener.incoming() {
        let (stream, line) = (stream?, Arc::clone(&line));
        std::thread::spawn(move || drop(line.serve(stream)));
    }
    Ok(0)
}

fn code(status: std::process::ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}

fn dice() -> Dice {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    Dice {
        seed: number("LOSSY_SEED", 1),
        rate: number("LOSSY_RATE", 20),
        stall_ms: number("LOSSY_STALL_MS", 2000),
        repeats: number("LOSSY_REPEATS", 0) == 1,
    }
}

struct Line {
    /// Address of the real server.
    behind: String,
    dice: Dice,
    calls: Mutex<BTreeMap<String, u64>>,
}

impl Line {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let mut reader = Reader::new(client.try_clone()?);
        while let Some(incoming) = reader.next()? {
            let goes_on = self.pass(&incoming, &mut client)?;
            let is_last = incoming.header("connection").is_some_and(|it| it == "close");
            if !goes_on || is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    fn count(&self, route: &str) -> u64 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = calls.entry(route.to_owned()).or_default();
        *calls += 1;
        *calls
    }

    /// Forwards one request; false: the connection is over.
    fn pass(&self, incoming: &Incoming, client: &mut TcpStream) -> io::Result<bool> {
        let route = operation(&incoming.method, incoming.bare_path()).unwrap_or_default().0;
        let nth = self.count(&route);
        if route == "GET /event" {
            self.events(incoming, client, self.dice.cut_of_events(nth))?;
            return Ok(false);
        }
        let mishap = self.dice.cast(&route, nth);
        match mishap {
            Mishap::LostBefore => return Ok(false),
            Mishap::Stall(pause) => {
                std::thread::sleep(Duration::from_millis(pause));
                return Ok(false);
            }
            Mishap::Delay(pause) => std::thread::sleep(Duration::from_millis(pause)),
            _ => {}
        }
        let answer = self.ask(incoming)?;
        match mishap {
            Mishap::LostAfter => Ok(false),
            Mishap::Cut(hundredths) => {
                let cut = answer.len() * usize::try_from(hundredths).unwrap_or(50) / 100;
                client.write_all(answer.get(..cut).unwrap_or_default())?;
                Ok(false)
            }
            Mishap::Twice => {
                self.ask(incoming)?;
                client.write_all(&answer)?;
                Ok(true)
            }
            Mishap::Pieces(bytes) => {
                client.set_nodelay(true)?;
                // Few and small: a long answer may not take for ever.
                let size = usize::try_from(bytes).unwrap_or(1).max(answer.len() / 200);
                for piece in answer.chunks(size) {
                    client.write_all(piece)?;
                    std::thread::sleep(Duration::from_micros(500));
                }
                Ok(true)
            }
            _ => {
                client.write_all(&answer)?;
                Ok(true)
            }
        }
    }

    fn open(&self, incoming: &Incoming) -> io::Result<TcpStream> {
        let mut server = TcpStream::connect(&self.behind)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", incoming.method, incoming.path);
        for (name, value) in incoming.headers() {
            if !["connection", "transfer-encoding", "content-length", "expect"].contains(&name) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        head += &format!("connection: close\r\ncontent-length: {}\r\n\r\n", incoming.body.len());
        server.write_all(head.as_bytes())?;
        server.write_all(&incoming.body)?;
        Ok(server)
    }

    /// The whole answer, as it came.
    fn ask(&self, incoming: &Incoming) -> io::Result<Vec<u8>> {
        let mut server = self.open(incoming)?;
        server.set_read_timeout(Some(PATIENCE))?;
        let (mut answer, mut chunk) = (Vec::new(), [0; 16 * 1024]);
        // The real server was seen to keep connections open that were to be closed.
        while !is_whole(&answer) {
            match server.read(&mut chunk)? {
                0 => break,
                count => answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            }
        }
        Ok(answer)
    }

    /// A stream of events, up to `most` bytes.
    fn events(
        &self,
        incoming: &Incoming,
        client: &mut TcpStream,
        most: Option<u64>,
    ) -> io::Result<()> {
        let server = self.open(incoming)?;
        io::copy(&mut server.take(most.unwrap_or(u64::MAX)), client)?;
        Ok(())
    }
}

/// Whether an answer is all there, by its head; without one it is not.
fn is_whole(answer: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = response.parse(answer) else { return false };
    let header = |name: &str| {
        let mut all = response.headers.iter().filter(|one| one.name.eq_ignore_ascii_case(name));
        all.next().map(|one| String::from_utf8_lossy(one.value).into_owned())
    };
    if response.code == Some(204) {
        return true;
    }
    match header("content-length").and_then(|length| length.trim().parse::<usize>().ok()) {
        Some(length) => answer.len() >= head + length,
        None => header("transfer-encoding").is_some() && answer.ends_with(b"0\r\n\r\n"),
    }
}
