//! A cancel in every phase of a job, twice, by signals, of a worker that does not answer, and racing
//! the job's completion.

use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{Dialect, Exec, Outcome, Running, Stage, shown};

/// An agent that says that it is there, and stays.
fn hanging() -> Stage {
    let stage = Stage::new([]);
    stage.play([Step::Touch(stage.path("tmp/ready")), Step::Hang(true)]);
    stage
}

fn answering() -> Stage {
    Stage::new([Dialect::of("codex").ok("Done.").told()])
}

/// Its worker stands still after `point` until the test lets it go on.
fn at<'s>(stage: &Stage, job: Exec<'s>, point: &str) -> Exec<'s> {
    let (held, go) = (stage.path("tmp/held"), stage.path("tmp/go"));
    let job = job.env("DCLI_TEST_FAULT", point).env("DCLI_TEST_FAULT_FILE", held);
    job.env("DCLI_TEST_FAULT_UNTIL", go)
}

fn let_go(stage: &Stage) {
    stage.room.file("tmp/go", "").unwrap();
}

/// Waits until somebody asked for the job's end.
fn wait_asked(stage: &Stage, id: &str) {
    let wish = stage.job_dir(id).join("cancel.request");
    wait_until("cancel.request", HANG_LIMIT, || wish.exists()).unwrap();
}

fn cancel<'s>(stage: &'s Stage, id: &str) -> Running<'s> {
    stage.dcli().args(["cancel", id, "--json"]).start()
}

/// What a cancel that ended well answers.
fn confirmed(cancel: Outcome) -> Value {
    assert_eq!(cancel.code(), 0, "{cancel:?}");
    cancel.json("job")
}

/// How the job ended: once, as its projection has it, and done only with a result.
fn ending(stage: &Stage, id: &str) -> String {
    let journal = stage.journal(id);
    let endings = journal.iter().filter(|line| line["type"] == "ended").count();
    assert_eq!((endings, &journal.last().unwrap()["type"]), (1, &"ended".into()), "{journal:#?}");
    let (status, ended) = (stage.status(id), journal.last().unwrap());
    for key in ["state", "command_exit_code", "result_bytes"] {
        assert_eq!(status[key], ended[key], "{key}: {status:#}");
    }
    let state = status["state"].as_str().unwrap().to_owned();
    let read = stage.over(&["read", id]);
    assert_eq!(read.code(), i32::try_from(ended["command_exit_code"].as_i64().unwrap()).unwrap());
    match state.as_str() {
        "done" => assert_eq!(read.text(), "Done."),
        _ => assert_eq!(read.text(), ""),
    }
    assert!(!stage.job_dir(id).join("attempts/1/capture").exists(), "{id}");
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    state
}

/// Holds a submitted job's worker after `point`, cancels it there, and gives how it ended.
fn cancelled_at(stage: &Stage, point: &str) -> String {
    let submit = at(stage, stage.job("submit", "codex"), point).words("Do it.").start();
    submit.wait_file("tmp/held");
    let id = stage.only_job();
    let asked = cancel(stage, &id);
    wait_asked(stage, &id);
    let_go(stage);
    let told = confirmed(asked.finish_uncontained());
    let submitted = submit.finish_uncontained();
    assert_eq!((submitted.code(), submitted.text().trim_end()), (0, id.as_str()), "{submitted:?}");
    let state = ending(stage, &id);
    assert_eq!(told["state"], state.as_str(), "{point}");
    state
}

#[test]
fn a_cancel_before_and_while_the_backend_runs_ends_the_job_cancelled() {
    let points = [
        "append worker_started",
        "take place",
        "append admitted",
        "make attempt",
        "append attempt_created",
        "append backend_started",
    ];
    for point in points {
        assert_eq!(cancelled_at(&hanging(), point), "cancelled", "{point}");
    }
    shown("10", "cancel-held", "a cancel from creation to the started backend: cancelled");
}

#[test]
fn a_cancel_after_completion_only_ends_what_lingers() {
    let points = [
        "append completion_observed",
        "end tree",
        "append backend_ended",
        "save output",
        "append ended",
    ];
    for point in points {
        assert_eq!(cancelled_at(&answering(), point), "done", "{point}");
    }
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told(), Step::Hang(true)]);
    let id = stage.submit("codex");
    let is_complete =
        || stage.journal(&id).iter().any(|line| line["type"] == "completion_observed");
    wait_until("completion", HANG_LIMIT, is_complete).unwrap();
    assert_eq!(confirmed(cancel(&stage, &id).finish_uncontained())["state"], "done");
    assert_eq!(ending(&stage, &id), "done");
    assert!(stage.journal(&id).iter().all(|line| line["type"] != "cancel_requested"));
    shown("10", "cancel-after-completion", "while it lingers, is ended and is saved: done");
}

#[test]
fn a_queued_job_is_cancelled_alone_and_a_second_cancel_changes_nothing() {
    let stage = hanging();
    stage.room.file("home/.config/dcli/config.toml", "[limits]\nmax_jobs = 1\n").unwrap();
    let first = stage.submit("codex");
    stage.wait_running(&first);
    let queued = stage.submit("codex");
    assert_eq!(stage.status(&queued)["state"], "queued");
    assert_eq!(confirmed(cancel(&stage, &queued).finish_uncontained())["state"], "cancelled");
    let dir = stage.job_dir(&queued);
    assert!(!dir.join("attempts/1/command.json").exists(), "it was started");
    let before = Stage::files(&dir);
    assert_eq!(confirmed(cancel(&stage, &queued).finish_uncontained())["state"], "cancelled");
    assert_eq!(Stage::files(&dir), before);
    assert_eq!(stage.status(&first)["state"], "running");
    // By two processes at the same time.
    let both = [cancel(&stage, &first), cancel(&stage, &first)];
    for one in both {
        assert_eq!(confirmed(one.finish_uncontained())["state"], "cancelled");
    }
    assert_eq!([ending(&stage, &first), ending(&stage, &queued)], ["cancelled", "cancelled"]);
    let waiting = std::fs::read_dir(stage.room.state().join("queue"));
    assert_eq!(waiting.map_or(0, Iterator::count), 0, "a place in the queue is left");
    shown("10", "cancel-queued", "queued, twice, and by two processes at once: one ending each");
}

#[test]
fn a_second_cancel_while_the_first_is_carried_out_ends_it_once() {
    for point in ["append cancel_requested", "climb"] {
        let stage = hanging();
        let id = stage.submitted(at(&stage, stage.job("submit", "codex"), point).words("Do it."));
        stage.wait_file("tmp/ready");
        let first = cancel(&stage, &id);
        stage.wait_file("tmp/held");
        let second = cancel(&stage, &id);
        let_go(&stage);
        for one in [first, second] {
            assert_eq!(confirmed(one.finish_uncontained())["state"], "cancelled", "{point}");
        }
        assert_eq!(ending(&stage, &id), "cancelled", "{point}");
    }
    shown("10", "cancel-twice", "again while the first is journaled and climbed: cancelled once");
}

#[test]
fn signals_to_run_and_to_a_detached_worker_are_a_cancel() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let stage = hanging();
        let run = stage.job("run", "codex").words("Do it.").start();
        run.wait_file("tmp/ready");
        run.signal(signal);
        let outcome = run.finish();
        assert_eq!((outcome.code(), outcome.text()), (30, ""), "{signal:?}: {outcome:?}");
        assert_eq!(ending(&stage, &stage.only_job()), "cancelled", "{signal:?}");

        let stage = hanging();
        let id = stage.submit("codex");
        stage.wait_running(&id);
        kill_process(Pid::from_raw(stage.worker(&id)).unwrap(), signal).unwrap();
        assert_eq!(stage.waited(&id)["state"], "cancelled", "{signal:?}");
        assert_eq!(ending(&stage, &id), "cancelled", "{signal:?}");
    }
    shown("10", "cancel-signals", "SIGTERM, SIGHUP and SIGINT to run and to its worker: cancelled");
}

#[test]
fn a_worker_that_does_not_answer_is_killed_and_its_job_is_cancelled() {
    let stage = hanging();
    let id = stage.submit("codex");
    stage.wait_running(&id);
    kill_process(Pid::from_raw(stage.worker(&id)).unwrap(), Signal::STOP).unwrap();
    let asked = stage.dcli().args(["cancel", &id, "--json"]).env("DCLI_TEST_CANCEL_MARGIN", "0");
    let status = confirmed(asked.start().finish_uncontained());
    assert_eq!((&status["state"], &status["command_exit_code"]), (&"cancelled".into(), &30.into()));
    assert_eq!(ending(&stage, &id), "cancelled");
    shown("10", "cancel-stopped", "a stopped worker is killed after its ladder: cancelled");
}

/// Rounds of a race, each with an agent that completes at another moment.
const ROUNDS: u64 = 16;

#[test]
fn a_cancel_that_races_completion_leaves_one_ending() {
    let mut seen = [0, 0];
    for round in 0..ROUNDS {
        let stage =
            Stage::new([Step::SleepMs(round * 37 % 160), Dialect::of("codex").ok("Done.").told()]);
        let id = stage.submit("codex");
        let both = [cancel(&stage, &id), cancel(&stage, &id)];
        let told = both.map(|one| confirmed(one.finish_uncontained())["state"].clone());
        let state = ending(&stage, &id);
        assert_eq!(told, [state.as_str(), state.as_str()]);
        seen[usize::from(state == "done")] += 1;
        assert!(["done", "cancelled"].contains(&state.as_str()), "{state}");
    }
    for round in 0..ROUNDS / 2 {
        let stage =
            Stage::new([Step::SleepMs(round * 37 % 120), Dialect::of("codex").ok("Done.").told()]);
        let run = stage.job("run", "codex").words("Do it.").start();
        run.wait_file("state/jobs");
        wait_until("the job", HANG_LIMIT, || stage.jobs().len() == 1).unwrap();
        run.signal_if_there(Signal::INT);
        let outcome = run.finish();
        let state = ending(&stage, &stage.only_job());
        let promised = if state == "done" { (0, "Done.") } else { (30, "") };
        assert_eq!((outcome.code(), outcome.text()), promised, "{state}: {outcome:?}");
        seen[usize::from(state == "done")] += 1;
    }
    let [cancelled, done] = seen;
    let observed = format!("{cancelled} rounds ended cancelled, {done} done, each once");
    shown("10", "cancel-race", &observed);
}
