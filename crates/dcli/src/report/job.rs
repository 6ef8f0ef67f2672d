//! Jobs for people: one as details or a line, several as a table, facts as lines.

use dcli_core::fact::{Activity, Fact, FactLine};
use dcli_core::interaction::Decision;
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;
use jiff::Timestamp;

use super::human::{count, elapsed, printable};
use super::interaction;
use super::paint::Tone;
use super::table::{Cell, Table};

/// The most characters of foreign text on one line.
const WIDTH: usize = 120;
/// A heartbeat older than this, in seconds, is worth a word.
const STALE: i64 = 15;

/// Several jobs.
#[must_use]
pub fn table(jobs: &[Status], with_directory: bool) -> String {
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    let last = if with_directory { "DIRECTORY" } else { "LABEL" };
    let mut table = Table::new(["JOB", "STATE", "BACKEND", "AGE", "TOOK", "TOKENS", "GROUP", last]);
    for status in jobs {
        let group = status.group.as_ref().map_or("-", |group| group.as_str());
        let label = status.label.as_ref().map_or("-", |label| label.as_str());
        let last = if with_directory { &status.execution_root } else { label };
        table.row([
            Cell::from(status.job_id.as_str()),
            Cell::toned(&state(status), tone(status)),
            Cell::from(status.backend.as_str()),
            Cell::from(since(&status.created_at)),
            Cell::from(took(status)),
            Cell::from(status.tokens.total.map_or_else(|| "-".to_owned(), count)),
            Cell::from(group),
            Cell::from(last),
        ]);
    }
    table.text()
}

/// One job on one line.
#[must_use]
pub fn line(status: &Status) -> String {
    let reason =
        status.failure_reason.as_deref().map(|reason| format!(": {}", printable(reason, 400)));
    format!("{} {}{}\n", status.job_id, state(status), reason.unwrap_or_default())
}

/// Everything that people ask about one job.
#[must_use]
pub fn details(status: &Status) -> String {
    let mut table = Table::new(["", ""]);
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.row([name, &value]);
        }
    };
    row("job", Some(status.job_id.to_string()));
    row("state", Some(state(status)));
    row("backend", Some(backend(status)));
    row("directory", Some(status.execution_root.clone()));
    row("label", status.label.as_ref().map(ToString::to_string));
    row("group", status.group.as_ref().map(ToString::to_string));
    row("created", Some(format!("{} ({} ago)", status.created_at, since(&status.created_at))));
    row("started", status.started_at.clone());
    row("finished", status.finished_at.clone());
    row("took", Some(took(status)).filter(|took| took != "-"));
    row("tokens", status.tokens.total.map(count));
    row("result", status.result_bytes.map(|bytes| format!("{bytes} bytes")));
    row("reason", status.failure_reason.clone());
    row("session", status.backend_session_id.clone());
    row("containment", status.containment.as_ref().map(|containment| containment.kind.clone()));
    row("access", Some(access(status)));
    for asked in interaction::waiting(status) {
        row("answer", Some(interaction::how(status.job_id.as_str(), asked)));
    }
    for warning in &status.warnings {
        row("warning", Some(warning.message.clone()));
    }
    table.text()
}

fn backend(status: &Status) -> String {
    let version = status.backend_version.as_deref().map(|version| format!(" {version}"));
    let model = status.model.as_deref().map(|model| format!(", model {model}"));
    format!("{}{}{}", status.backend, version.unwrap_or_default(), model.unwrap_or_default())
}

fn access(status: &Status) -> String {
    let enforced = status.access_enforcement.as_ref();
    let by = enforced.map(|by| format!(", enforced by {}", by.kind)).unwrap_or_default();
    let access = serde_json::to_value(status.access).ok();
    let access = access.and_then(|access| access.as_str().map(str::to_owned));
    format!("{}{by}", access.unwrap_or_default())
}

/// The state with what is worth a word: the phase while it runs, an answer that it waits for, a worker
/// that says nothing.
fn state(status: &Status) -> String {
    if status.state.is_terminal() || status.state == JobState::Queued {
        return status.state.to_string();
    }
    let silent = status.heartbeat_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    let silent = silent.map(|at| Timestamp::now().duration_since(at).as_secs());
    let running = format!("{} · {}", status.state, status.phase.name());
    match (silent.filter(|silent| *silent > STALE), interaction::waits_for(status)) {
        (Some(silent), _) => format!("{running} · no heartbeat for {silent} s"),
        (None, Some(waits)) => format!("{} · {waits}", status.state),
        (None, None) => running,
    }
}

fn tone(status: &Status) -> Tone {
    if interaction::waiting(status).next().is_some() {
        return Tone::Notice;
    }
    match status.state {
        JobState::Done => Tone::Good,
        JobState::Failed | JobState::TimedOut | JobState::Interrupted => Tone::Bad,
        JobState::Cancelled => Tone::Notice,
        JobState::Created | JobState::Queued | JobState::Running => Tone::Plain,
    }
}

/// How long a job ran up to now, or to its end.
pub(crate) fn took(status: &Status) -> String {
    let begun = status.started_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    let ended = status.finished_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    let ended = ended.unwrap_or_else(Timestamp::now);
    let took = begun.and_then(|begun| ended.duration_since(begun).try_into().ok());
    took.map_or_else(|| "-".to_owned(), elapsed)
}

pub(super) fn since(at: &str) -> String {
    let at = at.parse::<Timestamp>().ok();
    let age = at.map(|at| Timestamp::now().duration_since(at).as_secs().max(0).unsigned_abs());
    match age {
        None => "-".to_owned(),
        Some(seconds @ 0..60) => format!("{seconds} s"),
        Some(seconds @ 60..3600) => format!("{} min", seconds / 60),
        Some(seconds @ 3600..172_800) => format!("{} h", seconds / 3600),
        Some(seconds) => format!("{} d", seconds / 86_400),
    }
}

/// One fact on one line.
#[must_use]
pub fn fact(line: &FactLine) -> String {
    let time = line.at.get(11..19).unwrap_or(&line.at);
    format!("{time}  {}\n", printable(&told(&line.fact), 4 * WIDTH))
}

fn told(fact: &Fact) -> String {
    let or = |text: &Option<String>, other: &str| text.clone().unwrap_or_else(|| other.to_owned());
    match fact {
        Fact::Started { backend_session_id: Some(id), .. } => format!("session {id}"),
        Fact::Started { backend_pid, .. } => {
            format!("started, pid {}", backend_pid.unwrap_or_default())
        }
        Fact::AssistantText { text, .. } => format!("says: {text}"),
        Fact::Reasoning { .. } => "thinks".to_owned(),
        Fact::ToolInvoked { tool, summary, .. } => {
            format!("{}: {}", or(tool, "tool"), or(summary, ""))
        }
        Fact::ToolResult { ok: true, .. } => "tool done".to_owned(),
        Fact::ToolResult { summary, .. } => format!("tool failed: {}", or(summary, "")),
        Fact::TaskStarted { task_id } => format!("background task {task_id} started"),
        Fact::TaskSettled { task_id, outcome } => {
            format!("background task {task_id}: {}", or(outcome, "settled"))
        }
        Fact::InteractionPending { interaction_id, kind, detail, outcome } => {
            let waits = if outcome.is_some() { ", and waits for an answer" } else { "" };
            format!("asks {interaction_id}: {}{waits}", interaction::words(*kind, detail))
        }
        Fact::InteractionResolved { interaction_id, outcome, decision, responder } => {
            let decision = decision.as_deref().and_then(Decision::named);
            let settled = interaction::settled(Some(*outcome), decision, responder.as_deref());
            format!("{interaction_id}: {settled}")
        }
        Fact::UsageReported { tokens, .. } => {
            format!("{} tokens", tokens.total.map_or_else(|| "?".to_owned(), count))
        }
        Fact::QuotaReported { windows } => format!("quota: {windows}"),
        Fact::BackendStatus { status: Activity::Retrying, attempt, .. } => {
            format!("provider retry {}", attempt.unwrap_or_default())
        }
        Fact::BackendStatus { status, .. } => format!("{status:?}").to_lowercase(),
        Fact::BackendError { payload, .. } => format!("error: {payload}"),
        Fact::OutputTruncated { stream, reason } => format!("{stream} was cut: {reason}"),
        Fact::ProcessExited { code: Some(code), .. } => format!("exited {code}"),
        Fact::ProcessExited { signal, .. } => {
            format!("ended by signal {}", signal.unwrap_or_default())
        }
        Fact::StreamClosed { reason } => format!("stream closed: {reason}"),
    }
}
