//! A raw HTTP client: it sends exactly the bytes it is given and reads to the end of the stream.

#![expect(clippy::unwrap_used, reason = "only tests call this, and a broken exchange ends one")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::model::Server;
use serde_json::Value;

/// Opens a connection that cannot hang for longer than the hang limit.
pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(HANG_LIMIT)).unwrap();
    stream
}

/// Sends one POST with a content-length and asks for the connection to end after it.
pub(crate) fn send(server: &Server, path: &str, headers: &str, body: &Value) -> TcpStream {
    let mut stream = connect(server);
    let body = body.to_string();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n");
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    stream
}

/// Reads an answer that ends with the connection or with its content-length.
pub(crate) fn receive(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
                break;
            }
        }
        match stream.read(&mut byte).unwrap() {
            0 => break,
            n => bytes.extend_from_slice(&byte[..n]),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// The whole exchange of one POST.
pub(crate) fn post(server: &Server, path: &str, body: &Value) -> String {
    receive(&mut send(server, path, "", body))
}

/// The body of an answer that is one JSON value.
pub(crate) fn json_body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The JSON values of an answer's server-sent events; `[DONE]` becomes a string.
pub(crate) fn events(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}

/// All strings found under `pointer`, in order, as one text.
pub(crate) fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}
