//! Two hundred jobs by two hundred separate `dcli submit` at once, eight of them running at a time:
//! all end, no place is lost, nothing is left. Then the same with half of the workers killed.
#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use dcli_testkit::evidence::Row;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::process::Marker;
use dcli_testkit::room::Room;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How many jobs.
const JOBS: usize = 200;
/// How many of them may run.
const PLACES: usize = 8;
/// And of one backend.
const OF_ONE: usize = 5;
/// Before how many jobs, at most, one may start that has a later turn.
const DISORDER: usize = 2 * PLACES;
/// A crowd takes longer than one run; only a hang takes this long.
const CROWD_LIMIT: Duration = Duration::from_secs(240);

/// Those that the jobs are for in turn.
const BACKENDS: [&str; 2] = ["one", "two"];

/// A backend of which only the end matters.
const RECORD: &str = r#"
schema_version = 1
id = "NAME"
display_name = "One of a crowd"
command = "agent.sh"
[prompt]
delivery = "stdin"
[output]
format = "jsonl"
result = { path = "result", when = { type = "result" } }
terminal = { success = { type = "result" } }
[access]
[access.read_only]
[access.workspace]
[access.unconfined]
[[cancel]]
rung = "hard_kill"
wait_sec = 0
"#;

/// Says when it begins and ends, leaves a process behind, and waits for the gate.
const AGENT: &str = r#"#!/bin/sh
echo "+ $DCLI_BACKEND $DCLI_JOB_ID" >> LOG
cat > /dev/null
sleep 300 > /dev/null 2>&1 &
while ! [ -e GATE ]; do sleep 0.1; done
echo "- $DCLI_BACKEND $DCLI_JOB_ID" >> LOG
echo '{"type":"result","result":"Done."}'
"#;

#[test]
fn two_hundred_jobs_all_end_eight_at_a_time_and_again_with_half_of_their_workers_killed() {
    all_end();
    half_are_killed();
}

fn all_end() {
    let crowd = Crowd::new();
    let began = Instant::now();
    crowd.submit(JOBS, "all");
    crowd.wait_running(PLACES);
    let turns = crowd.turns(JOBS - PLACES);
    let submitted = began.elapsed();
    crowd.open();
    let states = crowd.ended("all");
    let done = states.values().filter(|state| *state == "done").count();
    assert_eq!((done, states.len()), (JOBS, JOBS), "{states:?}");
    let most = crowd.most(|_| true);
    assert_eq!(most.0, PLACES, "running at the same time");
    assert!(most.1.values().all(|most| *most <= OF_ONE), "of one backend: {most:?}");
    let disorder = crowd.disorder(&turns);
    assert!(disorder <= DISORDER, "{disorder} came before one whose turn was first");
    crowd.is_as_before();
    let observed = format!(
        "0 survivors of {JOBS} jobs, {} at a time, at most {disorder} out of turn ({} ms to submit, \
         {} ms in all)",
        most.0,
        submitted.as_millis(),
        began.elapsed().as_millis()
    );
    crowd.keep("crowd", observed);
}

fn half_are_killed() {
    let crowd = Crowd::new();
    let began = Instant::now();
    let ids = crowd.submit(JOBS, "half");
    crowd.wait_running(PLACES);
    let chosen: BTreeSet<&String> = ids.iter().step_by(2).collect();
    let chance = std::hash::BuildHasher::build_hasher(&std::hash::RandomState::new());
    let seed = std::hash::Hasher::finish(&chance);
    let mut killed = BTreeMap::new();
    for (index, id) in (0_u64..).zip(&chosen) {
        if index == 10 {
            crowd.open();
        }
        if let Some(state) = crowd.kill(id) {
            *killed.entry(state).or_insert(0) += 1;
        }
        // Some moment: chance, and no synchronisation.
        let pause = (seed ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
        std::thread::sleep(Duration::from_millis(pause));
    }
    let states = crowd.ended("half");
    assert_eq!(states.len(), JOBS, "seed {seed}");
    for (id, state) in &states {
        let is_right = state == "done" || (state == "interrupted" && chosen.contains(id));
        assert!(is_right, "{id} is {state}, chosen: {}, seed {seed}", chosen.contains(id));
    }
    let most = crowd.most(|id| !chosen.contains(&id.to_owned()));
    assert!(most.0 <= PLACES, "running at the same time: {most:?}, seed {seed}");
    crowd.is_as_before();
    let lost = states.values().filter(|state| *state == "interrupted").count();
    let observed = format!(
        "0 survivors of {JOBS} jobs, workers killed while {killed:?}, {lost} interrupted, the rest \
         done ({} ms)",
        began.elapsed().as_millis()
    );
    assert!(lost > 0 && killed.contains_key("queued"), "{observed}");
    crowd.keep("crowd-killed", observed);
}

/// A state root with its limits, an agent, and the mark on every process of it.
struct Crowd {
    room: Room,
    marker: Marker,
    agent: PathBuf,
}

impl Crowd {
    fn new() -> Self {
        let room = Room::new().unwrap();
        let limits = format!("[limits]\nmax_jobs = {PLACES}\nmax_jobs_per_backend = {OF_ONE}\n");
        room.file("home/.config/dcli/config.toml", &limits).unwrap();
        for name in BACKENDS {
            room.file(format!("{name}.toml"), &RECORD.replace("NAME", name)).unwrap();
        }
        let place = |name: &str| room.path().join(name).display().to_string();
        let agent = AGENT.replace("LOG", &place("log")).replace("GATE", &place("gate"));
        let agent = room.file("agent.sh", &agent).unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        Self { room, marker: Marker::new(), agent }
    }

    fn dcli(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli"));
        command.args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.room.home()).env("TMPDIR", self.room.tmp());
        command.env("DCLI_STATE_ROOT", self.room.state()).current_dir(self.room.work());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.marker.plant(&mut command);
        command
    }

    fn submission(&self, index: usize, group: &str) -> Command {
        let record = self.room.path().join(format!("{}.toml", BACKENDS[index % BACKENDS.len()]));
        let mut command = self.dcli(&["submit", "--access", "unconfined", "--group", group]);
        command.arg("--record").arg(record).arg("--command").arg(&self.agent).arg("Do it.");
        command
    }

    /// All at once, each a process; their ids.
    fn submit(&self, count: usize, group: &str) -> Vec<String> {
        let started = (0..count).map(|index| self.submission(index, group).spawn().unwrap());
        let started: Vec<_> = started.collect();
        let id = |output: Output| {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        started.into_iter().map(|child| id(child.wait_with_output().unwrap())).collect()
    }

    /// What the agents have said: whether it began, its backend, its job.
    fn log(&self) -> Vec<(bool, String, String)> {
        let text = std::fs::read_to_string(self.room.path().join("log")).unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            (words.next().unwrap() == "+", words.next().unwrap(), words.next().unwrap())
        };
        text.lines().map(line).collect()
    }

    fn wait_running(&self, count: usize) {
        let begun = || self.log().iter().filter(|line| line.0).count() >= count;
        wait_until("jobs to take every place", CROWD_LIMIT, begun).unwrap();
    }

    fn open(&self) {
        self.room.file("gate", "").unwrap();
    }

    /// Waits until every job of the group is over: the state of each.
    fn ended(&self, group: &str) -> BTreeMap<String, String> {
        let mut wait = self.dcli(&["wait", "--group", group, "--timeout-sec", "240", "--json"]);
        let output = wait.output().unwrap();
        let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
        let schema = dcli_core::schema::find("jobs").unwrap().schema();
        dcli_testkit::schema::check(&schema, &listing).unwrap();
        let text = |job: &Value, key: &str| job[key].as_str().unwrap().to_owned();
        let jobs = listing["jobs"].as_array().unwrap().iter();
        jobs.map(|job| (text(job, "job_id"), text(job, "state"))).collect()
    }

    /// The most that ran at the same time, in all and of each backend.
    fn most(&self, counts: impl Fn(&str) -> bool) -> (usize, BTreeMap<String, usize>) {
        let (mut running, mut most) = (BTreeMap::<String, usize>::new(), BTreeMap::new());
        let mut most_of_all = 0;
        for (began, backend, id) in self.log() {
            if !counts(&id) {
                continue;
            }
            let of_one = running.entry(backend.clone()).or_default();
            if began {
                *of_one += 1
            } else {
                *of_one -= 1
            }
            let peak = most.entry(backend).or_default();
            *peak = (*of_one).max(*peak);
            most_of_all = running.values().sum::<usize>().max(most_of_all);
        }
        (most_of_all, most)
    }

    fn job(&self, id: &str) -> PathBuf {
        let repositories = std::fs::read_dir(self.room.state().join("jobs")).unwrap();
        repositories.map(|entry| entry.unwrap().path().join(id)).find(|dir| dir.exists()).unwrap()
    }

    /// The turn of every job that waits, once so many do.
    fn turns(&self, count: usize) -> BTreeMap<String, u64> {
        let read = || -> BTreeMap<String, u64> {
            let entries = std::fs::read_dir(self.room.state().join("queue")).unwrap();
            let text = |entry: std::io::Result<std::fs::DirEntry>| {
                std::fs::read_to_string(entry.unwrap().path()).unwrap()
            };
            let value = |text: String| serde_json::from_str::<Value>(&text).ok();
            let turn = |value: Value| {
                Some((value["job_id"].as_str()?.to_owned(), value["order"].as_u64()?))
            };
            entries.map(text).filter_map(value).filter_map(turn).collect()
        };
        wait_until("jobs to queue", CROWD_LIMIT, || read().len() >= count).unwrap();
        read()
    }

    /// How many, at most, of the same backend began before one whose turn came before theirs.
    fn disorder(&self, turns: &BTreeMap<String, u64>) -> usize {
        let log = self.log();
        let begun: Vec<_> =
            log.iter().filter(|line| line.0 && turns.contains_key(&line.2)).collect();
        let overtaken = |(index, one): (usize, &&(bool, String, String))| {
            let before = begun[..index].iter().filter(|other| other.1 == one.1);
            before.filter(|other| turns[&other.2] > turns[&one.2]).count()
        };
        begun.iter().enumerate().map(overtaken).max().unwrap_or_default()
    }

    /// Kills the job's worker, unless it has ended; in which state.
    fn kill(&self, id: &str) -> Option<String> {
        let bytes = std::fs::read(self.job(id).join("status.json")).unwrap();
        let status: Value = serde_json::from_slice(&bytes).unwrap();
        let worker = Pid::from_raw(status["worker_pid"].as_i64()?.try_into().unwrap())?;
        let state = status["state"].as_str().unwrap();
        let is_over = !["created", "queued", "running"].contains(&state);
        (!is_over && kill_process(worker, Signal::KILL).is_ok()).then(|| state.to_owned())
    }

    /// No place is lost, and nothing is left.
    fn is_as_before(&self) {
        self.marker.wait_gone(HANG_LIMIT).unwrap();
        std::fs::remove_file(self.room.path().join("gate")).unwrap();
        std::fs::remove_file(self.room.path().join("log")).unwrap();
        self.submit(PLACES, "after");
        self.wait_running(PLACES);
        self.open();
        assert!(self.ended("after").values().all(|state| state == "done"));
        self.marker.wait_gone(HANG_LIMIT).unwrap();
        let queue = self.room.state().join("queue");
        assert_eq!(std::fs::read_dir(queue).unwrap().count(), 0, "somebody is still queued");
    }

    /// Keeps what was seen, and its control: the same agent with nothing containing it.
    fn keep(&self, check: &str, observed: String) {
        Row { observed, ..Row::of("11", check) }.keep().unwrap();
        let mut submit = self.submission(0, "control");
        assert!(submit.env("DCLI_TEST_UNCONTAINED", "1").output().unwrap().status.success());
        self.ended("control");
        let alive = self.marker.alive();
        self.marker.kill_all(HANG_LIMIT).unwrap();
        let observed = format!("{} survivors of one job", alive.len());
        Row { observed, red: !alive.is_empty(), disabled: true, ..Row::of("11", check) }
            .keep()
            .unwrap();
        assert!(!alive.is_empty(), "nothing survived although nothing was contained");
    }
}

impl Drop for Crowd {
    /// A crowd whose test failed would wait for its gate for ever.
    fn drop(&mut self) {
        let _hang = self.marker.kill_all(HANG_LIMIT);
    }
}
