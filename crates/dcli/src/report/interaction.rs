//! What jobs ask, for people: in a few words, in a table, and with the words that answer it.

use dcli_core::fact::{InteractionKind, InteractionOutcome};
use dcli_core::interaction::{Decision, Interaction};
use dcli_core::job::answer::JobInteraction;
use dcli_core::job::status::Status;
use serde_json::Value;

use super::human::printable;
use super::job::since;
use super::paint::Tone;
use super::table::{Cell, Table};

/// The most characters of what is asked, where it stands beside other things.
const WIDTH: usize = 60;
/// The same in a line of its own.
const LINE: usize = 400;

/// What is asked, in a few words: `bash (git push)`, or the first question.
#[must_use]
pub fn words(kind: InteractionKind, detail: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if kind == InteractionKind::Question {
        let first = text(&detail["questions"][0]["question"]);
        return first.unwrap_or_else(|| "a question".to_owned());
    }
    let name = text(&detail["permission"]).unwrap_or_else(|| "a permission".to_owned());
    let patterns = detail["patterns"].as_array().into_iter().flatten().filter_map(text);
    match patterns.collect::<Vec<_>>() {
        patterns if patterns.is_empty() => name,
        patterns => format!("{name} ({})", patterns.join(", ")),
    }
}

/// What a job waits for an answer to.
pub fn waiting(status: &Status) -> impl Iterator<Item = &Interaction> {
    let is_over = status.state.is_terminal();
    status.interactions.iter().filter(move |asked| !is_over && awaits(asked))
}

fn awaits(asked: &Interaction) -> bool {
    asked.is_open() && asked.outcome == Some(InteractionOutcome::AwaitingAuthorizedResponder)
}

/// What a job waits for, on a part of a line: `i1 bash (git push)`; of several the first, and how
/// many more.
#[must_use]
pub fn waits_for(status: &Status) -> Option<String> {
    let mut open = waiting(status);
    let first = open.next()?;
    let asked = printable(&words(first.kind, &first.detail), WIDTH);
    let more = match open.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("waits for an answer: {} {asked}{more}", first.interaction_id))
}

/// The command that answers, with its choices.
#[must_use]
pub fn how(job: &str, asked: &Interaction) -> String {
    let id = &asked.interaction_id;
    match asked.kind {
        InteractionKind::Permission => {
            format!("dcli respond {job} {id} allow|allow-always|deny [--message TEXT]")
        }
        InteractionKind::Question => {
            let questions = asked.detail["questions"].as_array().map_or(1, Vec::len);
            let texts = " TEXT".repeat(questions.clamp(1, 9));
            format!("dcli respond {job} {id} answer{texts}, or deny")
        }
    }
}

/// What was asked, under a head; below it how each that is open is answered.
#[must_use]
pub fn table(asked: &[JobInteraction]) -> String {
    if asked.is_empty() {
        return "nothing is asked\n".to_owned();
    }
    let mut table = Table::new(["JOB", "ID", "KIND", "AGE", "WHAT", "STATE"]);
    for JobInteraction { job_id, interaction } in asked {
        let (state, tone) = match awaits(interaction) {
            true => ("waits for an answer".to_owned(), Tone::Notice),
            false => (outcome(interaction), Tone::Plain),
        };
        table.row([
            Cell::from(job_id.as_str()),
            Cell::from(interaction.interaction_id.as_str()),
            Cell::from(kind(interaction.kind)),
            Cell::from(since(&interaction.created_at)),
            Cell::from(printable(&words(interaction.kind, &interaction.detail), WIDTH)),
            Cell::toned(&state, tone),
        ]);
    }
    let open = asked.iter().filter(|asked| awaits(&asked.interaction));
    let shown = open.map(|asked| detail(asked.job_id.as_str(), &asked.interaction));
    table.text() + &shown.collect::<String>()
}

/// All that a person needs to decide, and the command to do it with.
fn detail(job: &str, asked: &Interaction) -> String {
    let mut text = format!("\n{} of {job}", asked.interaction_id);
    let mut line = |prefix: &str, words: &str| {
        text.push_str(&format!("\n  {prefix}{}", printable(words, LINE)));
    };
    match asked.kind {
        InteractionKind::Permission => line("", &words(asked.kind, &asked.detail)),
        InteractionKind::Question => {
            for question in asked.detail["questions"].as_array().into_iter().flatten() {
                line("", question["question"].as_str().unwrap_or("?"));
                for option in question["options"].as_array().into_iter().flatten() {
                    let label = option["label"].as_str().unwrap_or("?");
                    let more = option["description"].as_str().filter(|more| !more.is_empty());
                    let more = more.map(|more| format!(": {more}")).unwrap_or_default();
                    line("- ", &format!("{label}{more}"));
                }
            }
        }
    }
    line("→ ", &how(job, asked));
    text.push('\n');
    text
}

/// What became of it, on one line.
#[must_use]
pub fn decided(asked: &Interaction) -> String {
    let what = printable(&words(asked.kind, &asked.detail), LINE);
    format!("{} {what}: {}\n", asked.interaction_id, printable(&outcome(asked), LINE))
}

fn outcome(asked: &Interaction) -> String {
    settled(asked.outcome, asked.decision, asked.responder.as_deref())
}

/// How it was dealt with, and by whom.
#[must_use]
pub fn settled(
    outcome: Option<InteractionOutcome>,
    decision: Option<Decision>,
    responder: Option<&str>,
) -> String {
    let what = match (decision, outcome) {
        (_, Some(InteractionOutcome::RejectedUnattended)) => "rejected, nobody is there",
        (Some(Decision::Allow), _) => "allowed",
        (Some(Decision::AllowAlways), _) => "allowed for the rest of the job",
        (Some(Decision::Deny), _) => "denied",
        (Some(Decision::Answer), _) => "answered",
        (Some(Decision::Expired), _) => "no answer in time",
        (None, Some(InteractionOutcome::DeniedByPolicy)) => "denied",
        (None, Some(InteractionOutcome::PreAuthorized)) => "allowed",
        (None, _) => "open",
    };
    responder.map_or_else(|| what.to_owned(), |who| format!("{what} by {who}"))
}

fn kind(kind: InteractionKind) -> &'static str {
    match kind {
        InteractionKind::Permission => "permission",
        InteractionKind::Question => "question",
    }
}
