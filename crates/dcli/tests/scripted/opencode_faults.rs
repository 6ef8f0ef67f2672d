//! A server that is not as it should be: each fault of the fake opencode, and what a job came to.

use dcli_testkit::opencode::{Fault, Kind, Script, Step, Tool};
use serde_json::{Value, json};

use crate::common::served::{PROMPT, Served, ending};
use crate::common::shown;

const ENVIRONMENT: &str = "failed environment 12";
const DONE: &str = "done null 0";
const MESSAGES: &str = "GET /session/{sessionID}/message";

/// A job of this script: it ended so, and its record says why.
#[track_caller]
fn ends(script: &Script, options: &[&str], expected: &str, needle: &str) -> Served {
    let served = Served::new(script);
    let (job, outcome) = served.ran(options);
    assert_eq!(ending(&job), expected, "{script:?}\n{outcome:?}\n{:#?}", served.log());
    let reason = job["failure"]["message"].as_str().unwrap_or_default();
    assert!(reason.contains(needle), "{needle:?} is not in: {reason}");
    assert!(served.calls(PROMPT) <= 1, "prompted more than once");
    served
}

fn with(fault: Fault) -> Script {
    Script::default().with(fault)
}

fn turn(steps: impl IntoIterator<Item = Step>) -> Script {
    Script::of(steps)
}

#[test]
fn a_turn_on_a_fake_server_is_done_and_every_request_is_authorised_and_placed() {
    let tool = Tool::bash("touch made").unasked().writing("made", "");
    let script = turn([Step::Tools(vec![tool]), Step::Text("the answer".into())]);
    let served = ends(&script, &["--access", "workspace"], DONE, "");
    served.assert_polite();
    assert_eq!((served.calls("POST /session"), served.calls(PROMPT)), (1, 1));
    shown("20", "scripted-server", "done; the password and the directory with every request");
}

#[test]
fn a_server_that_is_not_the_jobs_own_gets_no_session() {
    let open = Script { is_open: true, ..Script::default() };
    let elsewhere = Script { directory: Some("/".into()), ..Script::default() };
    let foreign = "opencode server listening on http://192.0.2.1:4096".to_owned();
    let foreign = Script { announce: Some(foreign), ..Script::default() };
    for (script, needle) in [
        (open, "without the job's password"),
        (elsewhere, "and not"),
        (foreign, "not an address of this machine"),
        (with(Fault::of("*", Kind::Status(401))), "does not take the job's password"),
        (Script { chatter: 3 << 20, announce: Some(String::new()), ..Script::default() }, "1 MiB"),
    ] {
        let served = ends(&script, &[], ENVIRONMENT, needle);
        assert_eq!(served.calls("POST /session"), 0);
    }
    shown(
        "20",
        "scripted-stranger",
        "open, elsewhere, foreign address, wrong password, chatter: 12",
    );
}

#[test]
fn a_server_that_lacks_what_is_used_gets_no_session_and_the_versions_are_named() {
    let health = "GET /global/health";
    let version = Fault::of(health, Kind::Retype("/version".into(), json!("9.0.0")));
    let lacking = Script { lacks: vec!["GET /question".into()], ..Script::default() };
    for (script, needle) in [
        (with(version), "9.0.0"),
        (lacking, "GET /question"),
        (with(Fault::of("GET /permission", Kind::Body(200, json!({})))), "GET /permission"),
        (with(Fault::of("GET /session/status", Kind::Body(200, json!([])))), "GET /session/status"),
        (with(Fault::of("GET /path", Kind::Retype("/directory".into(), json!(7)))), "directory"),
        (with(Fault::of(health, Kind::Body(200, json!({"healthy": true})))), "version"),
    ] {
        let served = ends(&script, &[], ENVIRONMENT, needle);
        assert_eq!(served.calls("POST /session"), 0);
    }
    shown("20", "scripted-negotiation", "version, operation, field, form: exit 12, no session");
}

#[test]
fn a_field_that_changes_its_type_later_is_exit_26() {
    let steps = || [Step::SleepMs(300), Step::Text("OK".into())];
    for (route, kind) in [
        ("GET /session/status", Kind::Body(200, json!([]))),
        ("GET /permission", Kind::Body(200, json!([{"id": 7}]))),
        (MESSAGES, Kind::Retype("/0/info".into(), json!("x"))),
    ] {
        let script = turn(steps()).with(Fault::of(route, kind).after_prompt());
        ends(&script, &[], "failed protocol 26", route);
    }
    shown("20", "scripted-retyped", "status, permission, message: exit 26");
}

#[test]
fn a_server_that_dies_in_a_turn_has_failed_whatever_its_exit_was() {
    for last in [Step::Exit(0), Step::Exit(3), Step::Kill(true)] {
        let script = turn([Step::SleepMs(200), last]);
        ends(&script, &[], "failed backend_execution_failed 10", "");
    }
    shown("20", "scripted-death", "exit 0, exit 3 and a kill in a turn: failed, 10");
}

#[test]
fn a_server_that_says_nothing_of_itself_or_of_the_end_is_ended_by_a_deadline() {
    let silent = Script { announce: Some(String::new()), ..Script::default() };
    ends(&silent, &["--startup-timeout-sec", "2"], "timed_out timeout 24", "startup");
    let stalled = turn([Step::Stall(true)]);
    ends(&stalled, &["--hard-timeout-sec", "4"], "timed_out timeout 24", "hard");
    let deaf = with(Fault::of("*", Kind::Stall).after_prompt());
    ends(&deaf, &["--hard-timeout-sec", "4"], "timed_out timeout 24", "hard");
    shown("20", "scripted-silence", "no announcement, a stall, no answers: timed_out");
}

#[test]
fn what_a_line_loses_is_asked_again_and_the_prompt_is_sent_once() {
    let slow = Kind::DelayMs(60);
    for (route, kind, times) in [
        ("POST /session", Kind::DropAfter, 1),
        ("POST /session", Kind::Drop, 1),
        (PROMPT, Kind::DropAfter, 1),
        (PROMPT, Kind::Cut, 1),
        (MESSAGES, Kind::Cut, 2),
        (MESSAGES, Kind::Drop, 2),
        ("GET /session/status", Kind::Status(500), 2),
        ("GET /permission", Kind::DropAfter, 2),
        ("GET /event", Kind::Status(500), 9),
        ("GET /event", Kind::Drop, 9),
        ("*", slow, 10_000),
    ] {
        let script = turn([Step::SleepMs(200), Step::Text("OK".into())]);
        let script = script.with(Fault::of(route, kind).times(times));
        let served = ends(&script, &[], DONE, "");
        assert_eq!(served.calls(PROMPT), 1, "{route}");
    }
    shown(
        "20",
        "scripted-lost",
        "session, prompt, messages, status, events lost: done, one prompt",
    );
}

#[test]
fn a_prompt_that_never_arrived_is_not_sent_again() {
    let script = with(Fault::of(PROMPT, Kind::Drop));
    let served = ends(&script, &[], "failed backend_execution_failed 10", "was not sent again");
    assert_eq!(served.calls(PROMPT), 1);
    shown("20", "scripted-unconfirmed", "one prompt, failed, and the message says so");
}

#[test]
fn event_streams_that_are_cut_cost_nothing() {
    let cut = || [Step::CutEvents(true), Step::SleepMs(200)];
    let steps = cut().into_iter().chain(cut()).chain([Step::Text("OK".into())]);
    ends(&turn(steps), &[], DONE, "");
    shown("20", "scripted-events", "two cuts of the event stream: done");
}

#[test]
fn errors_of_a_provider_have_their_class() {
    let error = |status: u16, name: &str| {
        let data = json!({"message": "no", "statusCode": status, "isRetryable": false});
        Step::Error(json!({"name": name, "data": data}))
    };
    ends(&turn([error(401, "APIError")]), &[], "failed auth 13", "no");
    ends(&turn([error(429, "APIError")]), &[], "failed quota_or_rate_limit 14", "no");
    let retried = turn([Step::Retry(1, 200), Step::Retry(2, 200), Step::Text("OK".into())]);
    ends(&retried, &[], DONE, "");
    let model = &["--model", "stub/nope"];
    ends(&Script::default(), model, "failed backend_execution_failed 10", "stub/nope");
    shown("20", "scripted-provider", "401, 429, retries, an unknown model: 13, 14, done, 10");
}

#[test]
fn a_large_answer_is_whole_and_chatter_of_the_server_is_no_record() {
    let script = Script { chatter: 200_000, ..turn([Step::Large(1 << 20)]) };
    let served = Served::new(&script);
    let (job, outcome) = served.ran::<&str>([]);
    assert_eq!((ending(&job), &job["result_bytes"]), (DONE.into(), &json!(1 << 20)), "{outcome:?}");
    shown("20", "scripted-large", "1 MiB of answer, 200 kB before and after the address: whole");
}

#[test]
fn a_cancel_aborts_the_session_and_ends_the_server() {
    let served = Served::new(&turn([]));
    let started = served.stage.path("tmp/started");
    turn([Step::Touch(started), Step::Stall(true)])
        .save(&served.stage.path("opencode.json"))
        .unwrap();
    let id = served.stage.submitted(served.job("submit").words("Do it."));
    served.stage.wait_file("tmp/started");
    served.stage.over(&["cancel", &id]);
    let job: Value = served.stage.waited(&id);
    assert_eq!(ending(&job), "cancelled cancelled 30", "{job:#}");
    assert_eq!(served.calls("POST /session/{sessionID}/abort"), 1, "{job:#}");
    shown("20", "scripted-cancel", "one abort, cancelled, nothing alive");
}

/// What a job came to that takes longer than one wait of a test.
fn outlasted(script: &Script) -> Value {
    let served = Served::new(script);
    let id = served.stage.submitted(served.job("submit").words("Do it."));
    for _ in 0..2 {
        served.stage.over(&["wait", &id, "--timeout-sec", "50"]);
    }
    served.stage.waited(&id)
}

#[test]
fn a_server_that_stops_answering_has_failed_without_any_deadline() {
    let deaf = with(Fault::of("*", Kind::Stall).after_prompt());
    let job = outlasted(&deaf);
    assert_eq!(ending(&job), "failed backend_execution_failed 10", "{job:#}");
    let reason = job["failure"]["message"].as_str().unwrap();
    assert!(reason.contains("did not answer for 60 s"), "{reason}");
    shown("20", "scripted-deaf", "no answer to anything after the prompt: failed, 10, after 60 s");
}

#[test]
fn a_server_whose_messages_cannot_be_had_is_never_done() {
    let script = with(Fault::of(MESSAGES, Kind::Stall).after_prompt());
    let served = Served::new(&script);
    let (job, outcome) = served.ran(["--hard-timeout-sec", "15"]);
    assert_eq!(ending(&job), "timed_out timeout 24", "{outcome:?}");
    shown("20", "scripted-mute", "no message can be read: the deadline ends it, never done");
}

#[test]
fn a_server_describes_itself_once_for_each_binary_and_version() {
    let served = Served::new(&Script::default());
    let doc = |served: &Served| served.calls("GET /doc");
    for _ in 0..3 {
        let (job, outcome) = served.ran::<&str>([]);
        assert_eq!(ending(&job), DONE, "{outcome:?}");
        assert_eq!(doc(&served), 1);
    }
    let newer = Script { version: "1.18.34".to_owned(), ..Script::default() };
    newer.save(&served.stage.path("opencode.json")).unwrap();
    served.ran::<&str>([]);
    assert_eq!(doc(&served), 2, "another version is another server");
}

#[test]
fn answers_that_are_whole_and_no_json_are_not_waited_for() {
    let fault = Fault::of("GET /global/health", Kind::Raw("<html>hello</html>".to_owned()));
    let served = ends(&with(fault), &[], ENVIRONMENT, "no JSON");
    assert_eq!(served.calls("POST /session"), 0);
    let fault = Fault::of(MESSAGES, Kind::Raw("<html>hello</html>".to_owned()));
    ends(&with(fault), &[], "failed protocol 26", "no JSON");
}
