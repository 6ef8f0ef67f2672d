//! What the server does wrong on purpose, and what it keeps about each request.

mod common;

use std::io::{Read as _, Write as _};

use common::{connect, events, joined, json_body, post, receive, send};
use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::model::{Auth, Cut, Scenario, Server, Stall, Turn, Wire};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";

fn main_body() -> Value {
    let bash = json!({"type": "function", "function": {"name": "bash"}});
    json!({"model": "m", "stream": true, "tools": [bash]})
}

fn text_of(answer: &str) -> String {
    joined(&events(answer), "/choices/0/delta/content")
}

#[test]
fn main_requests_take_the_turns_in_order_and_the_last_one_repeats() {
    let server = Server::start(Scenario::of([Turn::text("one"), Turn::text("two")])).unwrap();
    let title = post(&server, CHAT, &json!({"model": "m", "stream": true}));
    assert_eq!(text_of(&title), "scripted title");
    for expected in ["one", "two", "two"] {
        assert_eq!(text_of(&post(&server, CHAT, &main_body())), expected);
    }
    let mains: Vec<_> = server.requests().iter().map(|logged| logged.main).collect();
    assert_eq!(mains, [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn each_status_carries_its_vendor_body_and_retry_after() {
    for status in [400, 401, 404, 429, 500, 529] {
        let message = Some("so it goes".to_owned());
        let turn = Turn { retry_after: Some(2), message, ..Turn::status(status) };
        let server = Server::start(Scenario::of([turn])).unwrap();
        for (path, pointer) in [
            ("/v1/messages", "/error/message"),
            ("/v1/responses", "/error/message"),
            (CHAT, "/error/message"),
            ("/v1beta/models/g:generateContent", "/error/message"),
        ] {
            let answer = post(
                &server,
                path,
                &json!({"tools": [{"name": "Bash"}, {
                "functionDeclarations": [{"name": "shell"}]}]}),
            );
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(answer.contains("\r\nretry-after: 2\r\n"), "{answer}");
            assert_eq!(json_body(&answer).pointer(pointer).unwrap(), "so it goes");
        }
        assert!(server.requests().iter().all(|logged| logged.usage.is_none()));
    }
}

#[test]
fn a_stall_before_the_headers_sends_nothing_until_the_client_leaves() {
    let server = Server::start(Scenario::of([Turn::stalled(Stall::Headers)])).unwrap();
    let client = send(&server, CHAT, "", &main_body());
    let seen = server.wait_requests(1, HANG_LIMIT).unwrap();
    assert_eq!(seen[0].status, None);
    client.set_nonblocking(true).unwrap();
    let nothing = (&client).read(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    drop(client);
    server.wait_left(0, HANG_LIMIT).unwrap();
}

#[test]
fn a_stall_in_the_middle_ends_only_when_the_server_stops() {
    let server = Server::start(Scenario::of([Turn::stalled(Stall::Mid)])).unwrap();
    let mut client = send(&server, CHAT, "", &main_body());
    let mut seen = String::new();
    while !seen.contains("\"content\":\"these") {
        let mut byte = [0; 512];
        let n = client.read(&mut byte).unwrap();
        assert_ne!(n, 0, "the stream ended at {seen}");
        seen += std::str::from_utf8(&byte[..n]).unwrap();
    }
    drop(server);
    let rest = receive(&mut client);
    assert!(!(seen + &rest).contains("[DONE]"));
}

#[test]
fn a_cut_closes_the_stream_after_the_first_piece() {
    let server = Server::start(Scenario::of([Turn::cut(Cut::Close)])).unwrap();
    let answer = post(&server, CHAT, &main_body());
    let text = text_of(&answer);
    assert!(!text.is_empty() && "these words are cut in the middle".starts_with(&text));
    assert!(!answer.contains("[DONE]"));
}

#[test]
fn a_reset_cut_is_an_error_to_the_client() {
    let server = Server::start(Scenario::of([Turn::cut(Cut::Reset)])).unwrap();
    let mut client = send(&server, CHAT, "", &main_body());
    let error = client.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn an_answer_that_calls_tools_only_can_be_cut_too() {
    let turn = Turn { cut: Some(Cut::Close), ..Turn::shell("ls") };
    let server = Server::start(Scenario::of([turn])).unwrap();
    assert!(!post(&server, CHAT, &main_body()).contains("tool_calls"));
}

#[test]
fn a_megabyte_arrives_whole() {
    let turn = Turn { bytes: Some(1 << 20), ..Turn::default() };
    let server = Server::start(Scenario::of([turn])).unwrap();
    assert_eq!(text_of(&post(&server, CHAT, &main_body())).len(), 1 << 20);
}

#[test]
fn a_client_that_leaves_during_a_hold_is_noticed() {
    let turn = Turn { hold_ms: 3_600_000, ..Turn::text("never finished") };
    let server = Server::start(Scenario::of([turn])).unwrap();
    drop(send(&server, CHAT, "", &main_body()));
    server.wait_left(0, HANG_LIMIT).unwrap();
}

#[test]
fn a_delayed_answer_still_comes_whole() {
    let turn = Turn { delay_ms: Some(30), hold_ms: 30, ..Turn::text("late but whole") };
    let server = Server::start(Scenario::of([turn])).unwrap();
    assert_eq!(text_of(&post(&server, CHAT, &main_body())), "late but whole");
}

#[test]
fn a_chunked_body_is_read_like_any_other_and_the_connection_lives_on() {
    let server = Server::start(Scenario::of([Turn::status(500)])).unwrap();
    let body = main_body().to_string();
    let (first, second) = body.split_at(10);
    let mut client = connect(&server);
    for _ in 0..2 {
        let head = format!("POST {CHAT} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
        let chunks = format!("a\r\n{first}\r\n{:x};x=y\r\n{second}\r\n0\r\n\r\n", second.len());
        client.write_all((head + &chunks).as_bytes()).unwrap();
        assert!(receive(&mut client).starts_with("HTTP/1.1 500 "));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, body.as_bytes());
}

#[test]
fn probes_get_an_answer_and_are_no_main_requests() {
    let server = Server::start(Scenario::text("x")).unwrap();
    let mut client = connect(&server);
    client.write_all(b"HEAD / HTTP/1.1\r\n\r\n").unwrap();
    assert!(receive(&mut client).starts_with("HTTP/1.1 200 "));
    client.write_all(b"GET /v1/models HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(json_body(&receive(&mut client))["data"][0]["id"], "stub-model");
    let count = post(&server, "/v1/messages/count_tokens", &main_body());
    assert_eq!(json_body(&count)["input_tokens"], 19);
    assert!(post(&server, "/elsewhere", &main_body()).starts_with("HTTP/1.1 404 "));
    assert!(server.main_requests().is_empty());
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn the_log_keeps_what_was_asked_but_no_credential() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start_logged(Scenario::text("x"), Some(log.path())).unwrap();
    let body = main_body();
    receive(&mut send(&server, CHAT, "Authorization: Bearer hush\r\n", &body));
    let logged = &server.requests()[0];
    assert_eq!(logged.auth, Some(Auth::Bearer));
    assert_eq!(logged.wire, Some(Wire::Chat));
    assert_eq!(logged.tools, ["bash"]);
    assert_eq!(logged.body_bytes, body.to_string().len());
    let text = std::fs::read_to_string(log.path()).unwrap();
    assert!(!text.contains("hush"));
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(line["model"], "m");
    assert_eq!(line["main"], 0);
}

#[test]
fn a_wait_that_is_not_met_is_a_hang_that_names_its_event() {
    let server = Server::start(Scenario::text("x")).unwrap();
    let hang = server.wait_requests(1, std::time::Duration::from_millis(1)).unwrap_err();
    assert!(hang.to_string().contains("1 requests"), "{hang}");
}
