//! The scripted agent: it plays a coding CLI, good or bad, without a model.

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

/// The hidden word that makes this program the agent.
pub(super) const ROLE: &str = "__scripted-agent";

/// What the good part answers.
pub(super) const ANSWER: &str = "I wrote greeting.txt.";

/// What the agent plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Writes a file, answers, and leaves a process behind.
    Good,
    /// Answers, and exits 0 without the record that proves success.
    Cut,
    /// Starts work and never comes back.
    Stuck,
}

impl Part {
    const ALL: [Part; 3] = [Part::Good, Part::Cut, Part::Stuck];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Cut => "cut",
            Self::Stuck => "stuck",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// Plays the part that the command line names; `None` where this process is no agent.
pub(in crate::cli) fn agent_role() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != ROLE {
        return None;
    }
    let part = words.next().and_then(|word| Part::of(word.to_str()?));
    let played = part.ok_or_else(|| io::Error::other("no such part")).and_then(play);
    Some(if played.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn play(part: Part) -> io::Result<()> {
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt)?;
    say(&json!({"type": "begin", "session": "demo-session"}))?;
    match part {
        Part::Good => {
            say(&json!({"type": "tool", "call": "1", "name": "write", "what": "greeting.txt"}))?;
            std::fs::write("greeting.txt", format!("You asked: {prompt}\n"))?;
            say(&json!({"type": "tool_end", "call": "1", "ok": true}))?;
            leave_behind()?;
            say(&json!({"type": "answer", "text": ANSWER}))?;
            say(&json!({"type": "end", "status": "ok", "tokens": 42}))
        }
        Part::Cut => say(&json!({"type": "answer", "text": "Everything is fine."})),
        Part::Stuck => {
            say(&json!({"type": "tool", "call": "1", "name": "shell", "what": "sleep 600"}))?;
            leave_behind()?;
            Command::new("sleep").arg("600").status().map(drop)
        }
    }
}

/// A process in a session of its own, as the shell tools of coding CLIs leave them.
fn leave_behind() -> io::Result<()> {
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
    };
    quiet(Command::new("setsid").args(["sleep", "600"]))
        .or_else(|_| quiet(Command::new("sleep").arg("600")))
}

fn say(record: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{record}")?;
    out.flush()
}
