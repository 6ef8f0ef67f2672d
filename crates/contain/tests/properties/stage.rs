//! Where the tests play: a host process as controller, a mark on its tree, and who runs it in which kind.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "lints know tests by their attribute; everything here runs in one"
)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Only ever reached by a test that hangs.
pub(crate) const HANG_LIMIT: Duration = Duration::from_secs(60);
/// The two kinds under which nothing may survive.
pub(crate) const HOLDING: [&str; 2] = ["pid-namespace", "guardian"];
/// Every kind that this platform can have.
pub(crate) const KINDS: [&str; 4] = ["pid-namespace", "guardian", "process-group", "none"];
const ORDINARY_USER: u32 = 65534;
/// Looks that must all come out empty: one alone can miss a process that changes its pid.
const LOOKS: usize = 10;

/// A directory that the tested user owns, with programs that it can execute.
pub(crate) struct Stage {
    directory: TempDir,
    uid: u32,
    mark: String,
}

impl Stage {
    pub(crate) fn new(uid: u32) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let _only_root_can = std::os::unix::fs::chown(directory.path(), Some(uid), Some(uid));
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { directory, uid, mark: format!("{}-{number}", std::process::id()) }
    }

    pub(crate) fn is_ordinary(&self) -> bool {
        self.uid != 0
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A copy of a program of this package, where the user can reach it.
    pub(crate) fn program(&self, built: &str) -> PathBuf {
        let path = self.path(Path::new(built).file_name().unwrap().to_str().unwrap());
        if !path.exists() {
            copy(built, &path);
        }
        path
    }

    /// What the target wrote so far.
    pub(crate) fn output(&self) -> String {
        std::fs::read_to_string(self.path("out")).unwrap_or_default()
    }

    /// A command run as this stage's user, with the settings of a host.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("CONTAIN_MARK", &self.mark)
            .env("CONTAIN_OUT", self.path("out"))
            .current_dir(self.directory.path());
        if rustix::process::geteuid().is_root() {
            command.uid(self.uid).gid(self.uid);
        }
        command
    }

    pub(crate) fn host_command(&self, kind: &str, stdin: &str, target: &[&str]) -> Command {
        let mut command = self.command(&self.program(env!("CARGO_BIN_EXE_contain-host")));
        command.arg(kind).arg(stdin).args(target);
        command
    }

    pub(crate) fn host(&self, kind: &str, target: &[&str]) -> Host {
        Host::spawn(self.host_command(kind, "null", target))
    }

    pub(crate) fn shell(&self, kind: &str, script: &str) -> Host {
        self.host(kind, &["/bin/sh", "-c", script])
    }

    /// The pids of live processes of this stage's tree, zombies not counted.
    pub(crate) fn alive(&self) -> Vec<i32> {
        let mark = format!("CONTAIN_TEST={}", self.mark);
        numbered("/proc").filter(|pid| carries(*pid, &mark) && !is_zombie(*pid)).collect()
    }

    /// What is alive after several looks.
    pub(crate) fn survivors(&self) -> Vec<i32> {
        let mut found: Vec<i32> = (0..LOOKS).flat_map(|_look| self.alive()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Waits until the whole tree is gone, however often one looks.
    pub(crate) fn wait_empty(&self) {
        until("the tree is gone", || self.survivors().is_empty());
    }

    /// Kills what a test left on purpose.
    pub(crate) fn clear(&self) {
        until("what was left on purpose is gone", || {
            for pid in self.alive().into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            self.survivors().is_empty()
        });
    }
}

fn numbered(directory: &str) -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn carries(pid: i32, mark: &str) -> bool {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

/// Copies a program so that no process of this one ever holds it open for writing: a fork of another
/// thread at that moment would make it `ETXTBSY`.
pub(crate) fn copy(from: &str, to: &Path) {
    assert!(Command::new("/bin/cp").arg(from).arg(to).status().unwrap().success());
}

/// The state letter of a process; `None` once it is gone.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn is_zombie(pid: i32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// The children of a process.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let is_child = |candidate: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{candidate}/stat")).unwrap_or_default();
        let ppid =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        ppid == Some(pid)
    };
    numbered("/proc").filter(is_child).collect()
}

/// Waits for `condition`.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < HANG_LIMIT, "hung waiting until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A controller in a process of its own.
pub(crate) struct Host {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<String>,
}

impl Host {
    /// Spawns the host and waits until it is ready.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let commands = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _test_is_over = send.send(line);
            }
        });
        let host = Self { child, commands, answers };
        assert_eq!(host.hear(), "ready");
        host
    }

    fn hear(&self) -> String {
        self.answers.recv_timeout(HANG_LIMIT).expect("the host does not answer")
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The processes that the host spawned: the outer init, guardian or bare leader.
    pub(crate) fn spawned(&self) -> Vec<i32> {
        children(self.pid())
    }

    pub(crate) fn say(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.say(command);
        self.hear()
    }

    /// Starts the target, and returns its pid.
    pub(crate) fn start(&mut self) -> i32 {
        let answer = self.ask("start");
        let pid =
            answer.strip_prefix("started ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        pid.unwrap_or_else(|| panic!("not started: {answer}"))
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _already_dead = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Runs `scene` for each kind as root and as an ordinary user, where this host can.
pub(crate) fn everywhere(kinds: &[&str], scene: impl Fn(&Stage, &str)) {
    for uid in users() {
        let support = Stage::new(uid).host("none", &["/bin/true"]).ask("probe");
        for kind in kinds {
            let found = support.split(';').find_map(|rung| rung.strip_prefix(&format!("{kind}=")));
            match found {
                Some("yes") => scene(&Stage::new(uid), kind),
                other => skip(&format!("{kind} as uid {uid}: {}", other.unwrap_or("not probed"))),
            }
        }
    }
}

fn users() -> Vec<u32> {
    let own = rustix::process::geteuid().as_raw();
    if own == 0 {
        return vec![0, ORDINARY_USER];
    }
    skip("everything as root: the tests do not run as root");
    vec![own]
}

/// Reports what cannot be tested here; with `DCLI_REQUIRE_ALL=1` that is a failure.
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("DCLI_REQUIRE_ALL").is_none(), "required, but skipped: {what}");
    // Not by a macro: the harness would hide that with the rest of a passing test's output.
    std::io::stderr().write_all(format!("SKIP: {what}\n").as_bytes()).unwrap();
}
