//! The vendor's own second figure for the tokens of a run, each from another place than the one
//! that dcli reads.

#![expect(clippy::unwrap_used, reason = "a figure that cannot be read ends its test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use dcli_testkit::clis::CliId;
use serde_json::Value;

use super::scene::{Ran, Scene};

/// Where the raw stream of a run through [`recording`] is.
const STREAM: &str = "stream";

/// A program in the place of the vendor's that keeps what the vendor's prints.
pub(crate) fn recording(scene: &Scene) -> PathBuf {
    let stream = scene.room.file(STREAM, "").unwrap();
    let script = format!(
        "#!/bin/sh\n\"{}\" \"$@\" > \"{stream}\"\ncode=$?\ncat \"{stream}\"\nexit $code\n",
        scene.case.cli.program.display(),
        stream = stream.display()
    );
    let program = scene.room.file("recording", &script).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, executable).unwrap();
    program
}

/// The figure, and the place it comes from.
pub(crate) fn of(scene: &Scene, ran: &Ran) -> (u64, &'static str) {
    let home = scene.room.home();
    match scene.case.id() {
        CliId::Claude197 | CliId::Claude332 => {
            (model_usage(&scene.room.path().join(STREAM)), "modelUsage")
        }
        CliId::Codex => (rollout(&home.join(".codex/sessions")), "the rollout's token_count"),
        CliId::Opencode => (export(scene, ran), "opencode export"),
        CliId::Qwen => (telemetry(&home.join(".qwen/projects")), "the chat's ui_telemetry"),
        CliId::Gemini => (chats(&home.join(".gemini/tmp")), "the chat's tokens"),
    }
}

fn model_usage(stream: &Path) -> u64 {
    let result = records(stream).into_iter().rfind(|record| record["type"] == "result").unwrap();
    let keys = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
    let models = result["modelUsage"].as_object().unwrap().clone();
    models.values().flat_map(|model| keys.map(|key| model[key].as_u64().unwrap())).sum()
}

fn rollout(sessions: &Path) -> u64 {
    let records: Vec<Value> = below(sessions).into_iter().flat_map(|file| records(&file)).collect();
    let counts = |record: &&Value| {
        record["payload"]["type"] == "token_count" && record["payload"]["info"].is_object()
    };
    let last = records.iter().rfind(counts).unwrap();
    last["payload"]["info"]["total_token_usage"]["total_tokens"].as_u64().unwrap()
}

fn export(scene: &Scene, ran: &Ran) -> u64 {
    let path = scene.room.path().join("exported");
    let mut command = scene.vendor();
    let session = ran.report()["backend_session_id"].as_str().unwrap();
    command.args(["export", session]).stdout(File::create(&path).unwrap());
    assert!(command.status().unwrap().success());
    let exported: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let messages = exported["messages"].as_array().unwrap();
    let tokens = messages.iter().map(|message| &message["info"]["tokens"]);
    tokens.filter(|tokens| tokens.is_object()).map(leaves_but_total).sum()
}

/// The sum over all numbers but `total`.
fn leaves_but_total(tokens: &Value) -> u64 {
    let parts = tokens.as_object().unwrap().iter().filter(|(name, _)| *name != "total");
    parts.map(|(_, part)| part.as_u64().unwrap_or_else(|| leaves_but_total(part))).sum()
}

fn telemetry(projects: &Path) -> u64 {
    let records = below(projects).into_iter().flat_map(|file| records(&file));
    let events = records.map(|record| record["systemPayload"]["uiEvent"].clone());
    let answers = events.filter(|event| event["event.name"] == "qwen-code.api_response");
    answers.map(|event| event["total_token_count"].as_u64().unwrap()).sum()
}

/// An answer is written again when its tool has ended; the last writing counts.
fn chats(projects: &Path) -> u64 {
    let records = below(projects).into_iter().flat_map(|file| records(&file));
    let answers = records.filter(|record| record["type"] == "gemini");
    let last: BTreeMap<String, u64> = answers
        .map(|answer| {
            (answer["id"].as_str().unwrap().to_owned(), answer["tokens"]["total"].as_u64().unwrap())
        })
        .collect();
    last.values().sum()
}

/// The JSON values of a file that has one on each line.
fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// All session files below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(below(&path)),
            false if path.extension().is_some_and(|kind| kind == "jsonl") => files.push(path),
            false => {}
        }
    }
    files
}
