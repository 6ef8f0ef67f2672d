//! Two hundred hostile trees per kind of containment, each ended at random through the built
//! `dcli exec`, half of them as root and half as an ordinary user: nothing of them is left. With
//! containment switched off in this debug build the same trials leave survivors.
#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcli_testkit::evidence::Row;
use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use dcli_testkit::hostile::{Mode, Tree, permit};
use dcli_testkit::process::{Found, Marker, ORDINARY_USER, as_user};
use dcli_testkit::programs::program;
use dcli_testkit::room::Room;
use rustix::process::{Pid, Signal, kill_process};

/// Trials of one kind of containment, over all users.
const TRIALS: u64 = 200;

/// A backend that only has to be ended.
const RECORD: &str = r#"
schema_version = 1
id = "hostile"
display_name = "Hostile tree"
command = "dcli-hostile-tree"
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

#[test]
fn nothing_of_two_hundred_hostile_trees_is_left_by_a_pid_namespace() {
    trials("pid-namespace");
}

#[test]
fn nothing_of_two_hundred_hostile_trees_is_left_by_a_guardian() {
    trials("guardian");
}

/// How a trial ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Cancel,
    Deadline,
    Kill9,
}

/// Where the trials of one user take place.
struct Stage {
    kind: &'static str,
    uid: u32,
    room: Room,
    record: PathBuf,
    tree: PathBuf,
}

/// One trial; its seed decides everything.
struct Trial<'s> {
    stage: &'s Stage,
    seed: u64,
    contained: bool,
}

/// What a trial showed.
struct Seen {
    ending: Ending,
    was_ready: bool,
    after: Vec<Found>,
}

fn trials(kind: &'static str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let first = u64::from(now.subsec_nanos()) << 20;
    let users = users();
    for &uid in &users {
        let stage = Stage::new(kind, uid);
        let count = TRIALS / users.len() as u64;
        let seeds = first..first + count;
        let seen: Vec<Seen> = seeds.map(|seed| stage.trial(seed, true).run()).collect();
        stage.report(first, &seen, false);
        // One control for each ending: consecutive seeds end differently.
        let controls: Vec<Seen> =
            (first..first + 3).map(|seed| stage.trial(seed, false).run()).collect();
        stage.report(first, &controls, true);
    }
}

fn users() -> Vec<u32> {
    match rustix::process::getuid().as_raw() {
        0 => vec![0, ORDINARY_USER],
        own => vec![own],
    }
}

impl Stage {
    fn new(kind: &'static str, uid: u32) -> Self {
        let is_own = rustix::process::getuid().as_raw() == uid;
        let room = if is_own { Room::new() } else { Room::of_user(uid) }.unwrap();
        let record = room.file("hostile.toml", RECORD).unwrap();
        Self { kind, uid, room, record, tree: program("dcli-hostile-tree").unwrap() }
    }

    fn trial(&self, seed: u64, contained: bool) -> Trial<'_> {
        Trial { stage: self, seed, contained }
    }

    /// Keeps one row for all trials, and fails where it is not as it has to be.
    fn report(&self, first: u64, seen: &[Seen], is_control: bool) {
        let alive = seen.iter().filter(|seen| !seen.after.is_empty()).count();
        let ready = seen.iter().filter(|seen| seen.was_ready).count();
        let left: usize = seen.iter().map(|seen| seen.after.len()).sum();
        let endings = |wanted: &str| {
            seen.iter().filter(|seen| format!("{:?}", seen.ending) == wanted).count()
        };
        let observed = format!(
            "{left} survivors in {alive} of {} trials from seed {first} ({ready} trees all up; {} \
             cancelled, {} at a deadline, {} with dcli killed)",
            seen.len(),
            endings("Cancel"),
            endings("Deadline"),
            endings("Kill9")
        );
        let title = format!("hostile-trials-{}", self.kind);
        let word = if is_control { "not contained" } else { "contained" };
        let line = format!("{title} as {}, {word}: {observed}\n", self.uid);
        // Nobody is left to be told where standard error is closed.
        let _ = std::io::stderr().write_all(line.as_bytes());
        let row = Row {
            uid: Some(self.uid),
            ending: Some("random".to_owned()),
            observed,
            red: alive > 0,
            disabled: is_control,
            ..Row::of("3", &title)
        };
        row.keep().unwrap();
        let wanted = if is_control { seen.len() } else { 0 };
        let first = seen.iter().find(|seen| !seen.after.is_empty()).map(|seen| &seen.after);
        assert_eq!(alive, wanted, "{line}{first:#?}");
    }
}

impl Trial<'_> {
    fn ending(&self) -> Ending {
        [Ending::Cancel, Ending::Deadline, Ending::Kill9][(self.seed % 3) as usize]
    }

    /// A number below `limit` that is this trial's own.
    fn chance(&self, limit: u64) -> u64 {
        (self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % limit
    }

    fn ready(&self) -> PathBuf {
        self.stage.room.work().join(format!("ready-{}-{}", self.seed, self.contained))
    }

    /// Every habit; the killer too where the kernel keeps it among its own.
    fn tree(&self) -> Tree {
        let mut tree = Tree { ready: Some(self.ready()), ..Tree::all(self.seed) };
        if self.contained && self.stage.kind == "pid-namespace" {
            tree.modes.push(Mode::Kill);
        }
        tree
    }

    fn start(&self, marker: &Marker, limit: Duration) -> Child {
        let Stage { kind, room, record, tree, .. } = self.stage;
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli"));
        command.args(["exec", "--access", "unconfined", "--containment", kind]);
        command.args(["--hard-timeout-sec", &limit.as_secs_f64().to_string()]);
        command
            .arg("--record")
            .arg(record)
            .arg("--command")
            .arg(tree)
            .arg("--cwd")
            .arg(room.work());
        let (permit, namespace) = permit().unwrap();
        let namespace = namespace.to_string_lossy().into_owned();
        for (name, value) in [(marker.name(), marker.value()), (permit, namespace.as_str())] {
            command.args(["--env", &format!("{name}={value}")]);
        }
        command.args(self.tree().arguments().iter().map(|word| format!("--extra-arg={word}")));
        command.arg("never mind").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", room.home()).env("TMPDIR", room.tmp());
        command.env("DCLI_STATE_ROOT", room.state());
        if !self.contained {
            command.env("DCLI_TEST_UNCONTAINED", "1");
        }
        if self.stage.uid != rustix::process::getuid().as_raw() {
            as_user(self.stage.uid, &mut command);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn run(&self) -> Seen {
        let marker = Marker::new();
        let limit = match self.ending() {
            // A control has to be up before its end, or there is nothing to be left.
            Ending::Deadline if !self.contained => Duration::from_secs(10),
            Ending::Deadline => Duration::from_millis(200 + self.chance(600)),
            _ => HANG_LIMIT,
        };
        let mut dcli = self.start(&marker, limit);
        match self.ending() {
            Ending::Cancel => self.signal_at_random(&mut dcli, Signal::INT),
            Ending::Kill9 => self.signal_at_random(&mut dcli, Signal::KILL),
            Ending::Deadline => {}
        }
        let exit = wait_for("dcli to exit", HANG_LIMIT, || dcli.try_wait().unwrap()).unwrap();
        let wanted = match self.ending() {
            Ending::Cancel => (Some(30), None),
            Ending::Deadline => (Some(24), None),
            Ending::Kill9 => (None, Some(9)),
        };
        assert_eq!((exit.code(), exit.signal()), wanted, "seed {}", self.seed);
        if self.contained && matches!(self.ending(), Ending::Kill9) {
            // The kernel or the guardian is still at it when our own exit is already known.
            let _ = marker.wait_gone(HANG_LIMIT);
        }
        let after = marker.alive();
        marker.kill_all(HANG_LIMIT).unwrap();
        Seen { ending: self.ending(), was_ready: self.ready().exists(), after }
    }

    /// Some moment after the whole tree is up: chance, and no synchronisation.
    fn signal_at_random(&self, dcli: &mut Child, signal: Signal) {
        let ready = self.ready();
        let over = |dcli: &mut Child| dcli.try_wait().unwrap().is_some();
        wait_until("the tree to be up", HANG_LIMIT, || ready.exists() || over(dcli)).unwrap();
        assert!(!over(dcli), "dcli ended before the tree was up, seed {}", self.seed);
        std::thread::sleep(Duration::from_millis(self.chance(60)));
        kill_process(Pid::from_child(dcli), signal).unwrap();
    }
}
