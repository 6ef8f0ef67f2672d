//! Secrets: planted in every channel that an agent and a caller have, they are nowhere in the state
//! root but in the files that are the user's own. The same run with the same words, nobody having
//! said that they are secret, shows that they went through those channels.

use std::collections::BTreeSet;
use std::path::Path;

use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::Step;
use dcli_testkit::hang::HANG_LIMIT;
use serde_json::{Value, json};

use crate::common::{Dialect, Exec, Outcome, Stage, say, shown};

/// Given by name. It needs escapes in JSON, and is cut in two in the middle of one.
pub(super) const GIVEN: &str = "pl4nted-head\"\\\u{e9}pl4nted-tail";
/// Found in variables with telling names.
const AMBIENT: [(&str, &str); 5] = [
    ("SERVICE_KEY", "amb1ent-one-77aa"),
    ("DEPLOY_TOKEN", "amb1ent-two-77bb"),
    ("Client_Secret", "amb1ent-three-77cc"),
    ("AWS_CREDENTIAL_DATA", "amb1ent-four-77dd"),
    ("OPENCODE_SERVER_PASSWORD", "amb1ent-five-77ee"),
];
/// What no secret can be without, so that half of one is found as well.
const TRACES: [&str; 3] = ["pl4nted-head", "pl4nted-tail", "amb1ent-"];
/// The user's own, kept as they are.
const OWN: [&str; 3] = ["prompt.md", "result.md", "findings.json"];
/// Every other file of a job in which the words are, where they are no secret.
const CHANNELS: [&str; 7] = [
    "command.json",
    "envelope.json",
    "facts.jsonl",
    "journal.jsonl",
    "request.json",
    "stderr.log",
    "stdout.log",
];

/// The facts that an agent's words get into.
const TELLING: [&str; 8] = [
    "assistant_text",
    "backend_error",
    "reasoning",
    "started",
    "task_settled",
    "task_started",
    "tool_invoked",
    "tool_result",
];

/// Whether dcli can know that the words are secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

/// All of them, in one text.
fn secret() -> String {
    let ambient = AMBIENT.map(|(_, value)| value).join(" ");
    format!("<{GIVEN}> {ambient}")
}

/// The text with every secret where an agent's or a model's words can be.
fn everywhere(dialect: &Dialect, ending: Ending) -> Vec<Step> {
    let kinds = [
        FactKind::Started,
        FactKind::AssistantText,
        FactKind::Reasoning,
        FactKind::ToolInvoked,
        FactKind::ToolResult,
        FactKind::TaskStarted,
        FactKind::TaskSettled,
        FactKind::Retrying,
        FactKind::PermissionDenied,
    ];
    let names =
        ["session_id", "text", "task_id", "message_id", "call_id", "tool", "summary", "outcome"];
    let all = names.map(|name| (name, json!(secret())));
    // Work that settles in no known way is not covered by a result.
    let is_task = |kind| matches!(kind, FactKind::TaskStarted | FactKind::TaskSettled);
    let kinds = kinds.into_iter().filter(|kind| ending != Ending::Done || !is_task(*kind));
    let facts = kinds.filter_map(|kind| dialect.fact(kind, &all));
    let facts = dialect.tale(facts).text();
    let session = json!(secret()).to_string();
    let named = dialect.tale(dialect.unproven("Nothing yet.")).text();
    let named = named.replace("\"the ", &format!("{} ", &session[..session.len() - 1]));
    let plain = format!("not JSON: {} password={GIVEN}\n", secret());
    let mut steps = vec![say(facts), say(named), say(plain.clone())];
    // Cut between any two bytes, on both outputs.
    steps.extend(GIVEN.as_bytes().iter().map(|byte| Step::StdoutHex(format!("{byte:02x}"))));
    steps.extend([say("\n"), Step::Stderr(plain)]);
    steps.extend(GIVEN.chars().map(|letter| Step::Stderr(letter.to_string())));
    steps
}

/// `dcli VERB`, the words wherever a caller can put them.
fn job<'s>(stage: &'s Stage, verb: &str, backend: &str, told: Told) -> Exec<'s> {
    let mut exec = stage.job(verb, backend).args(["--extra-arg", &format!("--say={}", secret())]);
    exec = exec.args(["--model", "m-pl4nted-head", "--group", "night"]);
    if told == Told::Yes {
        exec = exec.args(["--env", &format!("DELIVERY={GIVEN}"), "--env", "MODEL=m-pl4nted-head"]);
        for (name, value) in AMBIENT {
            exec = exec.env(name, value);
        }
    }
    let label = secret().replace('\\', "/");
    let label = if told == Told::Yes { "amb1ent-one-77aa".to_owned() } else { label };
    exec.args(["--label", &label]).words(format!("Deliver {}.", secret()))
}

/// The names of the files below `root`, but the user's own, in which a trace is.
pub(super) fn traces(root: &Path) -> BTreeSet<String> {
    let files = Stage::files(root).into_iter();
    let holds = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        TRACES.iter().any(|trace| text.contains(trace))
    };
    let found = files.filter(|(path, bytes)| {
        holds(bytes)
            || path.strip_prefix(root).unwrap().to_str().is_none_or(|p| holds(p.as_bytes()))
    });
    let names = found.map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| !OWN.contains(&name.as_str())).collect()
}

/// The types of the job's facts in which a trace is.
fn telling(stage: &Stage, id: &str) -> BTreeSet<String> {
    let text = stage.over(&["tail", id, "--json"]);
    let lines = text.text().lines().filter(|line| TRACES.iter().any(|trace| line.contains(trace)));
    let fact =
        |line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().map(str::to_owned);
    lines.filter_map(fact).collect()
}

/// Fails if a trace is in what a command printed, its result aside.
fn assert_clean(outcome: &Outcome) {
    let text = match serde_json::from_str::<Value>(outcome.text()) {
        Ok(mut job) if job["envelope"].is_object() => {
            job["envelope"]["data"]["result"] = Value::Null;
            job["envelope"]["summary"] = Value::Null;
            job.to_string()
        }
        _ => outcome.text().to_owned(),
    };
    for trace in TRACES {
        assert!(!text.contains(trace) && !outcome.stderr.contains(trace), "{trace}: {outcome:?}");
    }
}

/// Every command that prints what was kept, without the secrets in its own environment.
fn look_everywhere(stage: &Stage, id: &str) {
    let status = stage.over(&["status", id, "--json"]);
    status.json("job");
    let debug = stage.over(&["debug", id]);
    debug.json("debug");
    let list = stage.over(&["list", "--json"]);
    list.json("jobs");
    let told = [
        &["status", id][..],
        &["list"],
        &["tail", id],
        &["tail", id, "--json"],
        &["tail", id, "--raw"],
        &["wait", id],
        &["list", "--label", "nothing"],
    ];
    let told = told.map(|arguments| stage.over(arguments));
    [status, debug, list].iter().chain(&told).for_each(assert_clean);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Done,
    Failed,
    Cancelled,
    Late,
    Interrupted,
}

/// A job that is over in this way, every channel having been used.
fn ended(ending: Ending, backend: &str, told: Told) -> (Stage, String) {
    let (stage, dialect) = (Stage::new([]), Dialect::of(backend));
    let last = match ending {
        Ending::Done => vec![dialect.ok(&format!("Delivered {}.", secret())).told()],
        Ending::Failed => {
            let rule = dialect.failure_rule(false).unwrap();
            let answer = dialect.answer(&secret());
            vec![dialect.tale([answer, dialect.failing(rule, &secret())]).told(), Step::Exit(1)]
        }
        _ => vec![Step::Touch(stage.path("tmp/ready")), Step::Hang(true)],
    };
    stage.play(everywhere(&dialect, ending).into_iter().chain(last));
    let mut submit = job(&stage, "submit", backend, told);
    if ending == Ending::Late {
        submit = submit.args(["--hard-timeout-sec", "2"]);
    }
    let id = stage.submitted(submit);
    match ending {
        Ending::Done | Ending::Failed => {}
        Ending::Late => stage.wait_file("tmp/ready"),
        Ending::Cancelled => {
            stage.wait_file("tmp/ready");
            stage.over(&["cancel", &id, "--json"]).json("job");
        }
        Ending::Interrupted => {
            stage.wait_file("tmp/ready");
            stage.wait_running(&id);
            stage.kill_worker(&id);
        }
    }
    (stage, id)
}

fn state(ending: Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::Failed => "failed",
        Ending::Cancelled => "cancelled",
        Ending::Late => "timed_out",
        Ending::Interrupted => "interrupted",
    }
}

const ENDINGS: [Ending; 5] =
    [Ending::Done, Ending::Failed, Ending::Cancelled, Ending::Late, Ending::Interrupted];

#[test]
fn a_planted_secret_is_kept_nowhere_but_in_the_users_own_files() {
    for (ending, backend) in ENDINGS.into_iter().zip(["claude", "codex"].iter().cycle()) {
        let (stage, id) = ended(ending, backend, Told::Yes);
        let capture = stage.job_dir(&id).join("attempts/1/capture");
        // While nobody has recorded the death, the raw output is where no command reads it.
        if ending == Ending::Interrupted {
            assert!(traces(&capture).contains("stdout"), "there is nothing to be removed");
            // As it is left by a worker that dies while it saves the result.
            std::fs::write(capture.with_file_name(".tmpA1b2C3"), secret()).unwrap();
        }
        assert_eq!(stage.waited(&id)["state"], state(ending));
        assert!(!capture.exists());
        assert_eq!(traces(&stage.room.state()), BTreeSet::new(), "{}", state(ending));
        look_everywhere(&stage, &id);
    }
    shown("14", "redaction", "5 endings, 7 files and 10 commands: no trace of 6 secrets");
}

#[test]
fn the_same_words_are_in_every_file_where_nobody_said_that_they_are_secret() {
    let mut seen = BTreeSet::new();
    for (ending, backend) in [(Ending::Failed, "claude"), (Ending::Done, "codex")] {
        let (stage, id) = ended(ending, backend, Told::No);
        stage.waited(&id);
        if backend == "claude" {
            assert_eq!(telling(&stage, &id), TELLING.map(str::to_owned).into());
        }
        seen.extend(traces(&stage.room.state()));
        assert!(seen.remove("status.json"), "the label, at least");
    }
    assert_eq!(seen, CHANNELS.map(str::to_owned).into(), "a channel carried nothing");
}

#[test]
fn the_users_own_files_keep_what_they_hold() {
    let (stage, id) = ended(Ending::Done, "claude", Told::Yes);
    stage.waited(&id);
    let attempt = stage.job_dir(&id).join("attempts/1");
    let kept = |name| std::fs::read_to_string(attempt.join(name)).unwrap();
    assert_eq!(kept("prompt.md"), format!("Deliver {}.", secret()));
    assert_eq!(kept("result.md"), format!("Delivered {}.", secret()));
    assert_eq!(stage.over(&["read", &id]).text(), kept("result.md"));
    let job = stage.status(&id);
    assert_eq!(job["envelope"]["data"]["result"], kept("result.md"), "printed, and kept apart");
}

#[test]
fn a_foreground_job_keeps_no_secret_either() {
    let (stage, dialect) = (Stage::new([]), Dialect::of("claude"));
    let done = dialect.ok(&format!("Delivered {}.", secret())).told();
    stage.play(everywhere(&dialect, Ending::Done).into_iter().chain([done]));
    let ran = job(&stage, "run", "claude", Told::Yes).arg("--json").run();
    assert_eq!(ran.json("job")["state"], "done");
    assert_eq!(traces(&stage.room.state()), BTreeSet::new());
}

#[test]
fn a_prompt_is_kept_in_one_place_also_where_it_is_an_argument() {
    for backend in ["claude", "gemini"] {
        let stage = Stage::new([Dialect::of(backend).ok("Done.").told()]);
        let run = stage.job("run", backend).words("pl4nted-head, which nobody said is secret");
        assert_eq!(run.run().code(), 0);
        assert_eq!(traces(&stage.room.state()), BTreeSet::new(), "{backend}");
    }
}

#[test]
fn exec_keeps_nothing_at_all() {
    let (stage, dialect) = (Stage::new([]), Dialect::of("claude"));
    let ready = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
    stage.play(everywhere(&dialect, Ending::Cancelled).into_iter().chain(ready));
    let exec = stage.exec("claude").args(["--env", &format!("DELIVERY={GIVEN}")]);
    let running = exec.words(secret()).start();
    running.wait_file("tmp/ready");
    let room = |stage: &Stage| [traces(&stage.room.state()), traces(&stage.room.tmp())];
    let seen = BTreeSet::from(["seen.json".to_owned()]);
    // What the agent itself wrote of what it was given; neither now nor after a death anything else.
    assert_eq!(room(&stage), [BTreeSet::new(), seen.clone()]);
    running.kill();
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    assert_eq!(room(&stage), [BTreeSet::new(), seen]);
}
