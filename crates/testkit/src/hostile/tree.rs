//! The root of the tree: what it is asked for, the parts it starts, and when all of it is up.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use super::killer::{self, KillRefused};
use super::random::Random;
use super::role::{Deadline, Part, Role};
use crate::proc;

/// One nasty habit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Processes in sessions of their own.
    Setsid,
    /// Orphans whose parents have exited.
    DoubleFork,
    /// INT, TERM and HUP ignored by all.
    Ignore,
    /// Pairs that start each other again.
    Respawn,
    /// A process that keeps standard output open.
    HoldStdout,
    /// Four processes that hop from pid to pid.
    Hop,
    /// About 200 short-lived processes a second.
    Storm,
    /// A process that kills everything outside the tree; see [`super::permit`].
    Kill,
}

const MODES: [(&str, Mode); 8] = [
    ("--setsid", Mode::Setsid),
    ("--double-fork", Mode::DoubleFork),
    ("--ignore", Mode::Ignore),
    ("--respawn", Mode::Respawn),
    ("--hold-stdout", Mode::HoldStdout),
    ("--hop", Mode::Hop),
    ("--storm", Mode::Storm),
    ("--kill-what-it-can-see", Mode::Kill),
];

/// INT, TERM and HUP in a signal mask.
const IGNORED: u64 = 1 << 1 | 1 << 14 | 1;

/// What a tree is to be. As arguments: `--all` or single modes, `--seed N`, `--ready FILE`,
/// `--life-sec N`, `--exit-when-ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its habits.
    pub modes: Vec<Mode>,
    /// Varies how many of each there are and how they behave.
    pub seed: u64,
    /// A file created once every part is up.
    pub ready: Option<PathBuf>,
    /// When every process exits by itself.
    pub life: Duration,
    /// The root exits with 0 once all is up, in place of staying.
    pub exit_when_ready: bool,
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// An argument that does not exist, or has no usable value.
    #[error("argument {0} is unknown or has no usable value")]
    Argument(String),
    /// The killer may not start here.
    #[error(transparent)]
    Refused(#[from] KillRefused),
    /// A part could not be started.
    #[error("cannot start the tree")]
    Start(#[from] io::Error),
}

impl Tree {
    /// Every habit but killing.
    pub fn all(seed: u64) -> Self {
        let modes = MODES.map(|(_, mode)| mode).into_iter();
        Self {
            modes: modes.filter(|mode| *mode != Mode::Kill).collect(),
            seed,
            ready: None,
            life: Duration::from_secs(120),
            exit_when_ready: false,
        }
    }

    /// Only these habits.
    pub fn of(modes: &[Mode], seed: u64) -> Self {
        Self { modes: modes.to_vec(), ..Self::all(seed) }
    }

    /// The arguments that make `dcli-hostile-tree` this tree.
    pub fn arguments(&self) -> Vec<String> {
        let flag = |mode: &Mode| MODES.iter().find(|(_, known)| known == mode);
        let mut arguments: Vec<String> =
            self.modes.iter().filter_map(flag).map(|(flag, _)| (*flag).to_owned()).collect();
        let seed = ["--seed".to_owned(), self.seed.to_string()];
        let life = ["--life-sec".to_owned(), self.life.as_secs().to_string()];
        arguments.extend(seed.into_iter().chain(life));
        if let Some(ready) = &self.ready {
            arguments.extend(["--ready".to_owned(), ready.to_string_lossy().into_owned()]);
        }
        if self.exit_when_ready {
            arguments.push("--exit-when-ready".to_owned());
        }
        arguments
    }

    fn parse(arguments: &[String]) -> Result<Self, TreeError> {
        let mut tree = Self::of(&[], 1);
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let wrong = || TreeError::Argument(flag.clone());
            let mut value = || rest.next().ok_or_else(wrong);
            let number = |text: &String| text.parse::<u64>().map_err(|_| wrong());
            match flag.as_str() {
                "--all" => tree.modes = Self::all(1).modes,
                "--seed" => tree.seed = number(value()?)?,
                "--life-sec" => tree.life = Duration::from_secs(number(value()?)?),
                "--ready" => tree.ready = Some(PathBuf::from(value()?)),
                "--exit-when-ready" => tree.exit_when_ready = true,
                other => tree.modes.push(mode_of(other).ok_or_else(wrong)?),
            }
        }
        Ok(tree)
    }

    fn has(&self, mode: Mode) -> bool {
        self.modes.contains(&mode)
    }

    /// The parts to start, and whether each keeps standard output.
    fn parts(&self, deadline: Deadline) -> Vec<(Part, bool)> {
        let mut random = Random::new(self.seed);
        let mut parts = Vec::new();
        for (mode, role, low, high) in [
            (Mode::Setsid, Role::Leader, 1, 3),
            (Mode::DoubleFork, Role::Forker, 1, 3),
            (Mode::Respawn, Role::Partner, 1, 2),
            (Mode::HoldStdout, Role::Leader, 1, 1),
            (Mode::Hop, Role::Hopper, 4, 4),
            (Mode::Storm, Role::Storm, 1, 1),
            (Mode::Kill, Role::Killer, 1, 1),
        ] {
            let times = if self.has(mode) { random.between(low, high) } else { 0 };
            for _ in 0..times {
                let part = Part { role, deadline, seed: random.next(), partner: 0 };
                parts.push((part, mode == Mode::HoldStdout));
            }
        }
        parts
    }

    fn grow(&self) -> Result<(), TreeError> {
        if self.has(Mode::Kill) {
            killer::check()?;
        }
        let deadline = Deadline::after(self.life);
        let (mut heard, told) = io::pipe()?;
        let parts = self.parts(deadline);
        let mut children = Vec::new();
        for (part, keeps_stdout) in &parts {
            let mut command = part.command()?;
            if *keeps_stdout {
                command.stdout(Stdio::inherit());
            }
            let child = command.stderr(told.try_clone()?).spawn()?;
            children.push((part.role, child));
        }
        drop(told);
        heard.read_exact(&mut vec![0; parts.len()])?;
        for (_, forker) in children.iter_mut().filter(|(role, _)| *role == Role::Forker) {
            forker.wait()?;
        }
        if let Some(ready) = &self.ready {
            std::fs::write(ready, "")?;
        }
        if !self.exit_when_ready {
            std::thread::sleep(deadline.rest());
        }
        Ok(())
    }
}

fn mode_of(flag: &str) -> Option<Mode> {
    MODES.iter().find(|(known, _)| *known == flag).map(|(_, mode)| *mode)
}

/// The whole program `dcli-hostile-tree`.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "dcli-hostile-tree: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), TreeError> {
    if let [flag, rest @ ..] = arguments
        && flag == "--role"
    {
        let part = Part::of_arguments(rest).ok_or_else(|| TreeError::Argument(flag.clone()))?;
        return Ok(part.play()?);
    }
    let tree = Tree::parse(arguments)?;
    if tree.has(Mode::Ignore) && !ignores() {
        return Err(TreeError::Start(again_ignoring(arguments)?));
    }
    tree.grow()
}

fn ignores() -> bool {
    let status = proc::status("self").unwrap_or_default();
    proc::mask(&status, "SigIgn") & IGNORED == IGNORED
}

/// Starts the tree anew with the signals ignored, as every part then inherits; returns only the
/// reason why that failed.
fn again_ignoring(arguments: &[String]) -> io::Result<io::Error> {
    let mut env = Command::new("env");
    env.arg("--ignore-signal=INT,TERM,HUP").arg(std::env::current_exe()?).args(arguments);
    Ok(env.exec())
}
