//! A room with real CLIs linked into the only directory of its PATH, and reports to compare.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dcli_testkit::clis::{Cli, CliId};
use dcli_testkit::process::{ORDINARY_USER, as_user};
use dcli_testkit::room::Room;
use dcli_testkit::schema::{check, mutations};
use serde_json::Value;

/// Two of them, so that a backend is left where the chosen one is taken away.
pub(crate) const TWO: [CliId; 2] = [CliId::Claude332, CliId::Codex];
/// One of each record.
pub(crate) const EACH: [CliId; 5] =
    [CliId::Claude332, CliId::Codex, CliId::Opencode, CliId::Qwen, CliId::Gemini];

/// The room, and who plays in it.
pub(crate) struct Scene {
    pub(crate) room: Room,
    user: Option<u32>,
    extra: Vec<(String, String)>,
}

/// A scene with `clis` for each user that this test can be: root and somebody ordinary, or the
/// ordinary one alone. `None` where one of the CLIs is not installed, which has been said.
pub(crate) fn everybody(clis: &[CliId], play: impl Fn(&Scene)) {
    let own = rustix::process::geteuid().as_raw();
    let users = if own == 0 { vec![None, Some(ORDINARY_USER)] } else { vec![None] };
    let found: Option<Vec<Cli>> = clis.iter().map(|id| Cli::find_or_skip(*id).unwrap()).collect();
    let Some(found) = found else { return };
    for user in users {
        play(&Scene::new(user, &found));
    }
}

impl Scene {
    fn new(user: Option<u32>, clis: &[Cli]) -> Self {
        let room = user.map_or_else(Room::new, Room::of_user).unwrap();
        let scene = Self { room, user, extra: Vec::new() };
        scene.mode(&scene.room.state(), 0o700);
        scene.room.directory("bin").unwrap();
        for tool in ["git", "node"] {
            scene.link(tool, &on_this_machine(tool));
        }
        for cli in clis {
            scene.link(cli.id.backend(), &cli.program.canonicalize().unwrap());
        }
        scene
    }

    /// For messages.
    pub(crate) fn title(&self) -> String {
        self.user.map_or("the test's own user".to_owned(), |uid| format!("user {uid}"))
    }

    /// The user's `config.toml`.
    pub(crate) fn configure(&self, text: &str) {
        self.room.file("home/.config/dcli/config.toml", text).unwrap();
    }

    /// More of the environment.
    pub(crate) fn with_env(mut self, env: Vec<(String, String)>) -> Self {
        self.extra = env;
        self
    }

    /// The same place for somebody else's CLI.
    pub(crate) fn of(user: Option<u32>, cli: &Cli) -> Self {
        Self::new(user, std::slice::from_ref(cli))
    }

    pub(crate) fn link(&self, name: &str, program: &Path) {
        symlink(program, self.bin(name)).unwrap();
    }

    /// A program of the room's own that prints `text`.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let inside = format!("bin/{name}");
        let path = self.room.file(inside, &format!("#!/bin/sh\necho '{text}'\n")).unwrap();
        self.mode(&path, 0o755);
    }

    pub(crate) fn take(&self, name: &str) {
        std::fs::remove_file(self.bin(name)).unwrap();
    }

    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.room.path().join("bin").join(name)
    }

    pub(crate) fn mode(&self, path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// `dcli`, in this room and as its user.
    pub(crate) fn dcli(&self, args: &[&str]) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_dcli")), args)
    }

    /// `dcli`, in namespaces of its own where `script` has run before it: the script as root there,
    /// `dcli` as who it would be anyway.
    pub(crate) fn dcli_after(&self, script: &str, args: &[&str]) -> Command {
        let again = match self.uid() {
            0 => String::new(),
            uid => format!("/usr/bin/unshare --user --map-user={uid} --map-group={uid} "),
        };
        self.as_root_after(script, &again, args)
    }

    fn as_root_after(&self, script: &str, again: &str, args: &[&str]) -> Command {
        let own = ["--user", "--map-root-user", "--mount", "/bin/sh", "-ec"];
        let mut command = self.command(Path::new("/usr/bin/unshare"), &own);
        command.arg(format!("{script}\nexec {again}\"$0\" \"$@\""));
        command.arg(env!("CARGO_BIN_EXE_dcli")).args(args);
        command
    }

    /// Who plays here.
    pub(crate) fn uid(&self) -> u32 {
        self.user.unwrap_or(rustix::process::geteuid().as_raw())
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().current_dir(self.room.work()).stdin(Stdio::null());
        command.envs(self.extra.iter().cloned());
        command.env("PATH", self.room.path().join("bin")).env("HOME", self.room.home());
        command.env("TMPDIR", self.room.tmp()).env("DCLI_STATE_ROOT", self.room.state());
        command.env("XDG_CONFIG_HOME", self.room.home().join(".config"));
        if let Some(uid) = self.user {
            as_user(uid, &mut command);
        }
        command
    }

    /// The static report, with `args` before the verb.
    pub(crate) fn doctor(&self, args: &[&str]) -> Seen {
        Seen::of(self.dcli(&[args, &STATIC].concat()))
    }

    /// The same without anything in `/proc`. The system calls that make somebody ordinary again in a
    /// user namespace need it, so that whoever plays is root there.
    pub(crate) fn doctor_without_proc(&self) -> Seen {
        let empty = self.room.directory("empty").unwrap();
        let script = format!("/usr/bin/mount --bind {} /proc", empty.display());
        Seen::of(self.as_root_after(&script, "", &STATIC))
    }

    /// The same after `script`.
    pub(crate) fn doctor_after(&self, script: &str) -> Seen {
        Seen::of(self.dcli_after(script, &STATIC))
    }
}

const STATIC: [&str; 4] = ["doctor", "--json", "--live-smoke-timeout-sec", "0"];

fn on_this_machine(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(tool));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{tool} is not in PATH")).canonicalize().unwrap()
}

/// A report.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) report: Value,
}

impl Seen {
    pub(crate) fn of(mut command: Command) -> Self {
        let output = command.output().unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {output:?}");
        });
        let seen = Self { code: output.status.code(), report };
        if let Err(fault) = check(&seen.schema(), &seen.report) {
            panic!("{fault}");
        }
        seen
    }

    /// What was printed, by the keys it has.
    fn shape(&self) -> &'static str {
        let keys = ["error", "checks", "backends", "backend"];
        let names = ["error", "doctor", "capabilities", "capability"];
        let at = keys.iter().position(|key| self.report.get(key).is_some());
        at.map(|at| names[at]).unwrap_or_else(|| panic!("no known shape: {self:#?}"))
    }

    fn schema(&self) -> Value {
        dcli_core::schema::find(self.shape()).unwrap().schema()
    }

    /// Fails where the schema lets pass a change in one place of this answer.
    pub(crate) fn assert_every_change_is_noticed(&self) {
        let schema = self.schema();
        let passing =
            mutations(&self.report).into_iter().filter(|m| check(&schema, &m.value).is_ok());
        let passing: Vec<String> = passing.map(|m| format!("{:?} {}", m.change, m.at)).collect();
        // Without the validator everything passes; that it is missing has been said.
        let is_installed = check(&schema, &Value::Bool(true)).is_err();
        assert!(passing.is_empty() || !is_installed, "{}: {passing:?}", self.shape());
    }

    /// Whether the report and the exit code say the same, and what.
    pub(crate) fn is_fit(&self) -> bool {
        let ok = self.report["ok"].as_bool().unwrap();
        assert_eq!(self.code, Some(if ok { 0 } else { 12 }), "{self:#?}");
        ok
    }

    /// The status of every check by its name, `codex/version` for one of a backend.
    pub(crate) fn statuses(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut keep = |of: &str, checks: &Value| {
            for check in checks.as_array().unwrap() {
                let name = format!("{of}{}", check["id"].as_str().unwrap());
                let status = check["status"].as_str().unwrap().to_owned();
                assert!(all.insert(name, status).is_none(), "an id comes twice: {self:#?}");
            }
        };
        keep("", &self.report["checks"]);
        for backend in self.report["backends"].as_array().unwrap() {
            keep(&format!("{}/", backend["backend"].as_str().unwrap()), &backend["checks"]);
        }
        all
    }

    /// One check.
    pub(crate) fn check(&self, of: &str, id: &str) -> &Value {
        let checks =
            if of.is_empty() { &self.report["checks"] } else { &self.backend(of)["checks"] };
        let found = checks.as_array().unwrap().iter().find(|check| check["id"] == id);
        found.unwrap_or_else(|| panic!("no check {of}/{id}: {self:#?}"))
    }

    pub(crate) fn backend(&self, id: &str) -> &Value {
        let all = self.report["backends"].as_array().unwrap();
        let found = all.iter().find(|backend| backend["backend"] == id);
        found.unwrap_or_else(|| panic!("no backend {id}: {self:#?}"))
    }

    /// What is otherwise in `self` than in `before`: `git: ok → warning`.
    pub(crate) fn changes(&self, before: &Self) -> BTreeSet<String> {
        let (before, after) = (before.statuses(), self.statuses());
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let status = |all: &BTreeMap<String, String>, name: &String| {
            all.get(name).cloned().unwrap_or_else(|| "absent".to_owned())
        };
        let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        changed
            .map(|name| format!("{name}: {} → {}", status(&before, name), status(&after, name)))
            .collect()
    }
}

/// The changes, as a test writes them down.
pub(crate) fn just(changes: &[&str]) -> BTreeSet<String> {
    changes.iter().map(|change| (*change).to_owned()).collect()
}
