//! Who only looks changes nothing: an agent inside a job, another pid namespace, a read-only mount,
//! and readers in a loop while jobs write.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::process::ORDINARY_USER;
use serde_json::Value;

use crate::common::schema::fits;
use crate::common::{Dialect, Exec, Outcome, Stage, shown};

/// An agent that answers once it may.
fn waiting() -> Stage {
    waiting_on(Stage::new([]))
}

fn waiting_on(stage: Stage) -> Stage {
    let done = Dialect::of("codex").ok("Done.").told();
    stage.play([Step::WaitFile(stage.path("tmp/go")), done]);
    stage
}

/// A job that is done, one that runs, and one whose worker died and whose death nobody recorded.
struct Jobs {
    done: String,
    living: String,
    dead: String,
}

impl Jobs {
    fn on(stage: &Stage) -> Self {
        let quick = Stage::new([Dialect::of("codex").ok("Done.").told()]);
        let script = quick.path("script.json");
        let done = stage.job("submit", "codex").env("FAKE_AGENT_SCRIPT", script).words("Do it.");
        let done = stage.submitted(done);
        let ended = || stage.journal(&done).last().is_some_and(|line| line["type"] == "ended");
        wait_until("the first job to end", HANG_LIMIT, ended).unwrap();
        let dead = stage.submit("codex");
        stage.wait_running(&dead);
        stage.kill_worker(&dead);
        let living = stage.submit("codex");
        stage.wait_running(&living);
        Self { done, living, dead }
    }
}

/// Everything in the state root, byte for byte, but what the workers of the living jobs write.
fn kept(stage: &Stage, living: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let is_beating = |path: &Path| {
        let is_theirs = path.ends_with("status.json") || path.ends_with("facts.jsonl");
        is_theirs && living.iter().any(|id| path.iter().any(|part| part == *id))
    };
    let mut files = Stage::files(&stage.room.state());
    files.retain(|(path, _)| !is_beating(path));
    files.sort();
    files
}

fn same(before: &[(PathBuf, Vec<u8>)], after: &[(PathBuf, Vec<u8>)]) {
    let differ = |one: &&(PathBuf, Vec<u8>), others: &[(PathBuf, Vec<u8>)]| !others.contains(one);
    let paths = |from: &[(PathBuf, Vec<u8>)], to: &[(PathBuf, Vec<u8>)]| -> Vec<PathBuf> {
        from.iter().filter(|one| differ(one, to)).map(|(path, _)| path.clone()).collect()
    };
    assert_eq!((paths(before, after), paths(after, before)), (vec![], vec![]), "files differ");
}

fn end(stage: &Stage, id: &str) {
    stage.room.file("tmp/go", "").unwrap();
    assert_eq!(stage.waited(id)["state"], "done");
}

/// An agent that runs each of these with the built binary, and keeps what they answered.
fn inquisitive(stage: &Stage, commands: &[&[&str]]) -> PathBuf {
    let dcli = env!("CARGO_BIN_EXE_dcli");
    let out = stage.room.directory("out").unwrap();
    // Asked for its version it is no part of a job yet.
    let mut script = "#!/bin/sh\n[ \"$1\" = --version ] && exit 1\ncat >/dev/null\n".to_owned();
    for (number, command) in commands.iter().enumerate() {
        let words = command.join(" ");
        let out = out.join(number.to_string());
        let out = out.display();
        script += &format!("{dcli} {words} --json >{out}.out 2>{out}.err; echo $? >{out}.code\n");
    }
    script += &format!("cat <<'END'\n{}END\n", Dialect::of("codex").ok("Done.").text());
    let path = stage.room.file("agent.sh", &script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The exit code and the one line of JSON that command `number` answered.
fn heard(stage: &Stage, number: usize) -> (i32, Value) {
    let read = |end: &str| std::fs::read_to_string(stage.path(&format!("out/{number}.{end}")));
    let out = read("out").unwrap();
    let value =
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{:?}", read("err")));
    (read("code").unwrap().trim().parse().unwrap(), value)
}

fn states(listing: &Value) -> Vec<(&str, &str)> {
    let jobs = listing["jobs"].as_array().unwrap().iter();
    jobs.map(|job| (job["job_id"].as_str().unwrap(), job["state"].as_str().unwrap())).collect()
}

#[test]
fn an_agent_inside_a_job_changes_nothing_of_the_outer_jobs() {
    let stage = waiting();
    let Jobs { done, living, dead } = Jobs::on(&stage);
    let commands: [&[&str]; 8] = [
        &["list", "--all-repos"],
        &["status", &living],
        &["status", &dead],
        &["status", "$DCLI_JOB_ID"],
        &["cleanup", "--older-than", "0s", "--all-repos"],
        &["cancel", &living],
        &["cancel", "$DCLI_JOB_ID"],
        &["cancel", &done],
    ];
    let agent = inquisitive(&stage, &commands);
    let before = kept(&stage, &[&living]);
    let job = stage.dcli().args(["submit", "--backend", "codex", "--command"]).arg(agent);
    let outer = stage.submitted(job.words("Look around."));
    let ended = || stage.journal(&outer).last().is_some_and(|line| line["type"] == "ended");
    wait_until("the outer job to end", HANG_LIMIT, ended).unwrap();
    let mut after = kept(&stage, &[&living]);
    // The job around it has come since, and what its own worker wrote.
    after.retain(|(path, _)| {
        path.iter().all(|part| part != outer.as_str())
            && !path.starts_with(stage.path("state/locks"))
    });
    let mut before = before;
    before.retain(|(path, _)| !path.starts_with(stage.path("state/locks")));
    same(&before, &after);

    let (code, listing) = heard(&stage, 0);
    fits("jobs", &listing);
    let known = states(&listing);
    assert_eq!(code, 0);
    // The agent may look before its own start is in the record.
    let own = |state: &str| ["created", "running"].contains(&state);
    assert!(known.iter().any(|(id, state)| *id == outer && own(state)), "{known:?}");
    for expected in
        [(living.as_str(), "running"), (dead.as_str(), "interrupted"), (done.as_str(), "done")]
    {
        assert!(known.contains(&expected), "{expected:?} is not among {known:?}");
    }
    for (number, state) in [(1, "running"), (2, "interrupted"), (3, "running"), (7, "done")] {
        let (code, job) = heard(&stage, number);
        fits("job", &job);
        let found = job["state"].as_str().unwrap();
        let is_own = job["job_id"] == outer.as_str() && own(found);
        assert!(code == 0 && (is_own || found == state), "{number}: {code} {found}");
    }
    for number in [4, 5, 6] {
        let (code, refusal) = heard(&stage, number);
        fits("error", &refusal);
        assert_eq!(code, 15, "{refusal:#}");
        let hint = refusal["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("--delegate"), "{refusal:#}");
    }
    assert!(!stage.job_dir(&living).join("cancel.request").exists());
    assert_eq!(stage.status(&dead)["state"], "interrupted");
    end(&stage, &living);
    assert_eq!(stage.status(&outer)["state"], "done");
    shown(
        "12",
        "watched-inside",
        "an agent lists, looks, cleans up and cancels: 15, and no byte moved",
    );
}

/// In a pid namespace of its own, with its own /proc.
const PIDS: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];
/// As an ordinary user, with a user namespace on top.
const USER: [&str; 6] = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];

fn from_within<'s>(stage: &'s Stage, wrapper: &[&str], arguments: &[&str]) -> Outcome {
    let exec: Exec<'s> = stage.dcli().args(arguments).arg("--json").within(wrapper);
    exec.start().finish_uncontained()
}

fn another_pid_namespace(stage: &Stage, wrapper: &[&str]) {
    let living = stage.submit("codex");
    stage.wait_running(&living);
    let before = kept(stage, &[&living]);
    let status = from_within(stage, wrapper, &["status", &living]);
    assert_eq!(status.json("job")["state"], "running", "{status:?}");
    let list = from_within(stage, wrapper, &["list", "--all-repos"]).json("jobs");
    assert_eq!(states(&list), [(living.as_str(), "running")]);
    let cleanup = from_within(stage, wrapper, &["cleanup", "--older-than", "0s", "--all-repos"]);
    assert_eq!(cleanup.json("cleanup")["removed"], serde_json::json!([]), "{cleanup:?}");
    assert_eq!(from_within(stage, wrapper, &["wait", &living, "--timeout-sec", "0.2"]).code(), 20);
    same(&before, &kept(stage, &[&living]));
    end(stage, &living);
}

#[test]
fn readers_in_another_pid_namespace_never_declare_a_living_job_dead() {
    another_pid_namespace(&waiting(), &PIDS);
    another_pid_namespace(&waiting_on(Stage::of_user(ORDINARY_USER, [])), &USER);
    shown("12", "watched-namespace", "from another pid namespace, as root and in a user namespace");
}

#[test]
fn a_read_only_mount_is_read_and_the_dead_are_said_not_written() {
    let stage = waiting();
    let Jobs { done, living, dead } = Jobs::on(&stage);
    let before = kept(&stage, &[&living]);
    let state = stage.room.state();
    let state = state.display();
    let mount =
        format!("mount --bind {state} {state} && mount -o remount,bind,ro {state} && exec \"$@\"");
    let wrapper = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
    for (id, expected) in [(&done, "done"), (&living, "running"), (&dead, "interrupted")] {
        let status = from_within(&stage, &wrapper, &["status", id]);
        assert_eq!((status.code(), &status.json("job")["state"]), (0, &expected.into()));
    }
    let list = from_within(&stage, &wrapper, &["list", "--all-repos"]).json("jobs");
    assert_eq!(states(&list).len(), 3, "{list:#}");
    let verbs: [&[&str]; 3] = [
        &["cancel", &living],
        &["cleanup", "--older-than", "0s"],
        &["submit", "--backend", "codex", "--prompt-file", "/etc/hostname"],
    ];
    for verb in verbs {
        let refused = from_within(&stage, &wrapper, verb);
        let error = refused.json("error");
        assert_eq!(refused.code(), 15, "{refused:?}");
        assert!(error["error"]["message"].as_str().unwrap().contains(&state.to_string()));
        assert!(error["error"]["hint"].as_str().unwrap().contains("DCLI_STATE_ROOT"), "{error:#}");
    }
    same(&before, &kept(&stage, &[&living]));
    end(&stage, &living);
    shown("12", "watched-read-only", "a read-only mount: read, a death said, 15 for what writes");
}

/// How many jobs are watched.
const JOBS: usize = 6;

/// What a reader has seen of one job: how far it was, and when it changed.
type Seen = std::collections::BTreeMap<String, (usize, String)>;

/// A status may not go back.
fn forward(seen: &mut Seen, status: &Value) {
    let state = status["state"].as_str().unwrap();
    let order = ["created", "queued", "running"].iter().position(|name| *name == state);
    let now = (order.unwrap_or(3), status["updated_at"].as_str().unwrap().to_owned());
    let id = status["job_id"].as_str().unwrap().to_owned();
    let was = seen.insert(id, now.clone());
    if let Some(was) = was {
        assert!(was.0 <= now.0 && was.1 <= now.1, "from {was:?} back to {now:?}: {status:#}");
    }
}

/// Looks with `look` until it is `over`, and says how often.
fn looking(over: &AtomicBool, mut look: impl FnMut(&mut Seen)) -> usize {
    let (mut seen, mut looks) = (Seen::new(), 0);
    while !over.load(Ordering::Relaxed) || looks == 0 {
        look(&mut seen);
        looks += 1;
    }
    looks
}

/// Lets the readers end, also where the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn read_files(stage: &Stage, seen: &mut Seen) {
    for id in stage.jobs() {
        let bytes = std::fs::read(stage.job_dir(&id).join("status.json")).unwrap();
        forward(seen, &serde_json::from_slice(&bytes).unwrap());
    }
}

fn read_listing(stage: &Stage, seen: &mut Seen) {
    let listing = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
    listing["jobs"].as_array().unwrap().iter().for_each(|job| forward(seen, job));
}

fn read_each(stage: &Stage, seen: &mut Seen) {
    for id in stage.jobs() {
        forward(seen, &stage.status(&id));
    }
}

#[test]
fn readers_in_a_loop_see_neither_torn_nor_backward_records() {
    let codex = Dialect::of("codex");
    let words = |n: usize| Step::Stdout(codex.tale([codex.answer(&format!("{n}"))]).text());
    let talk = (0..40).flat_map(|n| [words(n), Step::SleepMs(5)]);
    let stage = Stage::new(talk.chain([codex.ok("Done.").told()]));
    stage.room.file("home/.config/dcli/config.toml", "[limits]\nmax_jobs = 2\n").unwrap();
    let over = AtomicBool::new(false);
    let (stage, over) = (&stage, &over);
    let looks = std::thread::scope(|scope| {
        let readers = [read_files, read_listing, read_each]
            .map(|read| scope.spawn(move || looking(over, |seen| read(stage, seen))));
        let ends = Ends(over);
        let ids: Vec<String> = (0..JOBS).map(|_| stage.submit("codex")).collect();
        let waited = stage.over(&["wait", "--all", "--timeout-sec", "60"]);
        drop(ends);
        assert_eq!(waited.code(), 0, "{waited:?}");
        assert_eq!(ids.len(), JOBS);
        readers.map(|reader| reader.join().unwrap())
    });
    let states = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
    assert!(self::states(&states).iter().all(|(_, state)| *state == "done"), "{states:#}");
    let observed =
        format!("{JOBS} jobs; file, list and status were read {looks:?} times, none back");
    shown("12", "watched-loop", &observed);
}
