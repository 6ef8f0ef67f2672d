//! Jobs that ask: an agent that speaks Claude Code's control channel, and what somebody outside sees
//! of it and answers.

use dcli_testkit::agent::{Heard, Step};
use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use serde_json::{Value, json};

use super::{Dialect, Exec, Outcome, Stage, say};

/// What an agent asks.
pub(crate) enum Asks {
    /// Leave to run this command.
    Bash(&'static str),
    /// These questions, each with two options.
    Questions(&'static [&'static str]),
}

impl Asks {
    fn request(&self) -> Value {
        match self {
            Self::Bash(command) => json!({
                "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash",
                "input": {"command": command}, "tool_use_id": "t",
            }),
            Self::Questions(texts) => {
                let option = |label| json!({"label": label, "description": ""});
                let question = |text: &&str| {
                    json!({
                        "question": text, "header": "h", "multiSelect": false,
                        "options": [option("red"), option("blue")],
                    })
                };
                let questions: Vec<Value> = texts.iter().map(question).collect();
                json!({
                    "subtype": "can_use_tool", "tool_name": "AskUserQuestion",
                    "display_name": "AskUserQuestion", "input": {"questions": questions},
                    "tool_use_id": "t",
                })
            }
        }
    }
}

/// Where the agent says that it was allowed the ask of this number, from 1.
pub(crate) fn allowed(number: usize) -> String {
    format!("tmp/allowed-{number}")
}

/// What an agent does that asks all of these.
pub(crate) fn steps(stage: &Stage, asks: &[Asks]) -> Vec<Step> {
    let mut steps = vec![Step::ReadUntil("\"type\":\"user\"".to_owned())];
    for (number, ask) in (1..).zip(asks) {
        let key = format!("q{number}");
        let request = json!({
            "type": "control_request", "request_id": key, "request": ask.request(),
        });
        steps.extend([say(format!("{request}\n")), Step::ReadUntil(key)]);
        let touch = vec![Step::Touch(stage.path(&allowed(number)))];
        steps.push(heard("\"behavior\":\"allow\"", touch));
        steps.push(heard("\"interrupt\":true", stopped()));
    }
    steps.push(Step::Record(stage.path("tmp/seen.json")));
    steps.push(Dialect::of("claude").ok("Done.").told());
    steps.push(Step::ReadStdin(true));
    steps
}

impl Stage {
    /// A stage with an agent that asks all of these, one after the other, does what it may, and is
    /// done. One whose turn is stopped ends as the real one does.
    pub(crate) fn asking(asks: &[Asks]) -> Self {
        let stage = Self::new([]);
        stage.play(steps(&stage, asks));
        stage
    }

    /// Submits a job that waits up to `seconds` for somebody.
    pub(crate) fn attended(&self, seconds: &str) -> String {
        let attended = format!("--attended={seconds}");
        self.submitted(self.workspace("submit").arg(attended).words("Do it."))
    }

    /// `dcli run` or `dcli submit` for claude, which may write.
    pub(crate) fn workspace(&self, verb: &str) -> Exec<'_> {
        self.job(verb, "claude").args(["--access", "workspace"])
    }

    /// Waits until the job waits for an answer to this.
    pub(crate) fn wait_open(&self, id: &str, interaction: &str) -> Value {
        self.wait_interaction(id, interaction, |found| {
            found["outcome"] == "awaiting_authorized_responder" && found["decision"].is_null()
        })
    }

    /// Waits until the job asks this, whatever becomes of it.
    pub(crate) fn wait_asked(&self, id: &str, interaction: &str) -> Value {
        self.wait_interaction(id, interaction, |_| true)
    }

    /// Waits until this is decided.
    pub(crate) fn wait_decided(&self, id: &str, interaction: &str) -> Value {
        self.wait_interaction(id, interaction, |found| !found["decision"].is_null())
    }

    fn wait_interaction(&self, id: &str, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let path = self.job_dir(id).join("status.json");
        let find = || {
            let status: Value = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            let mut all = status["interactions"].as_array()?.iter();
            all.find(|one| one["interaction_id"] == name && is_it(one)).cloned()
        };
        wait_for(name, HANG_LIMIT, find).unwrap_or_else(|hang| {
            panic!("{hang}: {:#}", self.status(id));
        })
    }

    /// `dcli respond ID …`.
    pub(crate) fn respond(&self, id: &str, words: &[&str]) -> Outcome {
        self.over(&[&["respond", id], words].concat())
    }

    /// What an answer that does not count is told, with its exit code.
    pub(crate) fn refused(&self, id: &str, words: &[&str]) -> (i32, String) {
        let outcome = self.respond(id, &[words, &["--json"]].concat());
        let error = outcome.json("error")["error"].clone();
        (outcome.code(), error["message"].as_str().unwrap().to_owned())
    }
}

fn heard(text: &str, steps: Vec<Step>) -> Step {
    Step::IfHeard(Heard { text: text.to_owned(), steps })
}

fn stopped() -> Vec<Step> {
    let result = json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true,
        "session_id": "s", "terminal_reason": "aborted_tools", "permission_denials": [],
        "errors": ["[ede_diagnostic] result_type=user"],
    });
    vec![say(format!("{result}\n")), Step::ReadStdin(true), Step::Exit(1)]
}
