//! SIGKILL of a job's worker after each effect of it and of its attempt: what `status` says then is
//! true and has its reason, nothing of the tree survives, no file is damaged, the next command works.

use std::path::PathBuf;

use dcli_core::attempt::Effect as AttemptEffect;
use dcli_core::executor::rule::FactKind;
use dcli_core::job::event::Event;
use dcli_core::job::machine::Effect;
use dcli_core::milestone::Milestone;
use dcli_testkit::agent::{ChildKind, Step};
use dcli_testkit::evidence::Row;
use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use dcli_testkit::opencode;
use dcli_testkit::programs::program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::common::asking::{self, Asks};
use super::common::{Dialect, Exec, Protection, Running, Stage, child, shown};

/// What the agent does while its worker comes to the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tale {
    /// It answers and exits.
    Answers,
    /// It never comes to run: another job has the only place.
    Waits,
    /// It answers, and then announces more work.
    Resumes,
    /// It is cancelled.
    Cancelled,
    /// It is too late.
    Late,
    /// It says nothing, and is looked at.
    Silent,
    /// It exits without an answer.
    Leaves,
    /// It asks something that nobody is there to answer.
    Asks,
    /// It is a server, whose session comes to a bad end while the server lives on.
    Serves,
}

/// How the job has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Interrupted,
    /// With a warning that says that the worker died.
    Recovered,
    /// The worker had written it before it died.
    Done,
    Cancelled,
    TimedOut,
    /// A waiting job has another worker and runs.
    Revived,
}

struct Case {
    point: &'static str,
    tale: Tale,
    end: End,
}

const fn case(point: &'static str, tale: Tale, end: End) -> Case {
    Case { point, tale, end }
}

const BEFORE_THE_RUN: &[Case] = &[
    case("append worker_started", Tale::Answers, End::Interrupted),
    case("project", Tale::Answers, End::Interrupted),
    case("take place", Tale::Answers, End::Interrupted),
    case("append queued", Tale::Waits, End::Revived),
    case("await place", Tale::Waits, End::Revived),
    case("append admitted", Tale::Answers, End::Interrupted),
    case("make attempt", Tale::Answers, End::Interrupted),
    case("append attempt_created", Tale::Answers, End::Interrupted),
    case("append backend_started", Tale::Answers, End::Interrupted),
    case("append session_named", Tale::Answers, End::Interrupted),
];

const DURING_THE_RUN: &[Case] = &[
    case("note completed", Tale::Answers, End::Recovered),
    case("append completion_observed", Tale::Answers, End::Recovered),
    case("note resumed", Tale::Resumes, End::Interrupted),
    case("append completion_withdrawn", Tale::Resumes, End::Interrupted),
    case("note cancel requested", Tale::Cancelled, End::Cancelled),
    case("append cancel_requested", Tale::Cancelled, End::Cancelled),
    case("climb", Tale::Cancelled, End::Cancelled),
    case("note deadline reached", Tale::Late, End::TimedOut),
    case("append deadline_reached", Tale::Late, End::TimedOut),
    case("sample", Tale::Silent, End::Interrupted),
    case("look for rest", Tale::Leaves, End::Interrupted),
    case("append backend_state", Tale::Serves, End::Interrupted),
    case("note settled", Tale::Serves, End::Interrupted),
    case("append interaction_pending", Tale::Asks, End::Interrupted),
    case("append interaction_resolved", Tale::Asks, End::Interrupted),
];

const AFTER_THE_RUN: &[Case] = &[
    case("note leader ended", Tale::Answers, End::Recovered),
    case("end tree", Tale::Answers, End::Recovered),
    case("start backend", Tale::Answers, End::Recovered),
    case("append backend_ended", Tale::Answers, End::Recovered),
    case("save output", Tale::Answers, End::Recovered),
    case("append ended", Tale::Answers, End::Done),
    case("settle", Tale::Answers, End::Done),
];

/// Where the maker of a job stands before a worker has it.
const BY_THE_MAKER: [&str; 1] = ["append created"];

fn all() -> impl Iterator<Item = &'static Case> {
    BEFORE_THE_RUN.iter().chain(DURING_THE_RUN).chain(AFTER_THE_RUN)
}

/// Every effect that there is, by the names that the core's own matches give.
fn effects() -> Vec<String> {
    let kinds = |names: &[&str], first: &str, kinds: &[&str]| -> Vec<String> {
        let of = |name: &&str| match *name == first {
            true => kinds.iter().map(|kind| format!("{first} {kind}")).collect(),
            false => vec![(*name).to_owned()],
        };
        names.iter().flat_map(of).collect()
    };
    let mut all = kinds(&Effect::NAMES, "append", &Event::NAMES);
    all.extend(kinds(&AttemptEffect::NAMES, "note", &Milestone::NAMES));
    all
}

#[test]
fn a_worker_is_killed_after_every_effect_that_there_is() {
    let points: Vec<&str> = all().map(|case| case.point).chain(BY_THE_MAKER).collect();
    let missing: Vec<_> = effects().into_iter().filter(|e| !points.contains(&&**e)).collect();
    assert_eq!(missing, Vec::<String>::new(), "nobody is killed there");
}

#[test]
fn the_truth_is_told_of_a_worker_killed_before_its_backend_answers() {
    BEFORE_THE_RUN.iter().for_each(|case| case.kill("submit"));
    shown("9", "killed-before-the-run", "0 survivors, every status true");
}

#[test]
fn the_truth_is_told_of_a_worker_killed_while_its_backend_runs() {
    DURING_THE_RUN.iter().for_each(|case| case.kill("submit"));
    shown("9", "killed-during-the-run", "0 survivors, every status true");
}

#[test]
fn the_truth_is_told_of_a_worker_killed_after_its_backend_ended() {
    AFTER_THE_RUN.iter().for_each(|case| case.kill("submit"));
    shown("9", "killed-after-the-run", "0 survivors, every status true");
}

#[test]
fn the_truth_is_told_of_a_run_in_the_foreground_that_is_killed() {
    all().for_each(|case| case.kill("run"));
    shown("9", "killed-foreground", "0 survivors, every status true");
}

#[test]
fn without_containment_something_survives_a_killed_worker() {
    let controls = [
        ("killed-before-the-run", "submit", "append backend_started"),
        ("killed-during-the-run", "submit", "sample"),
        ("killed-after-the-run", "submit", "note leader ended"),
        ("killed-foreground", "run", "sample"),
    ];
    for (check, verb, point) in controls {
        let case = all().find(|case| case.point == point).unwrap();
        let scene = Scene::new(case, verb, Protection::Off);
        scene.killed();
        let alive = scene.stage.marker.alive();
        scene.stage.marker.kill_all(HANG_LIMIT).unwrap();
        let (observed, red) = (format!("{} survivors", alive.len()), !alive.is_empty());
        Row { observed, red, disabled: true, ..Row::of("9", check) }.keep().unwrap();
        assert!(red, "{check}: nothing survived although nothing was contained");
    }
}

/// One job whose worker stands at the point, or is about to.
struct Scene {
    stage: Stage,
    point: &'static str,
    /// Has the only place, where the job has to wait; with a marker of its own.
    other: Option<Stage>,
    protection: Protection,
    verb: &'static str,
    tale: Tale,
}

impl Scene {
    fn new(case: &Case, verb: &'static str, protection: Protection) -> Self {
        let stage = Stage::new([]);
        stage.play(steps(&stage, case.tale));
        let limits = "[limits]\nmax_jobs = 1\n";
        stage.room.file("home/.config/dcli/config.toml", limits).unwrap();
        let other = (case.tale == Tale::Waits).then(|| occupy(&stage));
        Self { stage, point: case.point, other, protection, verb, tale: case.tale }
    }

    fn start(&self) -> Running<'_> {
        let job = match self.tale {
            Tale::Serves => self.serving(),
            tale => self.stage.job(self.verb, tale.dialect().id()),
        };
        let job = match (self.tale, self.verb) {
            (Tale::Waits, "run") => job.arg("--queue"),
            (Tale::Late, _) => job.args(["--hard-timeout-sec", "0.3"]),
            (Tale::Asks, _) => job.args(["--access", "workspace", "--deny", "webfetch"]),
            (Tale::Silent, _) => job.args(["--idle-timeout-sec", "1.2"]),
            _ => job,
        };
        let job = job.env("DCLI_TEST_FAULT", self.point).env("DCLI_TEST_FAULT_FILE", self.held());
        job.protected(self.protection).words("Do it.").start()
    }

    /// A job of a server that fails the first prompt.
    fn serving(&self) -> Exec<'_> {
        let path = self.stage.path("server.json");
        let error = json!({"name": "UnknownError", "data": {"message": "out of order"}});
        opencode::Script::of([opencode::Step::Error(error)]).save(&path).unwrap();
        let server = self.stage.dcli().args([self.verb, "--backend", "opencode", "--command"]);
        let server = server.arg(program("dcli-fake-opencode").unwrap());
        server.env(opencode::SCRIPT_VARIABLE, path)
    }

    fn held(&self) -> PathBuf {
        self.stage.path("tmp/held")
    }

    /// Brings the worker to the point and kills it there. The job's id.
    fn killed(&self) -> String {
        let running = self.start();
        let mut id = None;
        let pid = wait_for(self.point, HANG_LIMIT, || {
            id = id.take().or_else(|| self.published());
            if let Some(id) = &id {
                self.push_on(id);
            }
            std::fs::read_to_string(self.held()).ok()?.trim().parse::<i32>().ok()
        });
        let pid = match pid {
            Ok(pid) => pid,
            Err(hang) => {
                self.stage.marker.kill_all(HANG_LIMIT).unwrap();
                panic!("{hang}: {:?}", running.finish_uncontained())
            }
        };
        if self.protection == Protection::Off {
            wait_until("the agent", HANG_LIMIT, || self.stage.was_started()).unwrap();
        }
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        // `submit` has its answer, or its worker died before it gave one; `run` is dead itself.
        running.finish_uncontained();
        self.published().unwrap()
    }

    /// What has to come from outside.
    fn push_on(&self, id: &str) {
        let has = |name: &str| self.stage.journal(id).iter().any(|line| line["type"] == name);
        match self.tale {
            Tale::Cancelled if has("session_named") && !has("cancel_requested") => {
                let worker = Pid::from_raw(self.stage.worker(id)).unwrap();
                // Twice is harmless, and so is one that comes too late.
                let _late = kill_process(worker, Signal::TERM);
            }
            Tale::Waits if self.point == "await place" && has("queued") => self.release(),
            Tale::Resumes if has("completion_observed") => {
                self.stage.room.file("tmp/more", "").unwrap();
            }
            _ => {}
        }
    }

    /// Lets the other job end, which gives its place back.
    fn release(&self) {
        self.other.as_ref().unwrap().room.file("tmp/release", "").unwrap();
    }

    /// The job's id once it can be seen.
    fn published(&self) -> Option<String> {
        let jobs = std::fs::read_dir(self.stage.room.state().join("jobs")).ok()?;
        let others = self.other.as_ref().map(|other| other.path("tmp/id"));
        let other = others.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let entries = jobs.flat_map(|repo| std::fs::read_dir(repo.unwrap().path()).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.into_iter().find(|name| !name.starts_with('.') && *name != other)
    }
}

impl Tale {
    fn dialect(self) -> Dialect {
        let is_claude = matches!(self, Self::Resumes | Self::Asks);
        Dialect::of(if is_claude { "claude" } else { "codex" })
    }
}

fn steps(stage: &Stage, tale: Tale) -> Vec<Step> {
    let dialect = tale.dialect();
    let hang = Step::Hang(true);
    let session = dialect.ok("Done.").records()[0].clone();
    let begun = dialect.tale([session]).told();
    let orphan = child(ChildKind::DoubleFork);
    match tale {
        Tale::Answers | Tale::Waits => vec![orphan, dialect.ok("Done.").told()],
        Tale::Resumes => {
            let task = dialect.fact(FactKind::TaskStarted, &[("task_id", json!("t1"))]).unwrap();
            let more = dialect.tale([task]).told();
            let wait = Step::WaitFile(stage.path("tmp/more"));
            vec![orphan, dialect.ok("Done.").told(), wait, more, hang]
        }
        Tale::Cancelled => {
            vec![Step::Ignore(vec!["INT".to_owned()]), orphan, begun, hang]
        }
        Tale::Late | Tale::Silent => vec![orphan, begun, hang],
        Tale::Leaves => vec![orphan, begun],
        Tale::Serves => Vec::new(),
        Tale::Asks => [vec![orphan], asking::steps(stage, &[Asks::Bash("git push")])].concat(),
    }
}

/// Another job of the same state root takes the only place.
fn occupy(stage: &Stage) -> Stage {
    let other = Stage::new([]);
    let dialect = Dialect::of("codex");
    other.play([Step::WaitFile(other.path("tmp/release")), dialect.ok("Other.").told()]);
    let submit = other.job("submit", "codex").env("DCLI_STATE_ROOT", stage.room.state());
    let outcome = submit.env("HOME", stage.room.home()).words("x").start().finish_uncontained();
    other.room.file("tmp/id", outcome.text().trim()).unwrap();
    other
}

impl Case {
    fn kill(&self, verb: &'static str) {
        let scene = Scene::new(self, verb, Protection::On);
        let id = scene.killed();
        let stage = &scene.stage;
        if self.end != End::Revived {
            stage.marker.wait_gone(HANG_LIMIT).unwrap();
        }
        let at = format!("{verb}, killed after '{}'", self.point);
        if self.end == End::Revived {
            let state = stage.status(&id)["state"].as_str().unwrap().to_owned();
            assert!(["queued", "running", "done"].contains(&&*state), "{at}: {state}");
            scene.release();
            stage.waited(&id);
        }
        let status = stage.status(&id);
        self.judge(&status, &at);
        assert_eq!(stage.status(&id), status, "{at}: a second look sees something else");
        let ends = stage.journal(&id).iter().filter(|line| line["type"] == "ended").count();
        assert_eq!(ends, 1, "{at}");
        unharmed(stage, &id, &at);
        self.commands(stage, &id, &at);
    }

    fn judge(&self, status: &Value, at: &str) {
        let (state, code, class) = match self.end {
            End::Interrupted => ("interrupted", 31, json!("worker_lost")),
            End::Recovered | End::Done | End::Revived => ("done", 0, Value::Null),
            End::Cancelled => ("cancelled", 30, json!("cancelled")),
            End::TimedOut => ("timed_out", 24, json!("timeout")),
        };
        let seen = (&status["state"], &status["command_exit_code"], &status["failure"]["class"]);
        assert_eq!(seen, (&json!(state), &json!(code), &class), "{at}: {status}");
        let warnings = status["warnings"].as_array().unwrap();
        let warned = warnings.iter().any(|warning| warning["code"] == "worker_lost");
        let is_late = !matches!(self.end, End::Interrupted | End::Done | End::Revived);
        assert_eq!(warned, is_late, "{at}: {status}");
        if self.end == End::Interrupted {
            let reason = status["failure_reason"].as_str().unwrap();
            assert!(reason.contains("worker died"), "{at}: {reason}");
            let asked = status["interactions"].as_array().unwrap();
            assert!(asked.iter().all(|asked| !asked["decision"].is_null()), "{at}: {status}");
        }
    }

    /// The job's own commands work, and its place is free.
    fn commands(&self, stage: &Stage, id: &str, at: &str) {
        let listed = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
        let jobs = listed["jobs"].as_array().unwrap();
        assert!(jobs.iter().any(|job| job["job_id"] == id), "{at}: {listed}");
        let read = stage.over(&["read", id]);
        let is_done = matches!(self.end, End::Recovered | End::Done | End::Revived);
        match is_done {
            true => assert_eq!((read.code(), read.text()), (0, "Done."), "{at}: {read:?}"),
            false => assert_eq!(read.text(), "", "{at}: {read:?}"),
        }
        stage.play([Dialect::of("codex").ok("Next.").told()]);
        let next = stage.job("run", "codex").words("Go on.").run();
        assert_eq!((next.code(), next.text().trim()), (0, "Next."), "{at}: {next:?}");
        let cleaned = stage.over(&["cleanup", "--all-repos", "--keep", "0", "--json"]);
        let report = cleaned.json("cleanup");
        assert_eq!(report["skipped"], json!([]), "{at}: {report}");
        let removed = report["removed"].as_array().unwrap();
        assert!(removed.iter().any(|job| job["job_id"] == id), "{at}: {report}");
    }
}

/// Every file of the job is whole but for logs, which hold what came up to the end, and what only a living one needs is gone.
fn unharmed(stage: &Stage, id: &str, at: &str) {
    let directory = stage.job_dir(id);
    for (path, bytes) in Stage::files(&directory) {
        let name = path.display().to_string();
        let json = |bytes: &[u8]| drop(serde_json::from_slice::<Value>(bytes).unwrap());
        if name.ends_with(".json") {
            json(&bytes);
        } else if name.ends_with(".jsonl") && !name.ends_with("backend-events.jsonl") {
            assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "{at}: {name} is torn");
            bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).for_each(json);
        }
    }
    for gone in ["capture", "tmp"] {
        assert!(!directory.join("attempts/1").join(gone).exists(), "{at}: {gone}/ is left");
    }
}
