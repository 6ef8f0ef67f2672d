//! Secrets: covered in all that is kept but the user's own content; records stay records.

use std::fs;
use std::path::Path;

use dcli::model::fact::{Fact, FactLine};
use dcli::model::job::event::{Event, JournalLine};
use dcli::model::redact::Redactor;
use dcli::store::attempt::LogName;
use dcli::store::new_job::NewJob;
use dcli::store::record::Durability;

use crate::{Scratch, id, line, repo};

const SECRET: &str = "correct-horse-battery";

fn redactor(values: &[&str]) -> Redactor {
    Redactor::new(values.iter().map(|value| ("NAME".to_owned(), (*value).to_owned())))
}

#[test]
fn a_secret_is_in_no_file_but_the_three_of_the_users_own_content() {
    let scratch = Scratch::new();
    let mut new = NewJob::create(&scratch.root, &repo(), &id(1), redactor(&[SECRET])).unwrap();
    let writer = new.writer();
    let text = serde_json::json!({"schema_version": 1, "message": format!("it is {SECRET}."),
        "deep": [{SECRET: SECRET}], "line": format!("{SECRET}\n")});
    let by = Event::CancelRequested { by: SECRET.to_owned() };
    writer.append(&JournalLine { event: by, ..line(1) }, Durability::Synced).unwrap();
    assert!(!writer.write_request(&text).unwrap(), "it was not written as it is");
    writer.write_status(&text, Durability::Unsynced).unwrap();
    writer.write_command(&text).unwrap();
    writer.write_envelope(&text).unwrap();
    let fact = Fact::AssistantText { message_id: None, text: format!("\"{SECRET}\"") };
    let fact = FactLine { schema_version: 1, seq: 1, at: String::new(), fact };
    writer.facts().unwrap().append(&fact, Durability::Unsynced).unwrap();
    for name in [LogName::Stdout, LogName::Stderr, LogName::Worker] {
        let mut log = writer.log(name).unwrap();
        let said = format!("before {SECRET} after");
        said.as_bytes().chunks(5).for_each(|chunk| log.push(chunk).unwrap());
        log.finish().unwrap();
        let kept = fs::read_to_string(writer.attempt().log(name)).unwrap();
        assert_eq!(kept, "before «redacted:NAME» after");
    }
    let own = [writer.attempt().prompt(), writer.attempt().result(), writer.attempt().findings()];
    writer.write_prompt(SECRET.as_bytes()).unwrap();
    writer.write_result(SECRET.as_bytes()).unwrap();
    writer.write_findings(SECRET.as_bytes()).unwrap();
    let mut files = Vec::new();
    collect(writer.dir().path(), &mut files);
    assert!(files.len() >= 11, "{files:?}");
    for file in &files {
        let has_secret = String::from_utf8_lossy(&fs::read(file).unwrap()).contains(SECRET);
        assert_eq!(has_secret, own.contains(file), "{}", file.display());
    }
}

fn collect(path: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

#[test]
fn a_secret_that_is_a_word_of_the_record_itself_does_not_destroy_it() {
    let scratch = Scratch::new();
    let words = [
        "running",
        "schema_version",
        "state",
        "queued",
        "agent_running",
        "phase",
        "type",
        "2026",
        "failed",
        "quota_or_rate_limit",
        "source",
        "record",
        "20261130T",
    ];
    let mut new = NewJob::create(&scratch.root, &repo(), &id(1), redactor(&words)).unwrap();
    let writer = new.writer();
    let entered = Event::CompletionObserved;
    let lines = [line(1), JournalLine { event: entered, ..line(2) }];
    lines.iter().for_each(|line| writer.append(line, Durability::Unsynced).unwrap());
    assert_eq!(writer.dir().journal().unwrap(), lines);
    let status = serde_json::json!({"schema_version": 1, "job_id": id(1), "state": "running",
        "created_at": "2026-11-30T19:00:00.000Z",
        "failure": {"class": "quota_or_rate_limit", "source": "record"}});
    writer.write_status(&status, Durability::Unsynced).unwrap();
    assert_eq!(writer.dir().status::<serde_json::Value>().unwrap(), status);
    let foreign = serde_json::json!({"schema_version": 1, "label": "it is running since 2026"});
    writer.write_status(&foreign, Durability::Unsynced).unwrap();
    let kept = writer.dir().status::<serde_json::Value>().unwrap();
    assert!(!kept["label"].as_str().unwrap().contains("running"), "{kept}");
}

#[test]
fn a_request_without_secrets_is_written_as_it_is() {
    let scratch = Scratch::new();
    let mut new = NewJob::create(&scratch.root, &repo(), &id(1), redactor(&[SECRET])).unwrap();
    let request = serde_json::json!({"schema_version": 1, "args": ["--fast"], "cwd": "/"});
    assert!(new.writer().write_request(&request).unwrap());
    assert_eq!(new.writer().dir().request::<serde_json::Value>().unwrap(), request);
}

#[test]
fn a_pushed_fact_is_covered_in_every_text_and_is_there_once_it_is_flushed() {
    let scratch = Scratch::new();
    let mut new = NewJob::create(&scratch.root, &repo(), &id(1), redactor(&[SECRET])).unwrap();
    let writer = new.writer();
    let mut facts = writer.facts().unwrap();
    let path = writer.attempt().facts();
    let (some, text) = (Some(SECRET.to_owned()), SECRET.to_owned());
    let all = [
        Fact::AssistantText { message_id: some.clone(), text: "free".into() },
        Fact::AssistantText { message_id: None, text: format!("a \"{text}\"") },
        Fact::Reasoning { message_id: some.clone() },
        Fact::ToolInvoked { call_id: some.clone(), tool: None, summary: None },
        Fact::ToolInvoked { call_id: None, tool: some.clone(), summary: None },
        Fact::ToolInvoked { call_id: None, tool: None, summary: some.clone() },
        Fact::ToolResult { call_id: some.clone(), ok: true, summary: None },
        Fact::ToolResult { call_id: None, ok: true, summary: some },
        Fact::TaskStarted { task_id: text },
        Fact::AssistantText { message_id: Some("m".into()), text: "free \"text\"\n".into() },
    ];
    let mut last = None;
    for (fact, seq) in all.into_iter().zip(1..) {
        let line = FactLine { schema_version: 1, seq, at: "2026".into(), fact };
        facts.push(&line).unwrap();
        last = Some(line);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
    facts.flush().unwrap();
    let kept = fs::read_to_string(&path).unwrap();
    assert!(!kept.contains(SECRET), "{kept}");
    let lines: Vec<FactLine> =
        kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), lines.last()), (10, last.as_ref()));
    assert_eq!(kept.matches("«redacted:NAME»").count(), 9);
}
