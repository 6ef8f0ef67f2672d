//! Where everything is measured: a scratch room with release builds of the programs in it, and the
//! commands that run there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dcli_testkit::process::{Marker, as_user};
use dcli_testkit::room::Room;

use super::error::{BenchError, Named as _};
use crate::command;
use crate::workspace::Workspace;

/// The programs that are measured and measured with.
const PROGRAMS: [&str; 3] = ["dcli", "examples/scan", "dcli-hostile-tree"];

/// A room of one user.
pub(super) struct Stage {
    room: Room,
    user: Option<u32>,
}

/// Builds the programs, optimised.
pub(super) fn build(workspace: &Workspace) -> Result<(), BenchError> {
    let dcli = ["build", "--release", "-p", "dcli", "--bin", "dcli", "--example", "scan"];
    command::run(workspace.cargo().args(dcli))?;
    let testkit = ["build", "--release", "-p", "dcli-testkit", "--bin", "dcli-hostile-tree"];
    command::run(workspace.cargo().args(testkit))?;
    Ok(())
}

impl Stage {
    /// A room of the current user, or of another one (which only root can make).
    pub(super) fn new(workspace: &Workspace, user: Option<u32>) -> Result<Self, BenchError> {
        let room = user.map_or_else(Room::new, Room::of_user).named("make a room")?;
        for program in PROGRAMS {
            let built = workspace.target.join("release").join(program);
            let name = Path::new(program).file_name().unwrap_or_default();
            fs::copy(built, room.path().join(name)).named("copy a program into the room")?;
        }
        Ok(Self { room, user })
    }

    /// A file of the room.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Makes a file of the room that everybody may read.
    pub(super) fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut std::io::BufWriter<fs::File>) -> std::io::Result<()>,
    ) -> Result<PathBuf, BenchError> {
        let path = self.path(name);
        let file = fs::File::create(&path).named("make a file")?;
        let mut out = std::io::BufWriter::new(file);
        let written = write(&mut out).and_then(|()| std::io::Write::flush(&mut out));
        written.named("write a file")?;
        Ok(path)
    }

    /// Makes a record that runs this program with these arguments and reads opencode-like text.
    pub(super) fn record(&self, command: &str, args: &[&str]) -> Result<PathBuf, BenchError> {
        let text = format!(
            "schema_version = 1\nid = \"bench\"\ndisplay_name = \"Bench\"\ncommand = {command:?}\n\
             args = {args:?}\n{}",
            include_str!("record.toml")
        );
        self.room.file("record.toml", &text).named("write the record")
    }

    /// A program of the room or of the system, as the room's user and in its surroundings only.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.room.home());
        command.env("TMPDIR", self.room.tmp()).env("DCLI_STATE_ROOT", self.room.state());
        command.current_dir(self.room.work());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(user) = self.user {
            as_user(user, &mut command);
        }
        command
    }

    /// The room itself.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Where its commands work.
    pub(super) fn work(&self) -> PathBuf {
        self.room.work()
    }

    /// Where the room's jobs are kept.
    pub(super) fn state(&self) -> PathBuf {
        self.room.state()
    }

    /// `dcli` with these words.
    pub(super) fn dcli(&self, words: &[&str]) -> Command {
        let mut command = self.command(self.path("dcli"));
        command.args(words);
        command
    }

    /// `dcli exec` with this record, these further options, and a prompt.
    pub(super) fn exec(&self, record: &Path, options: &[&str]) -> Command {
        self.ask("exec", record, options)
    }

    /// `exec`, `run` or `submit` with this record, these further options, and a prompt.
    pub(super) fn ask(&self, verb: &str, record: &Path, options: &[&str]) -> Command {
        let mut command = self.dcli(&[verb, "--record"]);
        command.arg(record).args(options).arg("prompt");
        command
    }

    /// Starts a hostile tree below dcli and waits until all of it is there.
    pub(super) fn hostile(&self, options: &[&str]) -> Result<Hostile, BenchError> {
        let ready = self.room.work().join("ready");
        match fs::remove_file(&ready) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).named("remove the sign of the last tree");
            }
            _ => {}
        }
        let program = self.path("dcli-hostile-tree");
        let shown = (program.to_string_lossy(), ready.to_string_lossy());
        let tree = ["--setsid", "--double-fork", "--ignore", "--respawn", "--hold-stdout"];
        let rest = ["--life-sec", "100", "--ready", &shown.1];
        let record = self.record(&shown.0, &[&tree[..], &rest[..]].concat())?;
        let marker = Marker::new();
        let mut exec = self.exec(&record, options);
        marker.plant(&mut exec);
        let begun = Instant::now();
        let dcli = exec.spawn().named("start dcli")?;
        Ok(Hostile { dcli, marker, begun, ready })
    }
}

/// A running dcli with a hostile tree below it.
pub(super) struct Hostile {
    pub dcli: Child,
    pub marker: Marker,
    pub begun: Instant,
    pub ready: PathBuf,
}

/// Runs a command to its good end, and says how long that took.
pub(super) fn timed(command: &mut Command, what: &str) -> Result<Duration, BenchError> {
    let begun = Instant::now();
    let status = command.status().named("start a measured program")?;
    let took = begun.elapsed();
    if status.success() {
        return Ok(took);
    }
    Err(BenchError::Ended { what: what.to_owned(), status })
}

/// Milliseconds with their fraction.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
