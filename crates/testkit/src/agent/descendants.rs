//! Processes that the agent leaves behind: itself, started again with a small script.

use std::io::{self, Read as _};
use std::process::{Command, Stdio};

use super::script::{Child, ChildKind, Script, Step};

/// First argument of an agent whose script is the next argument itself.
pub(super) const INLINE: &str = "--inline-script";

/// Starts a process of the given kind.
pub(super) fn spawn(child: &Child) -> io::Result<()> {
    let life = Step::SleepMs(child.seconds.saturating_mul(1000));
    match child.kind {
        ChildKind::HoldStdout => again([life])?.stdin(Stdio::null()).spawn().map(drop),
        ChildKind::Plain => until_up([up(), life]),
        ChildKind::Setsid => until_up([Step::Setsid(true), up(), life]),
        ChildKind::DoubleFork => {
            let held = Child { kind: ChildKind::HoldStdout, args: Vec::new(), ..*child };
            until_up([Step::Setsid(true), Step::Spawn(held), up(), Step::Exit(0)])
        }
        ChildKind::Hostile => hostile(child),
    }
}

fn up() -> Step {
    Step::Stdout("up".to_owned())
}

fn again(steps: impl IntoIterator<Item = Step>) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(INLINE).arg(serde_json::to_string(&Script::of(steps))?);
    Ok(command)
}

/// Starts a child and waits for its first words. Its output goes nowhere after that.
fn until_up(steps: impl IntoIterator<Item = Step>) -> io::Result<()> {
    let exits = |step: &Step| matches!(step, Step::Exit(_));
    let steps: Vec<Step> = steps.into_iter().collect();
    let is_passing = steps.last().is_some_and(exits);
    let mut command = again(steps)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_exact(&mut [0; 2])?;
    }
    if is_passing {
        child.wait()?;
    }
    Ok(())
}

fn hostile(child: &Child) -> io::Result<()> {
    let program = std::env::current_exe()?.with_file_name("dcli-hostile-tree");
    let mut command = Command::new(program);
    command.args(&child.args).arg("--life-sec").arg(child.seconds.to_string());
    command.stdin(Stdio::null()).spawn().map(drop)
}
