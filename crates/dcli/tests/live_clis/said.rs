//! Commands over the jobs of a scene, and what they answer.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]
#![expect(clippy::panic, reason = "an answer that cannot be read ends its test")]

use std::process::Command;
use std::time::Duration;

use dcli_core::schema::find;
use dcli_testkit::hang::wait_for;
use dcli_testkit::schema::check;
use serde_json::Value;

use super::scene::Scene;

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn say(mut command: Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Said {
    /// The whole output, as one value of a shape.
    pub(crate) fn json(&self, shape: &str) -> Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        let value = serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{self:#?}"));
        check(&find(shape).unwrap().schema(), &value).unwrap();
        value
    }
}

/// The prompt of every job here.
pub(crate) fn with_prompt(mut command: Command) -> Command {
    command.arg("do as the script says");
    command
}

/// A command over jobs, in the scene.
pub(crate) fn over(scene: &Scene, words: &[&str]) -> Said {
    let mut command = scene.dcli();
    command.args(words);
    say(command)
}

/// Hands a job over, with these words besides, and gives its id.
pub(crate) fn submit(scene: &Scene, access: &str, words: &[&str]) -> String {
    let mut command = scene.asking("submit", access, &scene.case.cli.program);
    command.args(words).arg("--json");
    let submitted = say(with_prompt(command)).json("submit");
    submitted["job_id"].as_str().unwrap().to_owned()
}

/// The job's status once it has ended.
pub(crate) fn ended(scene: &Scene, id: &str) -> Value {
    over(scene, &["wait", id, "--timeout-sec", "280"]);
    let status = over(scene, &["status", id, "--json"]).json("job");
    assert_eq!(status["phase"], "terminal", "{status:#}");
    status
}

/// How long an interaction may take to come: the slowest server starts in 18 s under load.
const ASKED: Duration = Duration::from_secs(240);

/// The job's first interaction that is open, once there is one.
pub(crate) fn open_interaction(scene: &Scene, id: &str) -> Value {
    let look = || {
        let asked = over(scene, &["interactions", id, "--json"]).json("interactions");
        let mut all = asked["interactions"].as_array().unwrap().iter();
        // One that a rule decides is pending for a moment too.
        let waits = |one: &&Value| {
            one["resolved_at"].is_null() && one["outcome"] == "awaiting_authorized_responder"
        };
        let open = all.find(waits).cloned();
        if open.is_none() {
            let status = over(scene, &["status", id, "--json"]).json("job");
            assert_ne!(status["phase"], "terminal", "nothing was asked: {status:#}");
        }
        open
    };
    wait_for("the job to ask", ASKED, look).unwrap()
}

/// Answers with these words.
pub(crate) fn respond(scene: &Scene, id: &str, interaction: &Value, words: &[&str]) -> Said {
    let name = interaction["interaction_id"].as_str().unwrap();
    over(scene, &[&["respond", id, name][..], words].concat())
}
