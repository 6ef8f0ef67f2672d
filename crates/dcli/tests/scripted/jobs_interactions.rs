//! What a job asks, and somebody outside answers: each answer has its effect, once.

use serde_json::Value;

use crate::common::asking::{Asks, allowed};
use crate::common::{Stage, shown};

const PUSH: &[Asks] = &[Asks::Bash("git push origin main")];

fn decided(job: &Value, number: usize) -> (&str, &str, &str) {
    let found = &job["interactions"][number - 1];
    let text = |key: &str| found[key].as_str().unwrap_or("-");
    (text("outcome"), text("decision"), text("responder"))
}

fn own_uid() -> String {
    format!("uid {}", rustix::process::geteuid().as_raw())
}

#[test]
fn an_allowed_command_runs_and_the_record_names_who_allowed_it() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    let open = stage.wait_open(&id, "i1");
    assert_eq!(open["detail"]["permission"], "bash", "{open:#}");
    assert!(!stage.path(&allowed(1)).exists());
    let outcome = stage.respond(&id, &["i1", "allow"]);
    assert_eq!((outcome.code(), outcome.text()), (0, told(&own_uid()).as_str()), "{outcome:?}");
    let job = stage.waited(&id);
    assert_eq!(job["state"], "done", "{job:#}");
    assert!(stage.path(&allowed(1)).exists());
    let wanted = ("awaiting_authorized_responder", "allow", own_uid());
    assert_eq!(decided(&job, 1), (wanted.0, wanted.1, wanted.2.as_str()));
    let names: Vec<Value> =
        stage.journal(&id).into_iter().map(|line| line["type"].clone()).collect();
    let at = |name: &str| names.iter().position(|found| found == name).unwrap();
    assert!(at("interaction_pending") < at("interaction_resolved"), "{names:?}");
    shown("17", "scripted-allow", "exit 0 once recorded; the command ran; uid in the journal");
}

fn told(who: &str) -> String {
    format!("i1 bash (git push origin main): allowed by {who}\n")
}

#[test]
fn a_denial_with_words_lets_the_agent_go_on_and_one_without_stops_its_turn() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let outcome = stage.respond(&id, &["i1", "deny", "--message", "-not on a Friday"]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    let job = stage.waited(&id);
    assert_eq!(job["state"], "done", "{job:#}");
    assert!(stage.seen().stdin.unwrap().contains("-not on a Friday"));
    assert!(job["warnings"].to_string().contains("git push"), "{job:#}");

    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    assert_eq!(stage.respond(&id, &["i1", "deny"]).code(), 0);
    let job = stage.waited(&id);
    assert_eq!((&job["state"], &job["command_exit_code"]), (&"failed".into(), &15.into()));
    assert!(job["failure"]["message"].as_str().unwrap().contains("git push"), "{job:#}");
    assert!(!stage.path(&allowed(1)).exists());
}

#[test]
fn allowed_always_holds_for_its_like_in_this_job_and_is_told_to_no_backend() {
    let like = [Asks::Bash("git push"), Asks::Bash("git push"), Asks::Bash("rm x")];
    let stage = Stage::asking(&like);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    assert_eq!(stage.respond(&id, &["i1", "allow-always"]).code(), 0);
    stage.wait_open(&id, "i3");
    let job = stage.status(&id);
    let (outcome, decision, responder) = decided(&job, 2);
    assert_eq!((outcome, decision), ("pre_authorized", "allow"), "{job:#}");
    assert!(responder.starts_with(&own_uid()), "{responder}");
    assert_eq!(stage.respond(&id, &["i3", "deny", "--message", "no"]).code(), 0);
    let job = stage.waited(&id);
    assert_eq!(job["state"], "done", "{job:#}");
    assert!(stage.path(&allowed(2)).exists() && !stage.path(&allowed(3)).exists());
    assert!(!stage.seen().stdin.unwrap().contains("updatedPermissions"));
}

#[test]
fn a_question_takes_one_text_for_each_of_its_questions_and_no_leave() {
    let stage = Stage::asking(&[Asks::Questions(&["Which colour?", "Which size?"])]);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    for (words, needle) in [
        (&["i1", "allow"][..], "is a question"),
        (&["i1", "answer", "blue"], "asks 2 questions, and 1 text came"),
        (&["i1", "answer"], "0 texts"),
        (&["i1", "answer", "a", "b", "--message", "c"], "--message"),
        (&["i1", "deny", "blue"], "texts go with answer"),
        (&["i1", "deny", "--message", " "], "blank"),
    ] {
        let (code, message) = stage.refused(&id, words);
        assert!(code == 2 && message.contains(needle), "{words:?}: {code} {message}");
    }
    let text = stage.over(&["interactions", &id]);
    for needle in ["Which colour?", "- red", &format!("dcli respond {id} i1 answer TEXT TEXT")] {
        assert!(text.text().contains(needle), "{needle}: {text:?}");
    }
    assert_eq!(stage.respond(&id, &["i1", "answer", "blue", "--", "-1"]).code(), 0);
    let job = stage.waited(&id);
    assert_eq!((&job["state"], decided(&job, 1).1), (&"done".into(), "answer"), "{job:#}");
    let told = stage.seen().stdin.unwrap();
    assert!(told.contains(r#""Which colour?":"blue""#) && told.contains("-1"), "{told}");
}

#[test]
fn leave_takes_no_text() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let (code, message) = stage.refused(&id, &["i1", "answer", "yes"]);
    assert!(code == 2 && message.contains("allow, allow-always or deny"), "{message}");
    let (code, message) = stage.refused(&id, &["i1", "allow", "--message", "yes"]);
    assert!(code == 2 && message.contains("deny"), "{message}");
    assert_eq!(stage.respond(&id, &["i1", "allow"]).code(), 0);
    assert_eq!(stage.waited(&id)["state"], "done");
}

#[test]
fn what_nobody_asked_is_not_found() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let (code, message) = stage.refused(&id, &["i2", "allow"]);
    assert!(code == 3 && message.contains("i2"), "{message}");
    let (code, message) = stage.refused("20260102T030405Z-abcdefgh", &["i1", "allow"]);
    assert!(code == 3 && message.contains("does not exist"), "{message}");
    for shape in ["i0", "1", "i01", "i1000000", "../i1"] {
        assert_eq!(stage.respond(&id, &[shape, "allow"]).code(), 2, "{shape}");
    }
    assert_eq!(stage.respond(&id, &["i1", "maybe"]).code(), 2);
    assert_eq!(stage.over(&["cancel", &id]).code(), 0);
}

#[test]
fn what_waits_is_seen_wherever_a_job_is_looked_at() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let words = "waits for an answer: i1 bash (git push origin main)";
    let command = format!("dcli respond {id} i1 allow|allow-always|deny");
    for (verb, needle) in [
        (&["status", &id][..], words),
        (&["status", &id], &command),
        (&["list"], words),
        (&["tail", &id], "asks i1: bash (git push origin main), and waits"),
        (&["interactions"], &command),
        (&["interactions", "--all-repos"], &command),
    ] {
        let outcome = stage.over(verb);
        assert!(outcome.code() == 0 && outcome.text().contains(needle), "{verb:?}: {outcome:?}");
    }
    let waited = stage.over(&["wait", &id, "--timeout-sec", "0.3"]);
    assert_eq!(waited.code(), 20, "{waited:?}");
    assert_eq!(waited.stderr.matches(&command).count(), 1, "{waited:?}");
    let quiet = stage.over(&["wait", &id, "--timeout-sec", "0.3", "--json"]);
    assert!(!quiet.stderr.contains(&command), "{quiet:?}");
    assert_eq!(quiet.json("job")["interactions"][0]["interaction_id"], "i1");
    let elsewhere = stage.over(&["interactions", "--cwd", "/"]);
    assert_eq!(elsewhere.text(), "nothing is asked\n", "{elsewhere:?}");
    assert_eq!(stage.respond(&id, &["i1", "allow"]).code(), 0);
    stage.waited(&id);
    let bundle = stage.over(&["debug", &id]).json("debug");
    assert_eq!(bundle["status"]["interactions"][0]["decision"], "allow");
    let tail = stage.over(&["tail", &id]);
    assert!(tail.text().contains(&format!("i1: allowed by {}", own_uid())), "{tail:?}");
    let all = stage.over(&["interactions", &id]);
    assert!(all.text().contains("allowed by") && !all.text().contains("dcli respond"), "{all:?}");
}

#[test]
fn a_run_in_the_foreground_says_that_it_waits() {
    let stage = Stage::asking(PUSH);
    let run = stage.workspace("run").args(["--attended"]).words("Do it.").start();
    stage.wait_file("tmp/seen.json");
    let id = stage.only_job();
    stage.wait_open(&id, "i1");
    assert_eq!(stage.respond(&id, &["i1", "allow"]).code(), 0);
    let outcome = run.finish();
    assert_eq!((outcome.code(), outcome.text()), (0, "Done."), "{outcome:?}");
    assert!(outcome.stderr.contains("i1 bash (git push origin main)"), "{outcome:?}");
}
