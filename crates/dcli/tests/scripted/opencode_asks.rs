//! What a server asks, and what a job answers it: by access, by policy, by nobody; and somebody else
//! who answers in its place.

use dcli_testkit::opencode::{Script, Step, Tool};
use serde_json::{Value, json};

use crate::common::served::{Served, ending};
use crate::common::shown;

/// A command that makes `made` if it is allowed, and an answer after it.
fn asking() -> Script {
    let tool = Tool::bash("touch made").writing("made", "by the tool");
    Script::of([Step::Tools(vec![tool]), Step::Text("OK".into())])
}

/// The ending, the record, and whether the tool had its effect.
fn ran(script: &Script, options: &[&str]) -> (String, Value, bool) {
    let served = Served::new(script);
    let (job, _) = served.ran(options);
    served.assert_polite();
    (ending(&job), job, served.stage.room.work().join("made").exists())
}

#[test]
fn what_is_allowed_by_policy_is_done_and_what_nobody_may_allow_is_not() {
    let (end, job, is_made) = ran(&asking(), &["--allow", "bash:touch *"]);
    assert!(is_made && end == "done null 0", "{job:#}");
    let one = &job["interactions"][0];
    assert_eq!((&one["outcome"], &one["decision"]), (&json!("pre_authorized"), &json!("allow")));
    let (end, job, is_made) = ran(&asking(), &["--deny", "bash:touch *"]);
    assert!(!is_made && end == "done null 0", "{job:#}");
    assert_eq!(job["interactions"][0]["outcome"], "denied_by_policy", "{job:#}");
    let (end, job, is_made) = ran(&asking(), &["--ask", "bash"]);
    assert!(!is_made && end == "done null 0", "{job:#}");
    assert_eq!(job["interactions"][0]["outcome"], "rejected_unattended", "{job:#}");
    shown(
        "17",
        "scripted-policy",
        "allow, deny, ask with nobody there: the file says what was done",
    );
}

#[test]
fn two_that_are_asked_at_once_are_each_answered() {
    let both = vec![Tool::bash("touch made").writing("made", ""), Tool::bash("touch other")];
    let script = Script::of([Step::Tools(both), Step::Text("OK".into())]);
    let (end, job, is_made) = ran(&script, &["--allow", "bash"]);
    assert!(is_made && end == "done null 0", "{job:#}");
    assert_eq!(job["interactions"].as_array().unwrap().len(), 2, "{job:#}");
}

#[test]
fn a_child_session_is_answered_like_its_root() {
    let tool = Tool::bash("touch made").writing("made", "");
    let child = || Step::Child(vec![Step::Tools(vec![tool.clone()]), Step::Text("done".into())]);
    let script = Script::of([child(), Step::Text("OK".into())]);
    let (end, job, is_made) = ran(&script, &["--allow", "bash"]);
    assert!(is_made && end == "done null 0", "{job:#}");
    assert_eq!(job["tokens"]["total"], 4 * 26, "{job:#}");
    let (end, job, is_made) = ran(&script, &["--deny", "bash"]);
    assert!(!is_made && end == "done null 0", "{job:#}");
}

#[test]
fn a_question_that_nobody_answers_stops_the_turn_with_exit_15() {
    let option = json!({"label": "A", "description": "first"});
    let question = json!({"question": "Which?", "header": "h", "options": [option]});
    let (end, job, _) = ran(&Script::of([Step::Question(vec![question])]), &[]);
    assert_eq!(end, "failed permission_or_sandbox 15", "{job:#}");
    assert_eq!(job["interactions"][0]["kind"], "question", "{job:#}");
}

#[test]
fn a_permission_that_somebody_else_answered_fails_the_job_with_exit_15() {
    for word in ["once", "always", "reject"] {
        let mut tool = Tool::bash("touch made").writing("made", "");
        tool.asks.as_mut().unwrap().somebody = Some(word.to_owned());
        let script = Script::of([Step::Tools(vec![tool]), Step::Text("OK".into())]);
        let (end, job, _) = ran(&script, &["--attended=30", "--ask", "bash"]);
        assert_eq!(end, "failed permission_or_sandbox 15", "{word}: {job:#}");
        let reason = job["failure"]["message"].as_str().unwrap();
        assert!(reason.contains("somebody else"), "{reason}");
    }
    shown("17", "scripted-foreign", "once, always and reject of somebody else: failed, 15");
}

#[test]
fn a_status_keeps_the_newest_of_what_a_rule_decides_and_the_journal_all_of_it() {
    let calls = (0..250).map(|number| Tool::bash(&format!("true {number}")));
    let script = Script::of([Step::Tools(calls.collect()), Step::Text("the answer".into())]);
    let served = Served::new(&script);
    let (job, outcome) = served.ran(["--access", "workspace", "--allow", "bash"]);
    assert_eq!(ending(&job), "done null 0", "{outcome:?}");
    let kept = job["interactions"].as_array().unwrap();
    assert_eq!((kept.len(), &kept[199]["interaction_id"]), (200, &json!("i250")));
    let journal = served.stage.journal(job["job_id"].as_str().unwrap());
    let resolved = journal.iter().filter(|line| line["type"] == "interaction_resolved");
    assert_eq!(resolved.count(), 250);
}

#[test]
fn a_server_that_asks_without_end_is_ended() {
    let calls = (0..1200).map(|number| Tool::bash(&format!("true {number}")));
    let served = Served::new(&Script::of([Step::Tools(calls.collect())]));
    let options = ["--access", "workspace", "--attended=60", "--ask", "bash"];
    let (job, _) = served.ran(options);
    assert_eq!(ending(&job), "failed protocol 26", "{job:#}");
    assert!(job["failure_reason"].as_str().unwrap().contains("more than any session"), "{job:#}");
}
