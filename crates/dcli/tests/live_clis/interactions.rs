//! Real CLIs that ask, and every kind of answer: what is on the disk afterwards proves which one
//! counted.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::sync::Barrier;

use dcli_testkit::clis::CliId;
use dcli_testkit::model::{Scenario, Tool, Turn};
use serde_json::{Value, json};

use super::case::Case;
use super::pool::{self, Cell, Kind};
use super::said::{Said, ended, open_interaction, over, respond, submit};
use super::scene::Scene;

/// What the model says at last.
const DONE: &str = "all of it was tried";

#[test]
fn every_answer_has_its_effect_and_no_other() {
    let cases: Vec<Case> = Case::all().into_iter().filter(|case| asks(case.id())).collect();
    let kinds: [Kind; 5] = [
        ("answers", every_answer),
        ("denied", a_denial_without_words),
        ("late", an_answer_that_is_late),
        ("question", a_question),
        ("policy", a_policy),
    ];
    let cells = kinds
        .iter()
        .flat_map(|(what, look)| cases.iter().map(move |case| Cell::new(what, case, *look)));
    pool::run("interactions", &cells.collect::<Vec<_>>());
}

fn asks(id: CliId) -> bool {
    matches!(id, CliId::Opencode | CliId::Claude197 | CliId::Claude332)
}

/// A command that none of them lets through unasked where its policy says so.
fn touch(name: &str) -> Turn {
    Turn::shell(&format!("touch {name}"))
}

const ASK: &[&str] = &["--attended=200", "--ask", "bash"];

/// Allowed, denied with words, allowed for always, its like not asked again, and two at once.
fn every_answer(case: &Case) {
    let turns = ["once", "denied", "kept-one", "kept-one"].map(touch);
    let last = [Turn::shell("mkdir raced"), Turn::text(DONE)];
    let scene = Scene::new(case, Scenario::of(turns.into_iter().chain(last)));
    let id = submit(&scene, "workspace", ASK);

    let first = open_interaction(&scene, &id);
    assert_eq!(first["kind"], "permission", "{first:#}");
    assert!(first["detail"].to_string().contains("touch once"), "{first:#}");
    assert_eq!(first["outcome"], "awaiting_authorized_responder", "{first:#}");
    shown(&scene, &id);
    good(&respond(&scene, &id, &first, &["allow"]));
    let again = respond(&scene, &id, &first, &["deny"]);
    assert_eq!(again.code, Some(15), "{again:#?}");

    let second = open_interaction(&scene, &id);
    good(&respond(&scene, &id, &second, &["deny", "--message", "leave that one out"]));

    let third = open_interaction(&scene, &id);
    good(&respond(&scene, &id, &third, &["allow-always"]));

    let raced = open_interaction(&scene, &id);
    let is_allowed = race(&scene, &id, &raced);

    let status = ended(&scene, &id);
    assert_eq!(
        (&status["state"], &status["failure"]),
        (&json!("done"), &Value::Null),
        "{status:#}"
    );
    let there = |name: &str| scene.in_work(name).exists();
    assert_eq!(
        ["once", "denied", "kept-one", "raced"].map(there),
        [true, false, true, is_allowed],
        "{status:#}"
    );
    let decisions: Vec<&str> =
        all(&status).iter().map(|one| one["decision"].as_str().unwrap()).collect();
    let last = if is_allowed { "allow" } else { "deny" };
    assert_eq!(decisions, ["allow", "deny", "allow_always", "allow", last], "{status:#}");
    assert_eq!(all(&status)[3]["outcome"], "pre_authorized", "{status:#}");
    assert!(scene.marker.alive().is_empty());
    let seen = format!("allow, deny with words, allow-always, pre-authorized, raced: {last}");
    case.keep("17", "answers", "normal", seen);
}

/// Everywhere where somebody may look.
fn shown(scene: &Scene, id: &str) {
    let asked = |words: &[&str]| over(scene, words).out;
    for words in [&["status", id][..], &["list", "--all-repos"], &["interactions", id]] {
        let out = asked(words);
        assert!(out.contains("touch once"), "{words:?}: {out}");
    }
    let waited = over(scene, &["wait", id, "--timeout-sec", "1", "--json"]);
    let waited: Value = serde_json::from_str(&waited.out).unwrap();
    let open = &waited["interactions"][0];
    assert_eq!(open["outcome"], "awaiting_authorized_responder", "{waited:#}");
    let tail = asked(&["tail", id, "--json"]);
    assert!(tail.contains(r#""type":"interaction_pending""#), "{tail}");
}

/// Two responders at the same moment: exactly one of them counts, and is told so.
fn race(scene: &Scene, id: &str, interaction: &Value) -> bool {
    let start = Barrier::new(2);
    let one = |words: &'static [&'static str]| {
        start.wait();
        respond(scene, id, interaction, words)
    };
    let said = std::thread::scope(|scope| {
        let allow = scope.spawn(|| one(&["allow"]));
        let deny = scope.spawn(|| one(&["deny", "--message", "the other one may"]));
        [allow.join().unwrap(), deny.join().unwrap()]
    });
    let codes = [said[0].code, said[1].code];
    assert!([[Some(0), Some(15)], [Some(15), Some(0)]].contains(&codes), "{said:#?}");
    codes[0] == Some(0)
}

/// It stops the turn: the job ends for want of a permission, which is named.
fn a_denial_without_words(case: &Case) {
    let scene = Scene::new(case, Scenario::of([touch("never"), Turn::text(DONE)]));
    let id = submit(&scene, "workspace", ASK);
    let asked = open_interaction(&scene, &id);
    good(&respond(&scene, &id, &asked, &["deny"]));
    let status = ended(&scene, &id);
    assert_eq!(status["command_exit_code"], 15, "{status:#}");
    let reason = status["failure_reason"].as_str().unwrap();
    assert!(reason.contains("bash (touch never)") && reason.contains("uid "), "{reason}");
    assert!(!scene.in_work("never").exists() && scene.marker.alive().is_empty());
    case.keep("17", "denied", "normal", reason.to_owned());
}

/// Nobody comes: it is rejected, the agent goes on, and whoever comes then is told that it is late.
fn an_answer_that_is_late(case: &Case) {
    let scene = Scene::new(case, Scenario::of([touch("late"), Turn::text(DONE)]));
    let id = submit(&scene, "workspace", &["--attended=2", "--ask", "bash"]);
    let asked = open_interaction(&scene, &id);
    let status = ended(&scene, &id);
    assert_eq!(all(&status)[0]["decision"], "expired", "{status:#}");
    assert_eq!((&status["state"], scene.in_work("late").exists()), (&json!("done"), false));
    let warned = status["warnings"].to_string();
    assert!(warned.contains("bash (touch late)"), "{status:#}");
    let late = respond(&scene, &id, &asked, &["allow"]);
    assert_eq!(late.code, Some(15), "{late:#?}");
    assert!(late.err.contains("expired"), "{late:#?}");
    case.keep("17", "late", "normal", "expired, the agent went on, respond ends 15".to_owned());
}

/// With somebody there it is answered in words; with nobody the job ends 15.
fn a_question(case: &Case) {
    let ask = Turn::tool(Tool::Ask { question: "which of the two?".to_owned() });
    let scene = Scene::new(case, Scenario::of([ask, Turn::text(DONE)]));
    let id = submit(&scene, "read-only", &["--attended=200"]);
    let asked = open_interaction(&scene, &id);
    assert_eq!(asked["kind"], "question", "{asked:#}");
    let wrong = respond(&scene, &id, &asked, &["allow"]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    good(&respond(&scene, &id, &asked, &["answer", "B"]));
    let status = ended(&scene, &id);
    assert_eq!(
        (&status["state"], &all(&status)[0]["decision"]),
        (&json!("done"), &json!("answer"))
    );
    let told = scene.server.requests().iter().any(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        body.contains("which of the two?") && body.contains("answered") && body.contains('B')
    });
    assert!(told, "the model never got the answer");
    case.keep("17", "question", "normal", "answered in words; the model got them".to_owned());
}

/// Rules answer by themselves, and what they say is in the record.
fn a_policy(case: &Case) {
    let turns = ["allowed", "forbidden", "unsaid"].map(touch);
    let scene = Scene::new(case, Scenario::of(turns.into_iter().chain([Turn::text(DONE)])));
    let words =
        ["--allow", "bash:touch allowed", "--deny", "bash:*forbidden*", "--ask", "bash:*unsaid*"];
    let id = submit(&scene, "workspace", &words);
    let status = ended(&scene, &id);
    assert_eq!(status["state"], "done", "{status:#}");
    let there = ["allowed", "forbidden", "unsaid"].map(|name| scene.in_work(name).exists());
    assert_eq!(there, [true, false, false], "{status:#}");
    let said: Vec<(&str, &str)> = all(&status)
        .iter()
        .map(|one| (one["outcome"].as_str().unwrap(), one["decision"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("pre_authorized", "allow"),
        ("denied_by_policy", "deny"),
        ("rejected_unattended", "deny"),
    ];
    assert_eq!(said, wanted, "{status:#}");
    case.keep("17", "policy", "normal", format!("{said:?}"));
}

fn all(status: &Value) -> &[Value] {
    status["interactions"].as_array().unwrap()
}

fn good(said: &Said) {
    assert_eq!(said.code, Some(0), "{said:#?}");
}
