//! A room with a backend in it that counts its own starts, and the built `dcli exec` to run it.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use dcli_testkit::room::Room;
use serde_json::Value;

/// The tokens that every run reports.
pub(crate) const TOKENS: f64 = 7.0;

/// Says that it was started, waits as long as there is a file `hold`, and answers.
const SCRIPT: &str = r#"read prompt; echo started >> "$DESK/tmp/starts"
while [ -e "$DESK/tmp/hold" ]; do sleep 0.02; done
echo '{"type":"answer","text":"done"}'; echo '{"type":"end","tokens":7}'"#;

/// The room.
pub(crate) struct Desk {
    pub(crate) room: Room,
}

impl Desk {
    /// With this `config.toml`.
    pub(crate) fn new(config: &str) -> Self {
        let desk = Self { room: Room::new().unwrap() };
        desk.room.file("home/.config/dcli/config.toml", config).unwrap();
        desk.room.file("backend.toml", &record()).unwrap();
        desk
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.room.path().join(inside)
    }

    /// `dcli exec` with these arguments.
    pub(crate) fn exec(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.room.home()).env("TMPDIR", self.room.tmp());
        command.env("DCLI_STATE_ROOT", self.room.state()).env("DESK", self.room.path());
        command.current_dir(self.room.work()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.args(["exec", "--access", "unconfined", "--record"]).arg(self.path("backend.toml"));
        command.args(arguments).args(["--", "go"]);
        command
    }

    /// Its outcome.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.exec(arguments).output().unwrap())
    }

    /// Fails unless the run went well.
    pub(crate) fn run_well(&self, arguments: &[&str]) {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }

    /// Fails unless the run is refused with this exit code, saying all of `needles`, and the
    /// backend is not started.
    pub(crate) fn refused(&self, arguments: &[&str], code: i32, needles: &[&str]) -> Outcome {
        let before = self.starts();
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, code, "{outcome:?}");
        let message = outcome.envelope["errors"][0]["message"].as_str().unwrap();
        for needle in needles.iter().chain(&["nothing was started"]) {
            assert!(message.contains(needle), "{needle:?} is not in: {message}");
        }
        assert_eq!(self.starts(), before, "{outcome:?}");
        outcome
    }

    /// From here on, backends wait until [`Desk::release`].
    pub(crate) fn hold(&self) {
        self.room.file("tmp/hold", "").unwrap();
    }

    pub(crate) fn release(&self) {
        std::fs::remove_file(self.path("tmp/hold")).unwrap();
    }

    /// How often the backend was started.
    pub(crate) fn starts(&self) -> usize {
        std::fs::read_to_string(self.path("tmp/starts")).unwrap_or_default().lines().count()
    }

    /// Waits until the backend was started that often.
    pub(crate) fn started(&self, times: usize) {
        wait_until("starts", HANG_LIMIT, || self.starts() >= times).unwrap();
    }

    /// A sheet of the ledger.
    pub(crate) fn sheet(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.room.state().join("ledger").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The sheets of days: one, or two where midnight went by.
    pub(crate) fn days(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.room.state().join("ledger")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_day =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("day-");
        paths.filter(is_day).collect()
    }

    /// The figure `key` over all days.
    pub(crate) fn of_days(&self, key: &str) -> f64 {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.days().iter().map(|path| self.sheet(&name(path))[key].as_f64().unwrap()).sum()
    }

    /// Tickets that are there.
    pub(crate) fn tickets(&self) -> usize {
        std::fs::read_dir(self.room.state().join("ledger/open")).unwrap().count()
    }
}

/// What one `dcli exec` answered.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) envelope: Value,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let envelope = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Self { code: output.status.code().unwrap_or(-1), envelope, stderr }
    }
}

/// Waits until `count` of the children have ended, and takes them out.
pub(crate) fn ended(children: &mut Vec<Child>, count: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while outcomes.len() < count {
        let place = wait_for("an end", HANG_LIMIT, || {
            children.iter_mut().position(|child| child.try_wait().unwrap().is_some())
        });
        let child = children.remove(place.unwrap());
        outcomes.push(Outcome::of(child.wait_with_output().unwrap()));
    }
    outcomes
}

fn record() -> String {
    format!(
        r#"
schema_version = 1
id = "desk"
display_name = "Desk"
command = "/bin/sh"
args = ["-c", '''{SCRIPT}''']
[prompt]
delivery = "stdin"
[output]
format = "jsonl"
result = {{ path = "text", when = {{ type = "answer" }} }}
terminal = {{ success = {{ type = "end" }} }}
[usage]
usage_when = {{ type = "end" }}
usage_paths = ["tokens"]
[liveness]
signal = "records"
tool_starts_announced = true
[access]
read_only = {{}}
workspace = {{}}
unconfined = {{}}
[[facts]]
fact = "assistant_text"
when = {{ type = "answer" }}
fields = {{ text = "text" }}
"#
    )
}
