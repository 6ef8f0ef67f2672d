//! A stage: a room with a scripted agent in it, and the built `dcli exec` to be run against it.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dcli_testkit::agent::{Child, ChildKind, Record, SCRIPT_VARIABLE, Script, Step};
use dcli_testkit::process::{Marker, as_user};
use dcli_testkit::programs::program;
use dcli_testkit::room::Room;

use super::{Outcome, Protection, Running, protection};

/// The program that plays scripts.
pub(crate) fn fake_agent() -> PathBuf {
    program("dcli-fake-agent").unwrap()
}

/// A step that prints text.
pub(crate) fn say(text: impl Into<String>) -> Step {
    Step::Stdout(text.into())
}

/// A step that leaves a process behind.
pub(crate) fn child(kind: ChildKind) -> Step {
    Step::Spawn(Child { kind, seconds: 300, args: Vec::new() })
}

/// The room, the script in it, and the mark by which the tree is found.
pub(crate) struct Stage {
    pub(crate) room: Room,
    pub(crate) marker: Marker,
    user: Option<u32>,
}

impl Stage {
    /// An agent that says what it was given, then takes `steps`.
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::furnish(Room::new().unwrap(), None, steps)
    }

    /// The same, all of it another user's.
    pub(crate) fn of_user(uid: u32, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::furnish(Room::of_user(uid).unwrap(), Some(uid), steps)
    }

    /// A program that the stage's user can run: its own copy, where that is somebody else.
    pub(super) fn program(&self, path: PathBuf) -> PathBuf {
        if self.user.is_none() {
            return path;
        }
        let own = self.room.directory("bin").unwrap().join(path.file_name().unwrap());
        if !own.exists() {
            std::fs::copy(path, &own).unwrap();
        }
        own
    }

    fn furnish(room: Room, user: Option<u32>, steps: impl IntoIterator<Item = Step>) -> Self {
        let stage = Self { room, marker: Marker::new(), user };
        stage.play(steps);
        stage
    }

    /// Puts another script in place. It begins with the record of what the agent was given.
    pub(crate) fn play(&self, steps: impl IntoIterator<Item = Step>) {
        let first = Step::Record(self.path("tmp/seen.json"));
        // A job asks for the version: no step may be taken for that.
        let version = Some("none".to_owned());
        let script = Script { version, ..Script::of(std::iter::once(first).chain(steps)) };
        self.room.file("script.json", &serde_json::to_string(&script).unwrap()).unwrap();
    }

    /// A place in the room.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.room.path().join(inside)
    }

    /// Steps that read standard input to its end and record again.
    pub(crate) fn hear(&self) -> [Step; 2] {
        [Step::ReadStdin(true), Step::Record(self.path("tmp/seen.json"))]
    }

    /// Whether the agent was started at all.
    pub(crate) fn was_started(&self) -> bool {
        self.path("tmp/seen.json").exists()
    }

    /// What the agent was given.
    pub(crate) fn seen(&self) -> Record {
        Record::load(&self.path("tmp/seen.json")).unwrap()
    }

    /// `dcli` in this room, with nothing but the room's own environment.
    pub(crate) fn dcli(&self) -> Exec<'_> {
        let mut command = Command::new(self.program(env!("CARGO_BIN_EXE_dcli").into()));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.room.home()).env("TMPDIR", self.room.tmp());
        command.env("DCLI_STATE_ROOT", self.room.state());
        command.env(SCRIPT_VARIABLE, self.path("script.json"));
        command.current_dir(self.room.work()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.marker.plant(&mut command);
        if let Some(uid) = self.user {
            as_user(uid, &mut command);
        }
        let (input, words, protection) = (None, Vec::new(), Protection::On);
        Exec { stage: self, command, input, words, protection }
    }

    /// `dcli exec`, the agent in the place of the backend's own program.
    pub(crate) fn exec(&self, backend: &str) -> Exec<'_> {
        self.exec_as(&["--backend", backend])
    }

    /// `dcli exec` with these arguments to choose the backend.
    pub(crate) fn exec_as(&self, choice: &[&str]) -> Exec<'_> {
        self.dcli().args(["exec"]).args(choice).arg("--command").arg(self.program(fake_agent()))
    }
}

/// One run that is being put together.
pub(crate) struct Exec<'s> {
    stage: &'s Stage,
    command: Command,
    input: Option<Vec<u8>>,
    words: Vec<OsString>,
    protection: Protection,
}

impl<'s> Exec<'s> {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With containment, or with it switched off.
    pub(crate) fn protected(mut self, protection: Protection) -> Self {
        self.protection = protection;
        match protection {
            Protection::On => self,
            Protection::Off => self.env(protection::VARIABLE, "1"),
        }
    }

    /// Standard output elsewhere than to the test.
    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.command.stdout(to);
        self
    }

    /// Standard error elsewhere than to the test.
    pub(crate) fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.command.stderr(to);
        self
    }

    pub(crate) fn current_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// The name the binary is called by.
    pub(crate) fn called(mut self, name: &str) -> Self {
        self.command.arg0(name);
        self
    }

    /// With SIGHUP ignored by whoever starts it.
    pub(crate) fn under_nohup(self) -> Self {
        self.within(&["nohup"])
    }

    /// Started by this program with these arguments, as the same user.
    pub(crate) fn within(mut self, wrapper: &[&str]) -> Self {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]);
        command.arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let directory = self.command.get_current_dir().map(Path::to_owned);
        command.current_dir(directory.unwrap_or_else(|| self.stage.room.work()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(uid) = self.stage.user {
            as_user(uid, &mut command);
        }
        self.command = command;
        self
    }

    /// The prompt, in words, behind `--`.
    pub(crate) fn words(mut self, words: impl AsRef<OsStr>) -> Self {
        self.words.push(words.as_ref().to_owned());
        self
    }

    /// Standard input with exactly these bytes.
    pub(crate) fn piped(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Starts it.
    pub(crate) fn start(self) -> Running<'s> {
        let input = self.input.clone();
        let mut running = self.open_if(input.is_some());
        if let Some(input) = input {
            running.feed(&input);
        }
        running
    }

    /// Starts it with a standard input that stays open and silent.
    pub(crate) fn start_open(self) -> Running<'s> {
        self.open_if(true)
    }

    fn open_if(mut self, open: bool) -> Running<'s> {
        if open {
            self.command.stdin(Stdio::piped());
        }
        if !self.words.is_empty() {
            self.command.arg("--").args(&self.words);
        }
        Running::of(self.stage, self.protection, &mut self.command)
    }

    /// Runs it to its end, as [`Running::finish`] has it.
    pub(crate) fn run(self) -> Outcome {
        self.start().finish()
    }
}
