//! Claude Code on its control channel, as jobs of this process: what it asks and what it is told,
//! with the file on the disk as the proof, and that it ends by itself whatever was said.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dcli::contain::Entry;
use dcli::exec::{Answers, Cancel, Hooks, Request};
use dcli::job::{Engine, Spec, WhenFull};
use dcli_core::executor::Catalogue;
use dcli_core::executor::access::Access;
use dcli_core::fact::{Fact, InteractionOutcome};
use dcli_core::interaction::{Answer, Decision, Policy, SCHEMA_VERSION, Terms};
use dcli_core::job::answer::JobReport;
use dcli_testkit::model::{Scenario, Tool, Turn};
use dcli_testkit::room::Room;
use serde_json::{Value, json};

use super::case::Case;
use super::pool::{self, Cell};
use super::scene::Scene;

const DONE: &str = "all of it was tried";
/// Long enough for any answer, and far from any hang limit.
const ATTENDED: Option<Duration> = Some(Duration::from_secs(200));

/// Whoever is asked: an answer to the question of this number, from 0.
type Responder = fn(usize) -> Option<Answer>;

/// What is looked at, and how.
type Kind = (&'static str, fn(&Case));

#[test]
fn what_claude_asks_is_decided_and_it_ends_by_itself() {
    let kinds: [Kind; 11] = [
        ("policy", a_policy_decides),
        ("policy over its own rules", a_policy_decides_what_claude_would_not_ask),
        ("places", places_are_judged_by_where_they_lead),
        ("unattended question", a_question_that_nobody_answers),
        ("answered", somebody_answers),
        ("stopped", a_denial_without_words_stops_the_turn),
        ("stopped child", a_denial_without_words_stops_an_agent_of_an_agent_too),
        ("late", nobody_comes),
        ("cancelled", a_cancel_while_something_is_asked),
        ("failed", a_failing_model_ends_it_too),
        ("background", work_in_the_background_is_waited_for),
    ];
    let own = rustix::process::getuid().as_raw();
    let mut cases = Case::all();
    cases.retain(|case| case.id().backend() == "claude" && case.uid == own);
    let cells = kinds
        .iter()
        .flat_map(|(what, look)| cases.iter().map(move |case| Cell::new(what, case, *look)));
    pool::run("claude's control channel", &cells.collect::<Vec<_>>());
}

/// A job in a scene.
struct Talk<'s> {
    scene: &'s Scene,
    access: Access,
    terms: Terms,
    prompt: String,
    responder: Responder,
    cancels: bool,
}

impl<'s> Talk<'s> {
    fn new(scene: &'s Scene, access: Access, terms: Terms) -> Self {
        let prompt = "do as the script says".to_owned();
        Self { scene, access, terms, prompt, responder: |_| None, cancels: false }
    }

    /// Runs it to its end.
    fn run(self) -> JobReport {
        let dcli = self.scene.dcli();
        let env = dcli.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into())));
        let entry = Entry::at(Path::new(env!("CARGO_BIN_EXE_dcli"))).unwrap();
        let engine = Engine::at(entry, self.scene.room.state()).with_ambient(env.collect());
        let executor = Catalogue::shipped().unwrap().find("claude").unwrap().clone();
        let mut request = Request::new(executor, &*self.prompt, self.scene.room.work());
        request.command = Some(self.scene.case.cli.program.clone());
        request.env = vec![(self.scene.marker.name().into(), self.scene.marker.value().into())];
        (request.access, request.terms) = (self.access, self.terms.clone());
        let hooks = self.hooks();
        dcli::job::run(&engine, Spec::new(request), WhenFull::Queue, &hooks).unwrap()
    }

    /// Whoever answers does so from within the fact that says what is asked.
    fn hooks(&self) -> Hooks {
        let (answers, cancel) = (Answers::new(), Cancel::default());
        let (given, asked) = (answers.clone(), cancel.clone());
        let (responder, cancels) = (self.responder, self.cancels);
        let on_fact = move |line: &dcli_core::fact::FactLine| {
            let Fact::InteractionPending { interaction_id, .. } = &line.fact else {
                return;
            };
            let number: usize = interaction_id.trim_start_matches('i').parse().unwrap();
            let answer = responder(number - 1);
            let interaction_id = interaction_id.clone();
            answer.into_iter().for_each(|answer| {
                given.give(Answer { interaction_id: interaction_id.clone(), ..answer })
            });
            if cancels {
                asked.ask();
            }
        };
        Hooks { cancel, answers, on_fact: Some(Arc::new(on_fact)), ..Hooks::default() }
    }
}

fn says(decision: Decision, words: &[&str]) -> Option<Answer> {
    let is_answer = decision == Decision::Answer;
    Some(Answer {
        schema_version: SCHEMA_VERSION,
        interaction_id: String::new(),
        decision,
        message: words.first().filter(|_| !is_answer).map(ToString::to_string),
        answers: words.iter().filter(|_| is_answer).map(ToString::to_string).collect(),
        responder: Some("uid 7".to_owned()),
        at: "2026-01-02T03:04:05.678Z".to_owned(),
    })
}

fn rules(allow: &[&str], deny: &[&str]) -> Terms {
    let of = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let policy = Policy { allow: of(allow), deny: of(deny), ..Policy::default() };
    Terms { policy, attended: None }
}

fn attended() -> Terms {
    Terms { attended: ATTENDED, ..Terms::default() }
}

fn shell(command: &str) -> Turn {
    Turn::shell(command)
}

fn then_done(turns: impl IntoIterator<Item = Turn>) -> Scenario {
    Scenario::of(turns.into_iter().chain([Turn::text(DONE)]))
}

/// State, exit code, whether the backend ended by itself, what was decided.
fn ended(report: &JobReport) -> Value {
    let status = serde_json::to_value(&report.status).unwrap();
    json!([status["state"], status["command_exit_code"], status["exit_kind"]])
}

fn decided(report: &JobReport) -> Vec<(Option<InteractionOutcome>, Option<Decision>)> {
    report.status.interactions.iter().map(|one| (one.outcome, one.decision)).collect()
}

fn warnings(report: &JobReport) -> String {
    serde_json::to_string(&report.status.warnings).unwrap()
}

/// What the model was told of its calls, all of it.
fn told(scene: &Scene) -> String {
    let last = scene.server.main_requests().pop().unwrap();
    String::from_utf8_lossy(&last.body).into_owned()
}

fn keep(scene: &Scene, report: &JobReport, check: &str, seen: &str) {
    assert!(scene.marker.alive().is_empty(), "{report:#?}");
    assert_eq!(report.status.containment_survivors.as_deref(), Some(&[][..]), "{report:#?}");
    scene.case.keep("17", check, "normal", seen.to_owned());
}

const GIVEN: (Option<InteractionOutcome>, Option<Decision>) =
    (Some(InteractionOutcome::PreAuthorized), Some(Decision::Allow));
const FORBIDDEN: (Option<InteractionOutcome>, Option<Decision>) =
    (Some(InteractionOutcome::DeniedByPolicy), Some(Decision::Deny));
const REJECTED: (Option<InteractionOutcome>, Option<Decision>) =
    (Some(InteractionOutcome::RejectedUnattended), Some(Decision::Deny));

fn a_policy_decides(case: &Case) {
    let scene = Scene::new(
        case,
        then_done([
            shell("touch allowed"),
            shell("touch also; touch forbidden"),
            shell("touch unsaid > unsaid"),
        ]),
    );
    let terms = rules(&["bash:touch *"], &["bash:touch forbidden"]);
    let mut talk = Talk::new(&scene, Access::ReadOnly, terms);
    talk.prompt = format!("{}\u{2028}\n\"do as the script says\"", "x".repeat(1 << 20));
    let report = talk.run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert_eq!(decided(&report), [GIVEN, FORBIDDEN, REJECTED], "{report:#?}");
    let there = ["allowed", "also", "forbidden", "unsaid"].map(|name| scene.in_work(name).exists());
    assert_eq!(there, [true, false, false, false]);
    let words = warnings(&report);
    assert!(
        words.contains("policy bash:touch forbidden") && words.contains("nobody could"),
        "{words}"
    );
    assert!(told(&scene).contains("is denied by policy bash:touch forbidden"));
    keep(&scene, &report, "control-policy", "allowed, denied, rejected; a prompt of 1 MiB");
}

/// Under `workspace` claude makes, removes and edits files without asking.
fn a_policy_decides_what_claude_would_not_ask(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        room.file("work/kept.txt", "kept").unwrap();
        then_done([
            shell("touch made; X=1 rm kept.txt"),
            write(room, "work/some.lock"),
            write(room, "work/some.txt"),
            shell("touch made"),
        ])
    });
    let terms = rules(&["bash:ls"], &["bash:rm *", "edit:*.lock"]);
    let report = Talk::new(&scene, Access::Workspace, terms).run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert_eq!(decided(&report), [FORBIDDEN; 2], "{report:#?}");
    let there = ["kept.txt", "some.lock", "some.txt", "made"];
    let there = there.map(|name| scene.in_work(name).exists());
    assert_eq!(there, [true, false, true, true], "{report:#?}");
    keep(&scene, &report, "control-policy-first", "rm and a lock file denied, all else unasked");
}

fn write(room: &Room, inside: &str) -> Turn {
    let path = room.path().join(inside).to_string_lossy().into_owned();
    Turn::tool(Tool::Write { path, content: "written".to_owned() })
}

fn places_are_judged_by_where_they_lead(case: &Case) {
    let scene = Scene::in_room(case, |room| {
        room.directory("outside").unwrap();
        let read = room.file("outside/given.txt", "words").unwrap();
        std::os::unix::fs::symlink("../outside", room.work().join("link")).unwrap();
        let read = Tool::Read { path: read.to_string_lossy().into_owned() };
        then_done([
            write(room, "work/inside.txt"),
            write(room, "outside/out.txt"),
            write(room, "work/link/linked.txt"),
            Turn::tool(read),
        ])
    });
    let report = Talk::new(&scene, Access::Workspace, rules(&["bash:no such*"], &[])).run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert_eq!(decided(&report), [FORBIDDEN; 3], "{report:#?}");
    let asked = report.status.interactions.iter();
    assert!(asked.clone().all(|one| one.detail["permission"] == "external_directory"));
    assert!(asked.clone().all(|one| one.responder.as_deref() == Some("access workspace")));
    assert!(scene.in_work("inside.txt").exists());
    let outside = scene.room.path().join("outside");
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 1);
    keep(&scene, &report, "control-places", "inside written, outside and by a link denied");
}

fn question() -> Turn {
    Turn::tool(Tool::Ask { question: "which of the two?".to_owned() })
}

fn a_question_that_nobody_answers(case: &Case) {
    let scene = Scene::new(case, then_done([question()]));
    let report = Talk::new(&scene, Access::ReadOnly, rules(&["webfetch"], &[])).run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert_eq!(decided(&report), [REJECTED]);
    assert!(warnings(&report).contains("a question was rejected"), "{report:#?}");
    keep(&scene, &report, "control-question-unattended", "rejected, the agent went on");

    let scene = Scene::new(case, Scenario::of([question(), Turn::text("")]));
    let report = Talk::new(&scene, Access::ReadOnly, rules(&["webfetch"], &[])).run();
    assert_eq!(report.status.command_exit_code, Some(15), "{report:#?}");
    assert!(report.status.failure_reason.as_deref().unwrap().contains("a question was rejected"));
    keep(&scene, &report, "control-question-unattended-15", "rejected, no result, 15");
}

fn somebody_answers(case: &Case) {
    let turns = [
        question(),
        shell("touch once"),
        shell("touch never"),
        shell("touch kept"),
        shell("touch kept again"),
    ];
    let scene = Scene::new(case, then_done(turns));
    let mut talk = Talk::new(&scene, Access::ReadOnly, attended());
    talk.responder = |number| match number {
        0 => says(Decision::Answer, &["B"]),
        1 => says(Decision::Allow, &[]),
        2 => says(Decision::Deny, &["leave \"it\"\nout"]),
        3 => says(Decision::AllowAlways, &[]),
        _ => None,
    };
    let report = talk.run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    let waited = |decision| (Some(InteractionOutcome::AwaitingAuthorizedResponder), Some(decision));
    let wanted = [Decision::Answer, Decision::Allow, Decision::Deny, Decision::AllowAlways];
    let wanted: Vec<_> = wanted.map(waited).into_iter().chain([GIVEN]).collect();
    assert_eq!(decided(&report), wanted, "{report:#?}");
    let there = ["once", "never", "kept", "again"].map(|name| scene.in_work(name).exists());
    assert_eq!(there, [true, false, true, true]);
    let told = told(&scene);
    assert!(
        told.contains(r#"\"which of the two?\"=\"B\""#) && told.contains("leave \\\"it\\\"\\nout")
    );
    assert!(!scene.in_work(".claude").exists(), "a settings file was written");
    keep(&scene, &report, "control-answered", "answered, allowed, denied, allowed for always");
}

fn a_denial_without_words_stops_the_turn(case: &Case) {
    let scene = Scene::new(case, then_done([shell("touch never")]));
    let mut talk = Talk::new(&scene, Access::ReadOnly, attended());
    talk.responder = |_| says(Decision::Deny, &[]);
    let report = talk.run();
    let reason = report.status.failure_reason.clone().unwrap();
    assert_eq!(ended(&report), json!(["failed", 15, "exited"]), "{report:#?}");
    assert!(reason.contains("the permission bash (touch never) was denied by uid 7"), "{reason}");
    assert!(!scene.in_work("never").exists() && scene.server.main_requests().len() == 1);
    keep(&scene, &report, "control-stopped", &reason);
}

fn a_denial_without_words_stops_an_agent_of_an_agent_too(case: &Case) {
    let args = json!({"description": "d", "prompt": "do it", "subagent_type": "general-purpose",
        "run_in_background": false});
    let agent = Turn::tool(Tool::Raw { name: "Agent".to_owned(), args });
    let scene = Scene::new(case, then_done([agent, shell("touch never")]));
    let mut talk = Talk::new(&scene, Access::ReadOnly, attended());
    talk.responder = |_| says(Decision::Deny, &[]);
    let report = talk.run();
    assert_eq!(ended(&report), json!(["failed", 15, "exited"]), "{report:#?}");
    assert_eq!(report.status.interactions[0].detail["session"], "child", "{report:#?}");
    assert!(!scene.in_work("never").exists());
    keep(&scene, &report, "control-stopped-child", "the main agent stopped with it, 15");
}

fn nobody_comes(case: &Case) {
    let scene = Scene::new(case, then_done([shell("touch late")]));
    let terms = Terms { attended: Some(Duration::from_secs(1)), ..Terms::default() };
    let report = Talk::new(&scene, Access::ReadOnly, terms).run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert_eq!(report.status.interactions[0].decision, Some(Decision::Expired));
    assert!(!scene.in_work("late").exists() && warnings(&report).contains("in time"));
    keep(&scene, &report, "control-late", "expired, the agent went on");
}

fn a_cancel_while_something_is_asked(case: &Case) {
    let scene = Scene::new(case, then_done([shell("touch never")]));
    let mut talk = Talk::new(&scene, Access::ReadOnly, attended());
    talk.cancels = true;
    let report = talk.run();
    assert_eq!(report.status.state.name(), "cancelled", "{report:#?}");
    assert_eq!(report.status.backend_exit_code, Some(0), "it heeds the interrupt: {report:#?}");
    assert!(report.status.interactions.iter().all(|one| !one.is_open()), "{report:#?}");
    assert!(!scene.in_work("never").exists());
    keep(&scene, &report, "control-cancelled", "cancelled, exit 0 after SIGINT");
}

fn a_failing_model_ends_it_too(case: &Case) {
    let scene = Scene::new(case, Scenario::of([Turn::status(400)]));
    let report = Talk::new(&scene, Access::Workspace, attended()).run();
    assert_eq!(report.status.state.name(), "failed", "{report:#?}");
    assert_eq!(ended(&report)[2], "exited", "{report:#?}");
    let code = report.status.failure.as_ref().unwrap().http_code;
    assert_eq!(code, Some(400), "{report:#?}");
    keep(&scene, &report, "control-failed", "HTTP 400, exit by itself");
}

fn work_in_the_background_is_waited_for(case: &Case) {
    let args = json!({"command": "sleep 2; touch ended", "description": "work", "run_in_background": true});
    let work = Turn::tool(Tool::Raw { name: "Bash".to_owned(), args });
    let scene =
        Scene::new(case, Scenario::of([work, Turn::text("it runs"), Turn::text("it is over")]));
    let report = Talk::new(&scene, Access::Workspace, rules(&["bash"], &[])).run();
    assert_eq!(ended(&report), json!(["done", 0, "exited"]), "{report:#?}");
    assert!(scene.in_work("ended").exists());
    let envelope = serde_json::to_value(&report.envelope).unwrap();
    assert_eq!(envelope["data"]["result"], "it is over", "{envelope:#}");
    keep(&scene, &report, "control-background", "settled work, and the answer after it");
}
