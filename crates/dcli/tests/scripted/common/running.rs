//! A started `dcli`: its output as it comes, signals to it, its end.

use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Outcome, Protection, Stage};

/// The process and what it has printed up to now.
pub(crate) struct Running<'s> {
    stage: &'s Stage,
    protection: Protection,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Stream,
    stderr: Stream,
}

struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Stream {
    /// What comes through a pipe; nothing, where the stream was put elsewhere.
    fn of(from: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let Some(mut from) = from else { return };
            let mut chunk = [0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                kept.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn end(self) -> Vec<u8> {
        self.reader.join().unwrap();
        std::mem::take(&mut *self.bytes.lock().unwrap())
    }
}

impl<'s> Running<'s> {
    pub(super) fn of(stage: &'s Stage, protection: Protection, command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = Stream::of(child.stdout.take());
        let stderr = Stream::of(child.stderr.take());
        Self { stage, protection, stdin: child.stdin.take(), child, stdout, stderr }
    }

    /// Writes all of standard input from a thread of its own, and ends it.
    pub(super) fn feed(&mut self, input: &[u8]) {
        let (mut stdin, input) = (self.stdin.take().unwrap(), input.to_vec());
        // Whoever does not read it all sees that, not this thread.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// A signal to a process that may have ended by itself already.
    pub(crate) fn signal_if_there(&self, signal: Signal) {
        // What has ended already is what the caller allows for.
        let _gone = kill_process(self.pid(), signal);
    }

    /// Waits until the agent has made this file.
    pub(crate) fn wait_file(&self, inside: &str) {
        let path = self.stage.path(inside);
        self.or_end(wait_until(inside, HANG_LIMIT, || path.exists()));
    }

    /// Waits for a fact that `is_it` knows, among the lines of `--events`.
    pub(crate) fn wait_fact(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let find = || {
            let text = self.stdout.so_far();
            let mut facts = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            facts.find(|fact| is_it(fact))
        };
        self.or_end(wait_for(what, HANG_LIMIT, find))
    }

    fn or_end<T>(&self, waited: Result<T, dcli_testkit::hang::Hang>) -> T {
        waited.unwrap_or_else(|hang| {
            let _gone = kill_process(self.pid(), Signal::KILL);
            let _left = self.stage.marker.kill_all(HANG_LIMIT);
            let (out, err) = (self.stdout.so_far(), self.stderr.so_far());
            panic!("{hang}\nstdout: {out}\nstderr: {err}");
        })
    }

    /// Kills dcli itself, so that it can clean nothing up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end. No process of its tree may be left then, where it was protected.
    pub(crate) fn finish(self) -> Outcome {
        let (marker, protection) = (&self.stage.marker, self.protection);
        let outcome = self.finish_uncontained();
        if protection == Protection::On {
            assert_eq!(marker.alive(), [], "processes of the run are alive after it\n{outcome:?}");
        }
        outcome
    }

    /// Waits for its end, whatever it leaves.
    pub(crate) fn finish_uncontained(mut self) -> Outcome {
        let ended = wait_for("dcli to end", HANG_LIMIT, || self.child.try_wait().unwrap());
        let status = self.or_end(ended);
        let Self { stdout, stderr, stdin, .. } = self;
        drop(stdin);
        Outcome {
            status,
            stdout: stdout.end(),
            stderr: String::from_utf8_lossy(&stderr.end()).into_owned(),
        }
    }
}
