//! As much HTTP/1.1 as a coding CLI needs from a server: requests in, heads out, bytes raw.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// A request head larger than this is refused.
const HEAD_LIMIT: usize = 64 * 1024;
/// Headers beyond this number are refused.
const HEADER_LIMIT: usize = 128;

/// A whole request.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    /// The body with any chunked framing taken off.
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// The first value of a header, by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All headers, their names in lower case.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The path without its query.
    pub(crate) fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }
}

/// Reads requests off one connection and keeps what was read too far.
#[derive(Debug)]
pub(crate) struct Reader {
    stream: TcpStream,
    pending: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, pending: Vec::new() }
    }

    /// The next whole request; `None` when the client closed the connection between two.
    pub(crate) fn next(&mut self) -> io::Result<Option<Incoming>> {
        let mut incoming = loop {
            if let Some((incoming, head)) = parse_head(&self.pending)? {
                self.pending.drain(..head);
                break incoming;
            }
            if self.pending.len() > HEAD_LIMIT {
                return Err(invalid("request head is too long"));
            }
            if self.more()? == 0 {
                return Ok(None);
            }
        };
        if incoming.header("expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        incoming.body = if incoming.is_chunked() {
            self.chunked()?
        } else {
            let length = incoming.header("content-length").unwrap_or("0");
            let length = length.trim().parse().map_err(|_| invalid("content-length"))?;
            self.exactly(length)?
        };
        Ok(Some(incoming))
    }

    /// Blocks until the client closes its end or the server shuts the connection down.
    pub(crate) fn until_closed(&mut self) {
        let mut scratch = [0; 4096];
        while matches!(self.stream.read(&mut scratch), Ok(n) if n > 0) {}
    }

    fn more(&mut self) -> io::Result<usize> {
        let mut scratch = [0; 16 * 1024];
        let n = self.stream.read(&mut scratch)?;
        self.pending.extend_from_slice(scratch.get(..n).unwrap_or_default());
        Ok(n)
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.pending.len() < length {
            if self.more()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.pending.split_off(length);
        Ok(std::mem::replace(&mut self.pending, rest))
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line = self.exactly(end + 1)?;
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            if self.more()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn skip_trailers(&mut self) -> io::Result<()> {
        while !self.line()?.is_empty() {}
        Ok(())
    }

    fn chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| invalid("chunk size"))?;
            if size == 0 {
                self.skip_trailers()?;
                return Ok(body);
            }
            body.extend(self.exactly(size)?);
            self.line()?;
        }
    }
}

fn parse_head(bytes: &[u8]) -> io::Result<Option<(Incoming, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = request.parse(bytes).map_err(invalid)? else {
        return Ok(None);
    };
    let header = |header: &httparse::Header<'_>| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    };
    let incoming = Incoming {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        headers: request.headers.iter().map(header).collect(),
        body: Vec::new(),
    };
    Ok(Some((incoming, length)))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Writes a whole JSON answer; the connection stays usable after it.
pub(crate) fn write_json(
    stream: &mut TcpStream,
    status: u16,
    body: &serde_json::Value,
    extra: &[(&str, String)],
) -> io::Result<()> {
    let body = body.to_string();
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    head += "content-type: application/json\r\n";
    for (name, value) in extra {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes())
}

/// Writes an empty answer, as for HEAD.
pub(crate) fn write_empty(stream: &mut TcpStream, status: u16) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status} {}\r\ncontent-length: 0\r\n\r\n", reason(status));
    stream.write_all(head.as_bytes())
}

/// Writes the head of an event stream that ends when the connection closes. Without chunked
/// framing a cut is an early end of the stream, which is the harder case for a client to notice.
pub(crate) fn write_stream_head(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
          cache-control: no-cache\r\nconnection: close\r\n\r\n",
    )
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}
