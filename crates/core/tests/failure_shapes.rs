//! What the real CLIs print when something fails, and what it is taken for.
//!
//! `corpus/failures/<cli>-<version>.<shape>.txt` holds one recorded run each: what happened and what
//! has to be made of it, then standard output without its opening records and the end of standard
//! error, as they were printed. A server on loopback gave the answers, worded as the vendors word
//! theirs; the CLIs' own retries were off where they have a setting for it.
#![expect(clippy::disallowed_methods, reason = "the purity of core does not bind its tests")]
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use dcli_core::decode::DEFAULT_LINE_CAP;
use dcli_core::envelope::ErrorCode;
use dcli_core::executor::{Catalogue, Record, Scan, Scanner};
use dcli_core::exit::FailureClass;
use dcli_core::failure::{Confidence, Failure, FailureSource};
use dcli_core::outcome::{Ending, Limit, Surroundings, conclude};
use serde::Deserialize;
use serde_json::Value;

/// The head of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    about: String,
    exit: Option<i32>,
    deadline: Option<String>,
    expected: Expected,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    class: FailureClass,
    http_code: Option<u16>,
    retryable: Option<bool>,
    retry_at: Option<Value>,
    source: FailureSource,
    confidence: Confidence,
    matched_signal: Option<String>,
}

struct Recorded {
    cli: String,
    shape: String,
    head: Head,
    stdout: String,
    stderr: String,
}

fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/failures");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Recorded {
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rest) = text.split_once("--- stdout\n").unwrap();
    let (stdout, stderr) = rest.split_once("--- stderr\n").unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap();
    let (cli, shape) = name.rsplit_once('.').unwrap();
    Recorded {
        cli: cli.to_owned(),
        shape: shape.to_owned(),
        head: toml::from_str(head).unwrap(),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

fn record_of(cli: &str) -> Arc<Record> {
    let id = cli.split('-').next().unwrap();
    Arc::clone(&Catalogue::shipped().unwrap().find(id).unwrap().record)
}

fn scanned(record: &Arc<Record>, stdout: &str) -> Scan {
    let mut scanner = Scanner::new(Arc::clone(record), 1 << 26);
    scanner.push(stdout.as_bytes(), |_| {});
    scanner.finish(|_| {})
}

fn judged(cli: &str, ending: &Ending, stdout: &str, stderr: &str) -> (ErrorCode, Failure) {
    let record = record_of(cli);
    let stderr_signals = &record.output.stderr_signals;
    let around = Surroundings { stderr, stderr_signals, ..Surroundings::default() };
    conclude(ending, &scanned(&record, stdout), &around).error.unwrap()
}

impl Recorded {
    fn judged(&self) -> (ErrorCode, Failure) {
        let ending = match self.head.exit {
            Some(code) => Ending::Exited(code),
            None => {
                assert_eq!(self.head.deadline.as_deref(), Some("idle"), "{}", self.shape);
                Ending::Deadline(Limit::Idle)
            }
        };
        judged(&self.cli, &ending, &self.stdout, &self.stderr)
    }
}

fn as_expected(failure: Failure) -> Expected {
    Expected {
        class: failure.class,
        http_code: failure.http_code,
        retryable: failure.retryable,
        retry_at: failure.retry_at,
        source: failure.source,
        confidence: failure.confidence,
        matched_signal: failure.matched_signal,
    }
}

#[test]
fn every_recorded_failure_is_taken_for_what_it_was() {
    let wrong: Vec<String> = recorded()
        .iter()
        .map(|recorded| (recorded, as_expected(recorded.judged().1)))
        .filter(|(recorded, found)| recorded.head.expected != *found)
        .map(|(recorded, found)| {
            let (cli, shape, expected) = (&recorded.cli, &recorded.shape, &recorded.head.expected);
            format!("{cli}.{shape}\n  expected {expected:?}\n  found    {found:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_cli_lacks_a_kind_of_failure_and_each_kind_has_its_class() {
    use FailureClass::{
        Auth, BackendExecutionFailed as Backend, Network, QuotaOrRateLimit as Quota, Timeout,
    };
    // Codex waits for the network without an end: a deadline of ours ends it.
    let kinds: &[(&[&str], &[FailureClass])] = &[
        (&["401-auth"], &[Auth]),
        (&["401-credit"], &[Quota]),
        (&["402-credit", "402-billing"], &[Quota]),
        (&["429-retry-after", "429-retry-delay"], &[Quota]),
        (&["500"], &[Backend]),
        (&["529-overloaded"], &[Backend]),
        (&["404-model"], &[Backend]),
        (&["400-context"], &[Backend]),
        (&["not-logged-in", "missing-key", "no-key"], &[Auth]),
        (&["refused"], &[Network, Timeout]),
    ];
    let all = recorded();
    let clis: BTreeSet<&str> = all.iter().map(|recorded| recorded.cli.as_str()).collect();
    assert_eq!(clis.len(), 6, "{clis:?}");
    for (cli, (shapes, classes)) in clis.iter().flat_map(|cli| kinds.iter().map(move |k| (cli, k)))
    {
        let of_kind = |recorded: &&Recorded| {
            recorded.cli == *cli && shapes.contains(&recorded.shape.as_str())
        };
        let found: Vec<FailureClass> =
            all.iter().filter(of_kind).map(|recorded| recorded.head.expected.class).collect();
        assert!(found.iter().any(|class| classes.contains(class)), "{cli} {shapes:?}: {found:?}");
    }
}

/// The rows of the page: one for each shape and what it is taken for.
fn rows() -> String {
    let mut rows: BTreeMap<(u8, String), (String, BTreeSet<String>)> = BTreeMap::new();
    for recorded in recorded() {
        let (expected, shape) = (&recorded.head.expected, &recorded.shape);
        let retryable = match expected.retryable {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let when = expected.retry_at.as_ref().map_or_else(String::new, |at| format!("`{at}`"));
        let (class, about) = (expected.class, &recorded.head.about);
        let row = format!("`{shape}`: {about} | `{class}` | {retryable} | {when}");
        let key = (class.exit_code(), row);
        rows.entry(key).or_default().1.insert(recorded.cli.clone());
    }
    let lines = rows.iter().map(|((_, row), (_, clis))| {
        let clis: Vec<&str> = clis.iter().map(String::as_str).collect();
        format!("| {row} | {} |\n", clis.join(", "))
    });
    lines.collect()
}

#[test]
fn the_page_on_exit_codes_lists_every_recorded_failure() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exit-codes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = rows();
    assert!(page.contains(&rows), "docs/exit-codes.md needs these rows:\n{rows}");
}

#[test]
fn a_bare_number_never_classifies() {
    let message = "wrote 401 lines, 429 words, 500 bytes (402, 529)";
    let streams = [
        ("claude", format!(r#"{{"type":"result","is_error":true,"result":"{message}"}}"#)),
        ("codex", format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#)),
        ("opencode", format!(r#"{{"type":"error","error":{{"data":{{"message":"{message}"}}}}}}"#)),
        (
            "gemini",
            format!(
                r#"{{"type":"result","status":"error","error":{{"message":"[API Error: {message}]"}}}}"#
            ),
        ),
        ("qwen", format!(r#"{{"type":"result","result":"[API Error: {message}]"}}"#)),
    ];
    for (cli, stream) in streams {
        let failure = judged(cli, &Ending::Exited(1), &(stream + "\n"), message).1;
        assert_eq!(failure.class, FailureClass::BackendExecutionFailed, "{cli}: {failure:?}");
        assert_eq!(failure.http_code, None, "{cli}: {failure:?}");
        assert_eq!(failure.confidence, Confidence::Low, "{cli}: {failure:?}");
    }
}

#[test]
fn a_noted_cause_is_forgotten_when_the_backend_goes_on() {
    let noted = r#"{"type":"assistant","error":"billing_error","message":{}}"#;
    let went_on = r#"{"type":"assistant","message":{}}"#;
    let failed = r#"{"type":"result","is_error":true,"subtype":"success","result":"it broke"}"#;
    let class = |lines: &[&str]| {
        judged("claude", &Ending::Exited(1), &(lines.join("\n") + "\n"), "").1.class
    };
    assert_eq!(class(&[noted, failed]), FailureClass::QuotaOrRateLimit);
    assert_eq!(class(&[noted, went_on, failed]), FailureClass::BackendExecutionFailed);
}

#[test]
fn a_window_that_was_not_rejected_says_nothing_about_trying_again() {
    let event = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1788625200}}}}"#
        )
    };
    let failed = |words: &str| {
        format!(r#"{{"type":"result","is_error":true,"subtype":"success","result":"{words}"}}"#)
    };
    let at = |status: &str, words: &str| {
        let stream = format!("{}\n{}\n", event(status), failed(words));
        judged("claude", &Ending::Exited(0), &stream, "").1.retry_at
    };
    let limit = "You've hit your limit · resets 1pm (Europe/Lisbon)";
    assert_eq!(at("rejected", limit), Some(Value::from(1_788_625_200)));
    assert_eq!(at("allowed", limit), Some(Value::from("1pm (Europe/Lisbon)")));
    assert_eq!(at("allowed", "API Error: Rate limit reached"), None);
    assert_eq!(at("rejected", "Not logged in"), None);
    assert_eq!(at("allowed", "Limit reached. Resets in 2h39m52s"), Some(Value::from("2h39m52s")));
}

#[test]
fn an_attempt_counts_only_where_no_final_word_comes() {
    let attempt = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)"}"#;
    let last = r#"{"type":"turn.failed","error":{"message":"error sending request"}}"#;
    let class = |stream: String| judged("codex", &Ending::Exited(1), &stream, "").1.class;
    assert_eq!(class(format!("{attempt}\n")), FailureClass::Auth);
    assert_eq!(class(format!("{attempt}\n{last}\n")), FailureClass::Network);
}

#[test]
fn standard_error_explains_what_the_record_does_not_and_nothing_else() {
    let opaque =
        r#"{"type":"error","error":{"name":"UnknownError","data":{"message":"see logs"}}}"#;
    let plain =
        r#"{"type":"error","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}"#;
    let judged = |record: &str| {
        let stderr = "SQLiteError: database is locked";
        judged("opencode", &Ending::Exited(1), &format!("{record}\n"), stderr).1
    };
    let locked = judged(opaque);
    assert_eq!((locked.class, locked.retryable), (FailureClass::Lock, Some(true)));
    assert_eq!((locked.source, locked.message.as_str()), (FailureSource::Stderr, "see logs"));
    assert_eq!(judged(plain).class, FailureClass::Auth);
}

#[test]
fn an_exit_0_without_a_word_is_explained_by_standard_error() {
    let judged = |stdout: &str, stderr: &str| {
        let (code, failure) = judged("opencode", &Ending::Exited(0), stdout, stderr);
        (code, failure.class, failure.message)
    };
    let (code, class, message) = judged("", "Error: database is locked\nparams: x\n");
    assert_eq!((code, class), (ErrorCode::ExecutorRunFailed, FailureClass::Lock));
    assert!(message.ends_with("Error: database is locked"), "{message}");
    let quiet = judged("", "warning: nothing that is recorded");
    assert_eq!((quiet.0, quiet.1), (ErrorCode::ExecutorNoResult, FailureClass::NoResult));
}

#[test]
fn what_a_backend_says_without_measure_is_bounded_where_records_keep_it() {
    let catalogue = Catalogue::shipped().unwrap();
    let record = &catalogue.find("codex").unwrap().record;
    let stream = format!(
        "{{\"type\":\"thread.started\",\"thread_id\":\"{}\"}}\n\
         {{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{}\"}}}}\n",
        "t".repeat(5000),
        "é".repeat(1 << 20)
    );
    let mut scanner = Scanner::new(Arc::clone(record), DEFAULT_LINE_CAP);
    scanner.push(stream.as_bytes(), |_| {});
    let scan = scanner.finish(|_| {});
    assert_eq!(scan.session, None);
    let message = scan.failure.unwrap().message;
    assert!(message.len() < 17 * 1024 && message.ends_with("… (cut)"), "{}", message.len());
}
