//! A secret in whatever a server says is kept nowhere; the same words are everywhere where nobody said
//! that they are secret.

use std::collections::BTreeSet;

use dcli_testkit::opencode::{Script, Step, Tool};
use serde_json::json;

use super::jobs_redaction::{GIVEN, traces};
use crate::common::served::Served;
use crate::common::shown;

/// Every file but the user's own into which a server's words come.
const CHANNELS: [&str; 5] =
    ["backend-events.jsonl", "envelope.json", "facts.jsonl", "journal.jsonl", "status.json"];

/// The words in a tool's call and output, in what is asked, in a question, and in the answer.
fn script() -> Script {
    let mut tool = Tool::bash(&format!("deliver {GIVEN}"));
    tool.output = GIVEN.to_owned();
    let question = json!({"question": GIVEN, "header": GIVEN, "options": [
        {"label": GIVEN, "description": GIVEN},
    ]});
    Script::of([
        Step::Tools(vec![tool]),
        Step::Text(format!("Delivered {GIVEN}.")),
        Step::Question(vec![question]),
    ])
}

fn found(told: &[&str]) -> BTreeSet<String> {
    let served = Served::new(&script());
    let options = ["--access", "workspace", "--deny", "bash"];
    let (job, outcome) = served.ran(options.iter().chain(told));
    assert_eq!(job["interactions"].as_array().unwrap().len(), 2, "{outcome:?}");
    traces(&served.stage.room.state())
}

#[test]
fn a_secret_in_what_a_server_says_is_kept_nowhere() {
    let given = format!("DELIVERY={GIVEN}");
    assert_eq!(found(&["--env", &given]), BTreeSet::new());
    let seen = found(&[]);
    assert_eq!(seen, CHANNELS.map(str::to_owned).into(), "a channel carried nothing");
    shown("19", "served-redaction", "5 files with the words, none where they are secret");
}
