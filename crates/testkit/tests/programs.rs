//! The programs as other crates' tests find them, and the model server as a program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use dcli_testkit::programs::{ProgramMissing, program};
use serde_json::Value;

#[test]
fn the_programs_are_found_and_another_name_is_not() {
    for name in ["dcli-fake-agent", "dcli-hostile-tree", "dcli-model-server"] {
        assert!(program(name).unwrap().is_file());
    }
    assert!(matches!(program("dcli-nothing"), Err(ProgramMissing::Absent(_))));
}

#[test]
fn the_server_program_prints_its_port_and_logs_what_it_is_asked() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut server = Command::new(program("dcli-model-server").unwrap());
    server.args(["--scenario", r#"{"turns":[{"text":"hello"}]}"#, "--log"]).arg(log.path());
    let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = serde_json::from_str::<Value>(&line).unwrap()["port"].as_u64().unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", port.try_into().unwrap())).unwrap();
    let body = r#"{"model":"m","stream":true,"tools":[{"name":"Bash"}]}"#;
    let head = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(answer.contains("message_stop"), "{answer}");
    let logged: Value =
        serde_json::from_str(&std::fs::read_to_string(log.path()).unwrap()).unwrap();
    assert_eq!(logged["wire"], "anthropic");
}

#[test]
fn the_server_program_refuses_a_wrong_scenario() {
    let mut server = Command::new(program("dcli-model-server").unwrap());
    let output = server.args(["--scenario", r#"{"turn":[]}"#]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}
