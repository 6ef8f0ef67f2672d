//! The hostile tree comes up whole, outlives what is known not to end it, and goes by itself, by
//! a pid namespace, or by a loop that kills it.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::hostile::{Mode, PERMIT_VARIABLE, Tree, permit};
use dcli_testkit::process::Marker;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dcli-hostile-tree");

struct Grown {
    _directory: TempDir,
    ready: PathBuf,
    marker: Marker,
    root: Child,
}

impl Grown {
    /// Starts a tree through `wrapper` (or bare) and waits until it is up.
    fn new(mut tree: Tree, wrapper: &[&str], stdout: Stdio) -> Self {
        let directory = TempDir::new().unwrap();
        let ready = directory.path().join("ready");
        tree.ready = Some(ready.clone());
        let argv: Vec<&str> = wrapper.iter().copied().chain([PROGRAM]).collect();
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).args(tree.arguments()).stdin(Stdio::null()).stdout(stdout);
        let (name, value) = permit().unwrap();
        command.env(name, value);
        let marker = Marker::new();
        marker.plant(&mut command);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let root = command.spawn().unwrap();
        let grown = Self { _directory: directory, ready, marker, root };
        wait_until("the tree to be up", HANG_LIMIT, || grown.ready.exists()).unwrap();
        grown
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.root.id().try_into().unwrap()).unwrap()
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        let killed = self.marker.kill_all(HANG_LIMIT);
        self.root.wait().unwrap();
        killed.unwrap();
    }
}

#[test]
fn a_whole_tree_survives_its_process_group_and_falls_to_a_kill_loop() {
    let mut grown = Grown::new(Tree::all(7), &[], Stdio::null());
    let group = grown.pid();
    kill_process_group(group, Signal::KILL).unwrap();
    grown.root.wait().unwrap();
    wait_until("the group to be gone", HANG_LIMIT, || {
        !grown.marker.alive().iter().any(|found| found.group == group.as_raw_nonzero().get())
    })
    .unwrap();
    assert!(grown.marker.alive().len() >= 3, "{:?}", grown.marker.alive());
    grown.marker.kill_all(HANG_LIMIT).unwrap();
    assert!(grown.marker.alive().is_empty());
}

#[test]
fn a_whole_tree_dies_with_its_pid_namespace() {
    let unshare = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child"];
    let mut grown = Grown::new(Tree::all(8), &unshare, Stdio::null());
    assert!(grown.marker.alive().len() > 8);
    kill_process(grown.pid(), Signal::KILL).unwrap();
    grown.root.wait().unwrap();
    grown.marker.wait_gone(HANG_LIMIT).unwrap();
}

#[test]
fn each_habit_alone_comes_up() {
    for (mode, least) in [
        (Mode::Setsid, 2),
        (Mode::DoubleFork, 2),
        (Mode::Respawn, 3),
        (Mode::HoldStdout, 2),
        (Mode::Storm, 2),
    ] {
        let grown = Grown::new(Tree::of(&[mode], 3), &[], Stdio::null());
        assert!(grown.marker.alive().len() >= least, "{mode:?}: {:?}", grown.marker.alive());
    }
}

#[test]
fn an_ignoring_tree_is_there_after_a_term() {
    let mut grown = Grown::new(Tree::of(&[Mode::Ignore], 1), &[], Stdio::null());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(grown.pid(), signal).unwrap();
    }
    assert!(grown.root.try_wait().unwrap().is_none());
    let status = std::fs::read_to_string(format!("/proc/{}/status", grown.root.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x4003, 0x4003, "{status}");
}

#[test]
fn a_partner_that_is_killed_is_started_again() {
    let grown = Grown::new(Tree::of(&[Mode::Respawn], 1), &[], Stdio::null());
    let root = grown.root.id();
    let partners = || {
        let alive = grown.marker.alive();
        alive.iter().map(|found| found.pid).filter(|pid| *pid != root).collect::<Vec<_>>()
    };
    let before = partners();
    let victim = before[0];
    kill_process(Pid::from_raw(victim.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_until("a new partner", HANG_LIMIT, || {
        let now = partners();
        now.len() == before.len() && !now.contains(&victim)
    })
    .unwrap();
}

#[test]
fn hoppers_never_stay_on_their_pids() {
    let grown = Grown::new(Tree::of(&[Mode::Hop], 5), &[], Stdio::null());
    let root = grown.root.id();
    let mut seen = std::collections::BTreeSet::new();
    wait_until("twenty pids", HANG_LIMIT, || {
        let alive = grown.marker.alive();
        seen.extend(alive.iter().map(|found| found.pid).filter(|pid| *pid != root));
        seen.len() >= 20
    })
    .unwrap();
}

#[test]
fn a_held_stdout_stays_open_after_the_root_is_gone() {
    let mut tree = Tree::of(&[Mode::HoldStdout], 1);
    tree.exit_when_ready = true;
    let mut grown = Grown::new(tree, &[], Stdio::piped());
    assert!(grown.root.wait().unwrap().success());
    let stdout = grown.root.stdout.take().unwrap();
    rustix::io::ioctl_fionbio(&stdout, true).unwrap();
    let open = rustix::io::read(&stdout, &mut [0; 1]);
    assert_eq!(open, Err(rustix::io::Errno::AGAIN));
    grown.marker.kill_all(HANG_LIMIT).unwrap();
    wait_until("the end", HANG_LIMIT, || rustix::io::read(&stdout, &mut [0; 1]) == Ok(0)).unwrap();
}

#[test]
fn a_tree_ends_by_itself_at_the_end_of_its_life() {
    let mut tree = Tree::all(11);
    tree.life = Duration::from_secs(2);
    let mut grown = Grown::new(tree, &[], Stdio::null());
    assert!(grown.root.wait().unwrap().success());
    grown.marker.wait_gone(HANG_LIMIT).unwrap();
}

#[test]
fn the_killer_refuses_outside_a_namespace_and_without_a_permit() {
    let refused = |value: Option<std::ffi::OsString>| {
        let mut command = Command::new(PROGRAM);
        command.args(Tree::of(&[Mode::Kill], 1).arguments()).env_remove(PERMIT_VARIABLE);
        command.envs(value.map(|value| (PERMIT_VARIABLE, value)));
        command.output().unwrap().status.code()
    };
    assert_eq!(refused(None), Some(2));
    assert_eq!(refused(Some("1".into())), Some(2));
    assert_eq!(refused(Some(permit().unwrap().1)), Some(2));
}

#[test]
fn the_killer_kills_what_it_sees_inside_a_namespace_of_its_own() {
    let directory = TempDir::new().unwrap();
    let (ready, died) = (directory.path().join("ready"), directory.path().join("died"));
    let mut tree = Tree::of(&[Mode::Kill], 1);
    tree.ready = Some(ready);
    tree.life = Duration::from_secs(60);
    let script = r#"sleep 600 & victim=$!; "$@" & wait $victim; echo $? > "$DIED"; kill -9 -1"#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-current-user", "--pid", "--mount-proc", "--fork"]);
    command.args(["--kill-child", "sh", "-c", script, "sh", PROGRAM]).args(tree.arguments());
    let (name, value) = permit().unwrap();
    command.env(name, value).env("DIED", &died);
    let marker = Marker::new();
    marker.plant(&mut command);
    command.stdin(Stdio::null()).status().unwrap();
    marker.kill_all(HANG_LIMIT).unwrap();
    assert_eq!(std::fs::read_to_string(died).unwrap(), "137\n");
}
