//! A room, a model server and the command line of one run through the built `dcli`.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]
#![expect(clippy::panic, reason = "a fixture that fails ends its test")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use dcli_core::schema::find;
use dcli_testkit::clis::{CliId, MODEL, Retries};
use dcli_testkit::hang::wait_for;
use dcli_testkit::model::{Scenario, Server};
use dcli_testkit::process::Marker;
use dcli_testkit::room::Room;
use dcli_testkit::schema::check;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::case::Case;

/// Longer than any run here: the longest waits through a vendor's own retries, about 100 s.
pub(crate) const RUN_LIMIT: Duration = Duration::from_secs(300);

/// Where one run takes place.
pub(crate) struct Scene {
    pub(crate) case: Case,
    pub(crate) room: Room,
    pub(crate) server: Server,
    /// Carried by every process of the backend, and by nothing of dcli's own.
    pub(crate) marker: Marker,
    env: Vec<(String, String)>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) envelope: Value,
}

/// A run that goes on. Whatever is left of its tree is killed with it.
pub(crate) struct Going<'s> {
    scene: &'s Scene,
    child: Child,
}

impl Scene {
    /// A scene for `case`, whose model does as `scenario` says.
    pub(crate) fn new(case: &Case, scenario: Scenario) -> Self {
        Self::in_room(case, |_| scenario)
    }

    /// The same for a scenario that names paths of the room.
    pub(crate) fn in_room(case: &Case, scenario: impl FnOnce(&Room) -> Scenario) -> Self {
        let room = case.room();
        let server = Server::start(scenario(&room)).unwrap();
        let mut env = case.cli.isolated_env(&room, &server, Retries::None).unwrap();
        if case.uid != 0 {
            env.retain(|(name, _)| name != "IS_SANDBOX");
        }
        Self { case: case.clone(), room, server, marker: Marker::new(), env }
    }

    /// A path in the workspace.
    pub(crate) fn in_work(&self, name: &str) -> PathBuf {
        self.room.work().join(name)
    }

    /// The vendor's own program, in the scene's environment and as its user.
    pub(crate) fn vendor(&self) -> Command {
        let mut command = Command::new(&self.case.cli.program);
        command.env_clear().envs(self.env.iter().cloned()).env("PWD", self.room.work());
        command.current_dir(self.room.work()).stdin(Stdio::null());
        self.case.dress(&mut command);
        command
    }

    /// `dcli exec` with `access`; its own PWD is another directory than the one it works in.
    pub(crate) fn exec(&self, access: &str) -> Command {
        self.exec_program(access, &self.case.cli.program)
    }

    /// The same with another program for the vendor's.
    pub(crate) fn exec_program(&self, access: &str, program: &Path) -> Command {
        self.asking("exec", access, program)
    }

    /// `dcli exec`, `run` or `submit`.
    pub(crate) fn asking(&self, verb: &str, access: &str, program: &Path) -> Command {
        let mut command = self.dcli();
        command.args([verb, "--backend", self.case.id().backend(), "--access", access]);
        command.arg("--cwd").arg(self.room.work()).arg("--command").arg(program);
        let mark = format!("{}={}", self.marker.name(), self.marker.value());
        command.args(["--env", &mark]).args(self.model_args(verb));
        command
    }

    /// `dcli` alone, in the scene's environment and as its user, in another directory than the
    /// workspace.
    pub(crate) fn dcli(&self) -> Command {
        let elsewhere = self.room.directory("elsewhere").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli"));
        command.env_clear().envs(self.env.iter().cloned());
        command.env("DCLI_STATE_ROOT", self.room.state());
        command.env("PWD", &elsewhere).current_dir(&elsewhere).stdin(Stdio::null());
        self.case.dress(&mut command);
        command
    }

    /// The model by dcli's own option, the rest as extra arguments.
    /// A title saves opencode's own request for one; a job's server is given it otherwise.
    fn model_args(&self, verb: &str) -> Vec<String> {
        let given = self.case.cli.model_args(&self.server, Retries::None);
        let names_model = |word: &String| ["-m", "--model", MODEL].contains(&word.as_str());
        let (model, extra): (Vec<_>, Vec<_>) = given.into_iter().partition(names_model);
        let has_title = self.case.id() == CliId::Opencode && verb == "exec";
        let title = if has_title { &["--title", "t"][..] } else { &[] };
        let extra = extra.into_iter().chain(title.iter().map(|word| (*word).to_owned()));
        let mut args: Vec<String> = extra.map(|word| format!("--extra-arg={word}")).collect();
        if !model.is_empty() {
            args.extend(["--model".to_owned(), MODEL.to_owned()]);
        }
        args
    }

    /// Starts a run; the prompt is added here.
    pub(crate) fn start(&self, mut command: Command) -> Going<'_> {
        let create = |name: &str| File::create(self.room.path().join(name)).unwrap();
        command.arg("do as the script says").stdout(create("out")).stderr(create("err"));
        Going { scene: self, child: command.spawn().unwrap() }
    }

    /// A whole run.
    pub(crate) fn run(&self, command: Command) -> Ran {
        self.start(command).end()
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.room.path().join(name)).unwrap()).into_owned()
    }
}

impl Going<'_> {
    /// Sends dcli itself a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether dcli has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for dcli's exit.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        let exited = || self.child.try_wait().unwrap();
        wait_for("dcli to exit", RUN_LIMIT, exited).unwrap()
    }

    /// Waits for dcli's exit and reads its envelope.
    pub(crate) fn end(mut self) -> Ran {
        self.read()
    }

    /// The same, and leaves what is left of the tree alone.
    pub(crate) fn read(&mut self) -> Ran {
        let code = self.exit().code();
        let (out, stderr) = (self.scene.read("out"), self.scene.read("err"));
        let envelope = serde_json::from_str(&out).unwrap_or_else(|error| {
            panic!("{}: {error} in {out:?}, {stderr:?}", self.scene.case.title())
        });
        check(&find("envelope").unwrap().schema(), &envelope).unwrap();
        Ran { code, envelope }
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = self.scene.marker.kill_all(dcli_testkit::hang::HANG_LIMIT);
    }
}

impl Ran {
    /// Asserts an end in success and gives the answer.
    pub(crate) fn answer(&self) -> &str {
        assert_eq!((self.code, self.status()), (Some(0), "ok"), "{self:#?}");
        self.envelope["data"]["result"].as_str().unwrap_or_else(|| panic!("{self:#?}"))
    }

    pub(crate) fn status(&self) -> &str {
        self.envelope["status"].as_str().unwrap_or_default()
    }

    /// The report of the run.
    pub(crate) fn report(&self) -> &Value {
        &self.envelope["data"]["run"]
    }

    pub(crate) fn usage(&self) -> Option<u64> {
        self.envelope["data"]["usage"].as_u64()
    }
}
