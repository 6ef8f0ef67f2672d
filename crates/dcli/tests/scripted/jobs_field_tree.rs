//! FIELD 17 and 22 to 26 as jobs: watchdogs, orphans, dead workers, and pids that are somebody
//! else's by now.

use std::process::{Child, Command};

use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::{ChildKind, Step};
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::{Dialect, Protection, Stage, child, outlived, shown};

fn done() -> Step {
    Dialect::of("claude").ok("Done.").told()
}

fn family() -> impl Iterator<Item = Step> {
    [ChildKind::Plain, ChildKind::Setsid, ChildKind::DoubleFork].into_iter().cycle().map(child)
}

/// A job whose agent has `count` processes of its own and hangs.
fn hanging(backend: &str, kind: &str, count: usize, protection: Protection) -> (Stage, String) {
    let stage = Stage::new([]);
    let rest = [Step::Touch(stage.path("tmp/ready")), Step::Hang(true)];
    stage.play(family().take(count).chain(rest));
    let submit = stage.job("submit", backend).args(["--containment", kind]).protected(protection);
    let id = stage.submitted(submit.words("Do it."));
    stage.wait_file("tmp/ready");
    // An agent can be up before the record has it.
    stage.wait_running(&id);
    (stage, id)
}

#[test]
fn field_17_an_open_tool_call_is_no_stall_of_a_job_and_silence_is() {
    let codex = Dialect::of("codex");
    let call = |kind| codex.tale([codex.fact(kind, &[("call_id", json!("c"))]).unwrap()]).told();
    let (open, shut) = (call(FactKind::ToolInvoked), call(FactKind::ToolResult));
    let last = codex.ok("Done.").told();
    let working = Stage::new([open.clone(), Step::SleepMs(3_000), shut.clone(), last]);
    let silent = Stage::new([open, shut, Step::Hang(true)]);
    let ids = [&working, &silent].map(|stage| {
        let submit = stage.job("submit", "codex").args(["--idle-timeout-sec", "1.5"]);
        (stage, stage.submitted(submit.words("Do it.")))
    });
    let [working, silent] = ids.map(|(stage, id)| stage.waited(&id));
    assert_eq!(working["state"], "done");
    assert_eq!(
        (&silent["state"], &silent["exit_kind"]),
        (&json!("timed_out"), &json!("deadline_idle"))
    );
    assert_eq!(silent["command_exit_code"], 24);
    shown(
        "14",
        "job-field-17",
        "an open call of twice the limit is done; silence timed_out, exit 24",
    );
}

#[test]
fn field_22_what_a_job_leaves_behind_is_ended_and_counted() {
    let leaving = |protection| {
        let stage = Stage::new(family().take(9).chain([done()]));
        let run = stage.job("run", "claude").arg("--json").protected(protection);
        (run.words("Do it.").run().json("job"), stage)
    };
    let (job, stage) = leaving(Protection::On);
    assert_eq!(job["state"], "done");
    let warnings = stage.status(job["job_id"].as_str().unwrap())["warnings"].clone();
    assert!(warnings.to_string().contains("9 processes"), "{warnings}");
    shown("14", "job-field-22", "9 of 9 leftover processes ended and counted in the status");
    outlived("14", "job-field-22", &leaving(Protection::Off).1);
}

#[test]
fn field_23_tools_in_sessions_of_their_own_die_with_a_cancelled_job() {
    let cancelled = |kind, protection| {
        let (stage, id) = hanging("claude", kind, 9, protection);
        let job = stage.over(&["cancel", &id, "--json"]).json("job");
        assert_eq!(job["state"], "cancelled");
        assert_eq!(job["containment_survivors"], json!([]));
        let worker = stage.worker(&id);
        wait_until("the worker to end", HANG_LIMIT, || !is_there(worker)).unwrap();
        stage
    };
    for kind in ["pid-namespace", "guardian"] {
        assert_eq!(cancelled(kind, Protection::On).marker.alive(), []);
    }
    shown("14", "job-field-23", "9 processes in many sessions, none alive after cancel");
    outlived("14", "job-field-23", &cancelled("pid-namespace", Protection::Off));
}

fn is_there(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn field_24_the_tree_dies_with_a_killed_worker() {
    for kind in ["pid-namespace", "guardian"] {
        let (stage, id) = hanging("opencode", kind, 6, Protection::On);
        assert!(stage.marker.alive().len() >= 8, "{:?}", stage.marker.alive());
        stage.kill_worker(&id);
        stage.marker.wait_gone(HANG_LIMIT).unwrap();
        let job = stage.status(&id);
        assert_eq!(
            (&job["state"], &job["containment_survivors"]),
            (&json!("interrupted"), &json!([]))
        );
    }
    shown("14", "job-field-24", "no process alive after kill -9 of the worker, interrupted");
    let (stage, id) = hanging("opencode", "pid-namespace", 6, Protection::Off);
    stage.kill_worker(&id);
    // The leader dies with the worker even then.
    let leader = i64::from(stage.seen().pid);
    let is_gone = || !stage.marker.alive().iter().any(|found| i64::from(found.pid) == leader);
    wait_until("the leader to end", HANG_LIMIT, is_gone).unwrap();
    outlived("14", "job-field-24", &stage);
}

#[test]
fn field_25_no_command_says_running_of_a_job_whose_worker_died() {
    let asked: [&[&str]; 5] =
        [&["status"], &["wait"], &["list"], &["debug"], &["tail", "--follow"]];
    for command in asked {
        let (stage, id) = hanging("claude", "pid-namespace", 0, Protection::On);
        stage.kill_worker(&id);
        let id_of = (command[0] != "list").then_some(id.as_str());
        let arguments: Vec<&str> = command.iter().copied().chain(id_of).collect();
        // Whoever comes first records the death.
        let first = stage.over(&arguments);
        assert!(!first.text().contains("running"), "{first:?}");
        let job = stage.status(&id);
        let failure = (&job["failure"]["class"], &job["command_exit_code"]);
        assert_eq!(
            (&job["state"], failure),
            (&json!("interrupted"), (&json!("worker_lost"), &json!(31)))
        );
        assert!(job["failure_reason"].as_str().unwrap().contains("worker died"), "{job}");
        let ends = stage.journal(&id).iter().filter(|line| line["type"] == "ended").count();
        assert_eq!(ends, 1);
    }
    shown("14", "job-field-25", "interrupted, exit 31, whichever of 5 commands comes first");
}

/// An innocent process that lives until it is dropped.
struct Innocent(Child);

impl Innocent {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn start_time(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(19).unwrap().parse().unwrap()
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Innocent {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Writes that the worker and the backend's leader of a dead job were this process.
fn forge(stage: &Stage, id: &str, identity: &Value) {
    let dir = stage.job_dir(id);
    let journal: String = stage
        .journal(id)
        .into_iter()
        .map(|mut line| {
            if line["type"] == "worker_started" {
                line["worker"] = identity.clone();
            }
            if line["type"] == "backend_started" {
                line["backend_pid"] = identity["pid"].clone();
            }
            format!("{line}\n")
        })
        .collect();
    std::fs::write(dir.join("journal.jsonl"), journal).unwrap();
    let change = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut record: Value =
            serde_json::from_slice(&std::fs::read(dir.join(name)).unwrap()).unwrap();
        change(&mut record);
        std::fs::write(dir.join(name), record.to_string()).unwrap();
    };
    change("status.json", &|status| {
        status["worker_identity"] = identity.clone();
        status["worker_pid"] = identity["pid"].clone();
        status["backend_pid"] = identity["pid"].clone();
    });
    change("attempts/1/command.json", &|command| command["leader"] = identity.clone());
}

/// What a command says of a dead job whose pids are those of an innocent process by now.
fn reused(command: &str, change: &dyn Fn(&mut Value)) {
    let (stage, id) = hanging("claude", "pid-namespace", 2, Protection::On);
    stage.kill_worker(&id);
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    let mut innocent = Innocent::new();
    let status = std::fs::read(stage.job_dir(&id).join("status.json")).unwrap();
    let status: Value = serde_json::from_slice(&status).unwrap();
    let mut identity = status["worker_identity"].clone();
    identity["pid"] = json!(innocent.pid());
    identity["start_time"] = json!(innocent.start_time());
    change(&mut identity);
    forge(&stage, &id, &identity);
    let job = stage.over(&[command, &id, "--json"]).json("job");
    assert_eq!(job["state"], "interrupted", "{command}: somebody else's pid was believed");
    assert_eq!(job["containment_survivors"], json!([]), "{command}: {job}");
    assert!(innocent.is_alive(), "{command} signalled somebody else's process");
}

#[test]
fn field_26_a_recorded_pid_that_is_somebody_elses_is_neither_believed_nor_signalled() {
    for command in ["status", "cancel"] {
        reused(command, &|identity| {
            let began = identity["start_time"].as_u64().unwrap();
            identity["start_time"] = json!(began - 1);
        });
    }
    shown("14", "job-field-26", "interrupted, and the process that has the pid now lives on");
}

#[test]
fn field_26_after_a_reboot_no_pid_means_anything() {
    let earlier = json!("00000000-0000-4000-8000-000000000000");
    for command in ["status", "cancel"] {
        // Pid and start time are right, by chance.
        reused(command, &|identity| identity["boot_id"] = earlier.clone());
    }
    shown(
        "14",
        "job-after-reboot",
        "interrupted, though pid and start time are those of a process",
    );
}

#[test]
fn a_worker_that_says_nothing_is_said_to_be_silent_and_nothing_is_recorded() {
    let stage = Stage::new([]);
    let go = [Step::Touch(stage.path("tmp/ready")), Step::WaitFile(stage.path("tmp/go"))];
    stage.play(go.into_iter().chain([done()]));
    let id = stage.submit("claude");
    stage.wait_file("tmp/ready");
    let record = stage.job_dir(&id).join("status.json");
    let status = || serde_json::from_slice::<Value>(&std::fs::read(&record).unwrap()).unwrap();
    stage.wait_running(&id);
    let worker = Pid::from_raw(stage.worker(&id)).unwrap();
    kill_process(worker, Signal::STOP).unwrap();
    let stat = format!("/proc/{}/stat", stage.worker(&id));
    let is_stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
    wait_until("the worker to stop", HANG_LIMIT, is_stopped).unwrap();
    let mut old = status();
    old["heartbeat_at"] = json!("2026-01-01T00:00:00.000Z");
    std::fs::write(&record, old.to_string()).unwrap();
    let journal = stage.journal(&id);
    let told = stage.over(&["status", &id]);
    assert!(told.text().contains("running") && told.text().contains("no heartbeat"), "{told:?}");
    assert_eq!(stage.status(&id)["heartbeat_at"], old["heartbeat_at"]);
    assert!(stage.over(&["list"]).text().contains("no heartbeat"));
    assert_eq!(stage.over(&["wait", &id, "--timeout-sec", "0.2"]).code(), 20);
    assert_eq!((status(), stage.journal(&id)), (old, journal), "an answer was recorded");
    kill_process(worker, Signal::CONT).unwrap();
    stage.room.file("tmp/go", "").unwrap();
    assert_eq!(stage.waited(&id)["state"], "done");
    shown("14", "job-silent-worker", "no heartbeat, said and not recorded; done once it goes on");
}
