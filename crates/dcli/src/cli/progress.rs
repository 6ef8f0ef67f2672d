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

use crate::report::human::{count, printable, say};
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

    /// Says something that stays, above the line.
    pub(super) fn say(&self, message: &str) {
        above(self.bar.as_ref(), message);
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn above(bar: Option<&ProgressBar>, message: &str) {
    match bar {
        Some(bar) => bar.suspend(|| say(message)),
        None => say(message),
    }
}

/// The line of a wait: how many jobs are over, and what the one that changed last does.
pub(super) struct Waiting {
    bar: Option<ProgressBar>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    jobs: BTreeMap<JobId, JobState>,
    last: String,
    doing: Option<String>,
    tokens: Option<u64>,
}

impl Waiting {
    /// Shows it where standard error is a terminal.
    pub(super) fn new() -> Self {
        let progress = Progress::new("wait");
        if let Some(bar) = &progress.bar {
            bar.set_message("looking");
        }
        Self { bar: progress.bar, known: Mutex::default() }
    }

    /// Whether anybody sees it.
    pub(super) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Takes a change of a job in.
    pub(super) fn take(&self, status: &Status) {
        self.show(|known| {
            known.jobs.insert(status.job_id.clone(), status.state);
            known.tokens = status.tokens.total.or(known.tokens);
            let id = &status.job_id;
            known.last = format!("{id} {} · {}", status.phase.name(), took(status));
        });
    }

    /// Says something that stays, above the line.
    pub(super) fn say(&self, message: &str) {
        above(self.bar.as_ref(), message);
    }

    /// Takes in what the backend of the one job does.
    pub(super) fn fact(&self, fact: &Fact) {
        self.show(|known| match fact {
            Fact::UsageReported { tokens, .. } => known.tokens = tokens.total,
            other => known.doing = describe(other).or(known.doing.take()),
        });
    }

    fn show(&self, change: impl FnOnce(&mut Known)) {
        let (Some(bar), Ok(mut known)) = (&self.bar, self.known.lock()) else { return };
        change(&mut known);
        let over = known.jobs.values().filter(|state| state.is_terminal()).count();
        let many = match known.jobs.len() {
            0 | 1 => String::new(),
            all => format!("{over} of {all} over · "),
        };
        let doing = known.doing.as_deref().map(|doing| format!(" · {doing}"));
        let tokens = known.tokens.map(|tokens| format!(" · {} tokens", count(tokens)));
        let rest = doing.into_iter().chain(tokens).collect::<String>();
        bar.set_message(format!("{many}{}{rest}", known.last));
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
        Fact::InteractionPending { outcome: Some(_), .. } => "waits for an answer".to_owned(),
        Fact::BackendError { payload, .. } => format!("error: {payload}"),
        _ => return None,
    };
    Some(printable(&text, WIDTH))
}
