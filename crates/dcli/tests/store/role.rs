//! This test binary once more, as another process that plays a part.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use dcli::model::job::id::JobId;
use dcli::store::job_dir::JobDir;
use dcli::store::lease::Lease;
use dcli::store::queue;
use dcli::store::root::{RootError, StateRoot};
use dcli::store::slots::{SlotLimits, Turn, Waiter, pause};
use dcli_testkit::hang::HANG_LIMIT;

const ROLE: &str = "STORE_TEST_ROLE";
const MARK: &str = "role: ";

/// The words of a part: its name, then its arguments.
pub(crate) type Words<'a> = &'a [&'a str];

/// Another process. Killed when dropped.
pub(crate) struct Player {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Receiver<String>,
}

impl Player {
    pub(crate) fn start(words: Words<'_>) -> Self {
        Self::of(command(words).stdin(Stdio::piped()))
    }

    pub(crate) fn with_stdin(words: Words<'_>, descriptor: OwnedFd) -> Self {
        Self::of(command(words).stdin(Stdio::from(descriptor)))
    }

    /// Through a shell that does something first: `"$0" "$@"` is the part.
    pub(crate) fn through(launcher: &[&str], words: Words<'_>) -> Self {
        let plain = command(words);
        let mut outer = Command::new(launcher[0]);
        outer.args(&launcher[1..]).arg(plain.get_program()).args(plain.get_args());
        Self::of(outer.env(ROLE, words.join("\n")).stdin(Stdio::piped()))
    }

    fn of(command: &mut Command) -> Self {
        let (said, hear) = channel();
        Self::telling(command, move |text| drop(said.send(text)), hear)
    }

    /// As [`Player::start`], telling `number` and what was said.
    pub(crate) fn numbered(words: Words<'_>, number: u32, to: Sender<(u32, String)>) -> Self {
        let (_, hear) = channel();
        let mut command = command(words);
        let tell = move |text| drop(to.send((number, text)));
        Self::telling(command.stdin(Stdio::piped()), tell, hear)
    }

    fn telling(
        command: &mut Command,
        tell: impl Fn(String) + Send + 'static,
        said: Receiver<String>,
    ) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        // The test harness says things of its own.
        let listen = move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.filter_map(|text| Some(text.split_once(MARK)?.1.to_owned())).for_each(tell);
        };
        std::thread::spawn(listen);
        let stdin = child.stdin.take();
        Self { child, stdin, said }
    }

    pub(crate) fn hear(&self) -> String {
        self.said.recv_timeout(HANG_LIMIT).unwrap()
    }

    /// Lets it end by itself.
    pub(crate) fn release(&mut self) {
        self.stdin.take();
        self.child.wait().unwrap();
    }

    /// SIGKILL; it is gone when this returns.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: Words<'_>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role::a_process_of_its_own_plays_a_part", "--nocapture"]);
    command.env(ROLE, words.join("\n"));
    command
}

#[test]
fn a_process_of_its_own_plays_a_part() {
    let Ok(role) = std::env::var(ROLE) else {
        assert_eq!(Player::start(&["say", "hello"]).hear(), "hello");
        return;
    };
    let words: Vec<&str> = role.lines().collect();
    play(&words);
}

pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}").unwrap();
    out.flush().unwrap();
}

fn until_released() {
    let mut rest = String::new();
    std::io::stdin().lock().read_line(&mut rest).unwrap();
}

fn play(words: Words<'_>) {
    match words {
        ["say", text] => say(text),
        ["hold", path] => {
            let lease = Lease::take(Path::new(path)).unwrap();
            say(if lease.is_some() { "held" } else { "refused" });
            until_released();
        }
        ["adopt", path] => {
            let descriptor = rustix::io::dup(rustix::stdio::stdin()).unwrap();
            let lease = Lease::adopt(descriptor, Path::new(path));
            say(if lease.is_ok() { "adopted" } else { "refused" });
            loop {
                std::thread::park();
            }
        }
        ["look", root, number] => look(root, number),
        ["fill", path] => super::journal::fill(Path::new(path)),
        ["furnish", root] => super::root::furnish(PathBuf::from(root)),
        ["stage", root, number] => super::retention::stage(PathBuf::from(root), number),
        ["wait", root, number, backend, most, per_backend] => {
            let limits = SlotLimits {
                global: most.parse().unwrap(),
                per_backend: per_backend.parse().unwrap(),
                backends: std::collections::BTreeMap::new(),
            };
            wait(root, number, backend, limits);
        }
        _ => panic!("no such part: {words:?}"),
    }
}

fn job(number: &str) -> JobId {
    super::id(number.parse().unwrap())
}

/// What can be seen of a job from a place where nothing can be written.
fn look(root: &str, number: &str) {
    let root = StateRoot::reading(PathBuf::from(root)).unwrap();
    let dir = JobDir::of(&root, super::repo(), job(number));
    let held = dir.is_held().unwrap();
    let refusal = match root.writable() {
        Err(error @ RootError::NotWritable { .. }) => {
            format!("{:?} {}", error.class(), error.remedy())
        }
        other => format!("{other:?}"),
    };
    say(&format!("held {held}, {refusal}"));
}

/// A job that waits for a place, and keeps it until it is released.
fn wait(root: &str, number: &str, backend: &str, limits: SlotLimits) {
    let root = StateRoot::writing(PathBuf::from(root)).unwrap();
    let writer = super::published(&root, &job(number));
    let me = queue::enter(&root, writer.dir(), backend).unwrap();
    say("queued");
    let mut waiter = Waiter::new(&root, limits, me).unwrap();
    loop {
        match waiter.try_take(&root).unwrap() {
            Turn::Wait { ahead } => std::thread::sleep(pause(ahead)),
            Turn::Taken(_slot) => {
                say("taken");
                until_released();
                return;
            }
        }
    }
}
