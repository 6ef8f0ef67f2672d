//! The fake opencode and the bad line in front of it, as processes, over real connections.
#![expect(clippy::unwrap_used, reason = "what stages a server may fail its test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use dcli_testkit::opencode::{
    Auth, Fault, Kind, LOG_VARIABLE, Request, SCRIPT_VARIABLE, Script, Step, Tool,
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

const FAKE: &str = env!("CARGO_BIN_EXE_dcli-fake-opencode");
const LOSSY: &str = env!("CARGO_BIN_EXE_dcli-lossy-opencode");
/// `opencode:s3cret`
const RIGHT: &str = "authorization: Basic b3BlbmNvZGU6czNjcmV0\r\n";

/// A server, ended with the test.
struct Server {
    child: Child,
    address: String,
    room: TempDir,
}

impl Server {
    fn start(script: &Script) -> Self {
        Self::start_as(FAKE, script, &[])
    }

    fn start_as(program: &str, script: &Script, variables: &[(&str, &str)]) -> Self {
        let room = TempDir::new().unwrap();
        script.save(&room.path().join("script.json")).unwrap();
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--hostname", "127.0.0.1"]).current_dir(room.path());
        command.env(SCRIPT_VARIABLE, room.path().join("script.json"));
        command.env(LOG_VARIABLE, room.path().join("log.jsonl"));
        command.env("OPENCODE_SERVER_PASSWORD", "s3cret").envs(variables.iter().copied());
        command.process_group(0);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let sign = "opencode server listening on http://";
        let address = lines.find_map(|line| line.strip_prefix(sign).map(str::to_owned)).unwrap();
        // What else it prints has to go somewhere.
        std::thread::spawn(move || lines.count());
        Self { child, address, room }
    }

    fn log(&self) -> Vec<Request> {
        Request::all(&self.room.path().join("log.jsonl")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Everything that comes back on a connection of its own.
    fn raw(&self, method: &str, path: &str, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{head}");
        write!(stream, "{head}content-length: {length}\r\n\r\n{body}").unwrap();
        stream.set_read_timeout(Some(HANG_LIMIT)).unwrap();
        let mut text = String::new();
        // A connection that is reset has said what it had to say.
        let _cut = stream.read_to_string(&mut text);
        text
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let text = self.raw(method, path, RIGHT, &body);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// A session with a prompt: its id.
    fn prompted(&self) -> String {
        let (_, session) = self.call("POST", "/session", &json!({"title": "t", "permission": []}));
        let id = session["id"].as_str().unwrap().to_owned();
        let prompt = json!({"parts": [{"type": "text", "text": "go"}], "messageID": "msg_own"});
        assert_eq!(self.call("POST", &format!("/session/{id}/prompt_async"), &prompt).0, 204);
        id
    }

    /// The messages of a session once its last one is complete and it is idle.
    fn settled(&self, id: &str) -> Value {
        let find = || {
            // In this order: what is idle says nothing more.
            let is_idle = self.get("/session/status").get(id).is_none();
            let messages = self.get(&format!("/session/{id}/message"));
            let is_over = messages.as_array()?.last()?.pointer("/info/time/completed").is_some();
            (is_over && is_idle).then_some(messages)
        };
        wait_for("an idle session", HANG_LIMIT, find).unwrap()
    }

    fn asked(&self, list: &str) -> Value {
        let first = || self.get(list).as_array().and_then(|all| all.first().cloned());
        wait_for("an ask", HANG_LIMIT, first).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server behind a bad line is in the same group.
        let group = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        let _gone = kill_process_group(group, Signal::KILL);
        self.child.wait().unwrap();
    }
}

#[test]
fn a_request_without_the_password_is_401_and_empty() {
    let server = Server::start(&Script::default());
    for head in ["", "authorization: Basic b3BlbmNvZGU6d3Jvbmc=\r\n"] {
        let text = server.raw("GET", "/global/health", head, "");
        assert!(text.starts_with("HTTP/1.1 401 ") && text.ends_with("\r\n\r\n"), "{text}");
    }
    assert_eq!(
        server.get("/global/health?directory=%2Fa"),
        json!({"healthy": true, "version": "1.18.33"})
    );
    let log = server.log();
    let auth: Vec<_> = log.iter().map(|request| request.auth).collect();
    assert_eq!(auth, [Auth::None, Auth::Wrong, Auth::Right]);
    assert_eq!(log[2].directory.as_deref(), Some("/a"));
    assert!(!std::fs::read_to_string(server.path("log.jsonl")).unwrap().contains("s3cret"));
}

#[test]
fn a_text_is_a_message_with_a_step_that_finished_with_stop() {
    let server = Server::start(&Script::default());
    let id = server.prompted();
    let messages = server.settled(&id);
    assert_eq!(messages[0]["info"]["id"], "msg_own");
    assert_eq!(messages[1]["info"]["finish"], "stop");
    let kinds = messages[1]["parts"].as_array().unwrap().iter().map(|part| part["type"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["step-start", "text", "step-finish"]);
    assert_eq!(messages[1]["parts"][2]["tokens"]["total"], 26);
}

#[test]
fn a_tool_waits_for_leave_and_a_reject_without_words_stops_the_turn() {
    let tools = || Step::Tools(vec![Tool::bash("touch x").writing("x", "made")]);
    let turn = |reply: Value| {
        let server = Server::start(&Script::of([tools(), Step::Text("after".into())]));
        let id = server.prompted();
        let asked = server.asked("/permission");
        assert!(server.get("/session/status")[&id]["type"] == "busy" && asked["sessionID"] == *id);
        let path = format!("/permission/{}/reply", asked["id"].as_str().unwrap());
        assert_eq!(server.call("POST", &path, &reply), (200, json!(true)));
        assert_eq!(server.call("POST", &path, &reply).0, 404);
        let messages = server.settled(&id);
        let state = messages[1]["parts"][1]["state"].clone();
        (server.path("x").exists(), state, messages.as_array().unwrap().len())
    };
    let (is_made, state, messages) = turn(json!({"reply": "once"}));
    assert!(is_made && state["status"] == "completed" && messages == 3);
    let (is_made, state, messages) = turn(json!({"reply": "reject", "message": "not now"}));
    assert!(!is_made && messages == 3, "{state}");
    assert!(state["error"].as_str().unwrap().ends_with("feedback: not now"));
    let (is_made, _, messages) = turn(json!({"reply": "reject"}));
    assert!(!is_made && messages == 2);
}

#[test]
fn a_reject_takes_along_what_else_is_asked_in_its_session() {
    let tools =
        vec![Tool::bash("touch a").writing("a", ""), Tool::bash("touch b").writing("b", "")];
    let server = Server::start(&Script::of([Step::Tools(tools), Step::Text("after".into())]));
    let id = server.prompted();
    let both = || server.get("/permission").as_array().filter(|all| all.len() == 2).cloned();
    let asked = wait_for("two asks", HANG_LIMIT, both).unwrap();
    let path = format!("/permission/{}/reply", asked[0]["id"].as_str().unwrap());
    server.call("POST", &path, &json!({"reply": "reject", "message": "no"}));
    let messages = server.settled(&id);
    assert_eq!(messages.as_array().unwrap().len(), 2, "the turn went on");
    assert!(!server.path("a").exists() && !server.path("b").exists());
}

#[test]
fn a_child_is_a_session_of_its_own_that_asks_in_its_own_name() {
    let child = Step::Child(vec![Step::Tools(vec![Tool::bash("ls")]), Step::Text("done".into())]);
    let server = Server::start(&Script::of([child, Step::Text("after".into())]));
    let id = server.prompted();
    let asked = server.asked("/permission");
    let children = server.get(&format!("/session/{id}/children"));
    assert_eq!(asked["sessionID"], children[0]["id"]);
    let path = format!("/permission/{}/reply", asked["id"].as_str().unwrap());
    server.call("POST", &path, &json!({"reply": "once"}));
    assert_eq!(server.settled(&id).as_array().unwrap().len(), 3);
}

#[test]
fn an_unknown_model_is_dropped_in_silence_and_an_abort_ends_what_stalls() {
    let server = Server::start(&Script::of([Step::Stall(true)]));
    let (_, session) = server.call("POST", "/session", &json!({}));
    let path = format!("/session/{}", session["id"].as_str().unwrap());
    let model = json!({"providerID": "stub", "modelID": "nope"});
    let prompt = json!({"parts": [], "model": model});
    assert_eq!(server.call("POST", &format!("{path}/prompt_async"), &prompt).0, 204);
    assert_eq!(server.get(&format!("{path}/message")).as_array().unwrap().len(), 1);
    let id = server.prompted();
    wait_for("busy", HANG_LIMIT, || server.get("/session/status").get(&id).cloned()).unwrap();
    server.call("POST", &format!("/session/{id}/abort"), &Value::Null);
    let messages = server.settled(&id);
    assert_eq!(messages[1]["info"]["error"]["name"], "MessageAbortedError");
}

#[test]
fn faults_strike_where_the_script_has_them() {
    let script = Script::default()
        .with(Fault::of("GET /permission", Kind::Status(500)).times(1))
        .with(Fault::of("GET /question", Kind::Drop).times(1))
        .with(Fault::of("GET /path", Kind::Retype("/directory".into(), json!(7))));
    let server = Server::start(&script);
    assert_eq!(server.call("GET", "/permission", &Value::Null).0, 500);
    assert_eq!(server.get("/permission"), json!([]));
    assert_eq!(server.raw("GET", "/question", RIGHT, ""), "");
    assert_eq!(server.get("/question"), json!([]));
    assert_eq!(server.get("/path")["directory"], 7);
}

#[test]
fn a_bad_line_loses_answers_and_forwards_the_others_whole() {
    let variables = [("LOSSY_PROGRAM", FAKE), ("LOSSY_RATE", "50"), ("LOSSY_STALL_MS", "20")];
    let server = Server::start_as(LOSSY, &Script::default(), &variables);
    let health = json!({"healthy": true, "version": "1.18.33"});
    let answers = (0..60).map(|_| server.call("GET", "/global/health", &Value::Null));
    let (whole, lost): (Vec<_>, Vec<_>) = answers.partition(|answer| answer.1 == health);
    assert!(whole.len() > 10 && lost.len() > 5, "{} {}", whole.len(), lost.len());
    assert!(lost.iter().all(|answer| answer.1.is_null()));
}

#[test]
fn a_bad_line_ends_as_the_server_behind_it_ends() {
    let variables = [("LOSSY_PROGRAM", FAKE), ("LOSSY_RATE", "0")];
    let mut server = Server::start_as(LOSSY, &Script::of([Step::Exit(7)]), &variables);
    let (_, session) = server.call("POST", "/session", &json!({}));
    let path = format!("/session/{}/prompt_async", session["id"].as_str().unwrap());
    // Whether the prompt is still answered is a matter of luck.
    server.call("POST", &path, &json!({"parts": []}));
    assert_eq!(server.child.wait().unwrap().code(), Some(7));
}
