//! Progress for people: one line on standard error, only where that is a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use dcli_core::fact::{Activity, Fact};
use dcli_core::job::id::JobId;
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::human::{count, printable};
use crate::report::job::took;

/// The longest description of what the agent is doing, in characters.
const WIDTH: usize = 60;

/// The line, or nothing.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    doing: String,
    tokens: Option<u64>,
}

impl Progress {
    /// Shows progress of `backend` where standard error is a terminal.
    pub(super) fn new(backend: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let plain = ProgressStyle::with_template("{spinner} {prefix} · {elapsed} · {msg}");
            if let Ok(style) = plain {
                bar.set_style(style);
            }
            bar.set_prefix(printable(backend, WIDTH));
            bar.set_message("starting");
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, seen: Mutex::default() }
    }

    /// Takes a fact in.
    pub(super) fn fact(&self, fact: &Fact) {
        let (Some(bar), Ok(mut seen)) = (&self.bar, self.seen.lock()) else { return };
        match fact {
            Fact::UsageReported { tokens, .. } => seen.tokens = tokens.total,
            other => {
                if let Some(doing) = describe(other) {
                    seen.doing = doing;
                }
            }
        }
        let tokens = seen.tokens.map_or_else(String::new, |n| format!(" · {} tokens", count(n)));
        bar.set_message(format!("{}{tokens}", seen.doing));
    }

    /// Says that a cancel is under way.
    pub(super) fn cancelling(&self) {
        if let (Some(bar), Ok(mut seen)) = (&self.bar, self.seen.lock()) {
            seen.doing = "cancelling; Ctrl-C again ends it now".to_owned();
            bar.set_message(seen.doing.clone());
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The line of a wait: how many jobs there are, and what the last that changed does.
pub(super) struct Waiting {
    bar: Option<ProgressBar>,
    jobs: Mutex<BTreeMap<JobId, JobState>>,
}

impl Waiting {
    /// Shows it where standard error is a terminal.
    pub(super) fn new() -> Self {
        let progress = Progress::new("wait");
        if let Some(bar) = &progress.bar {
            bar.set_message("looking");
        }
        Self { bar: progress.bar, jobs: Mutex::default() }
    }

    /// Takes a change in.
    pub(super) fn take(&self, status: &Status) {
        let (Some(bar), Ok(mut jobs)) = (&self.bar, self.jobs.lock()) else { return };
        jobs.insert(status.job_id.clone(), status.state);
        let over = jobs.values().filter(|state| state.is_terminal()).count();
        let tokens = status.tokens.total.map(|n| format!(" · {} tokens", count(n)));
        let phase = status.phase.name();
        bar.set_message(format!(
            "{over} of {} over · {} {phase} {}{}",
            jobs.len(),
            status.job_id,
            took(status),
            tokens.unwrap_or_default()
        ));
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn describe(fact: &Fact) -> Option<String> {
    let text = match fact {
        Fact::Started { .. } => "agent started".to_owned(),
        Fact::Reasoning { .. } => "thinking".to_owned(),
        Fact::AssistantText { text, .. } => format!("says: {text}"),
        Fact::ToolInvoked { tool, summary, .. } => {
            let (tool, summary) = (tool.as_deref(), summary.as_deref());
            format!("{}: {}", tool.unwrap_or("tool"), summary.unwrap_or_default())
        }
        Fact::ToolResult { ok, .. } => if *ok { "tool done" } else { "tool failed" }.to_owned(),
        Fact::BackendStatus { status: Activity::Retrying, attempt, .. } => match attempt {
            Some(attempt) => format!("provider retry {attempt}"),
            None => "provider retry".to_owned(),
        },
        Fact::BackendError { payload, .. } => format!("error: {payload}"),
        _ => return None,
    };
    Some(printable(&text, WIDTH))
}
