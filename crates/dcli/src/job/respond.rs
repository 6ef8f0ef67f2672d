//! `respond`: answers what a job asks, once, and sees that its worker took the answer.

use std::time::{Duration, Instant};

use dcli_core::fact::{InteractionKind, InteractionOutcome};
use dcli_core::interaction::{self, Answer, Decision, Interaction};
use dcli_core::job::answer::{Responded, SCHEMA_VERSION};
use dcli_core::job::id::{InteractionId, JobId};
use dcli_core::job::status::Status;

use super::cancel::refuse_newer;
use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use super::wait::{LOOK, Wake};
use crate::exec::stamp::now;
use crate::store::answers::{Answers, LONGEST, responder};
use crate::store::job_dir::JobDir;

/// What somebody decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// What it answers.
    pub interaction: InteractionId,
    /// `expired` is nobody's decision, and is refused.
    pub decision: Decision,
    /// Words for the agent, with a denial. It goes on then; without any its turn stops.
    pub message: Option<String>,
    /// The answer to a question: one text for each question in it.
    pub answers: Vec<String>,
}

/// Answers, and waits up to `limit` until the job's record has it. Of several who answer the same,
/// one is first, and the others hear of it.
///
/// ```no_run
/// use std::time::Duration;
///
/// use dcli::job::{Engine, Response, respond};
/// use dcli::model::interaction::Decision;
/// # use dcli::model::job::id::{InteractionId, JobId};
/// # fn example(engine: &Engine, id: &JobId, first: InteractionId) -> Result<(), dcli::job::JobError> {
/// let response = Response {
///     interaction: first,
///     decision: Decision::Deny,
///     message: Some("not on a Friday".to_owned()),
///     answers: Vec::new(),
/// };
/// let done = respond(engine, id, &response, Duration::from_secs(10))?;
/// println!("{:?} by {:?}", done.interaction.decision, done.interaction.responder);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job or the interaction does not exist; the answer does not fit; it cannot be answered any
/// more, or not from here; or the worker did not take it in time.
pub fn respond(
    engine: &Engine,
    id: &JobId,
    response: &Response,
    limit: Duration,
) -> Result<Responded, JobError> {
    refuse_shapeless(response)?;
    let dir = engine.find(id)?;
    let root = match engine.writing("an answer") {
        Err(JobError::Inside { message }) => {
            let message = format!("{message}: an agent does not answer for itself");
            return Err(JobError::Unanswerable { id: id.clone(), message });
        }
        other => other?,
    };
    let status = reconcile::status(engine, &dir)?;
    refuse_newer(&dir, &status)?;
    let asked = find(&status, &response.interaction)?;
    refuse_settled(&status, asked)?;
    refuse_unfit(asked, response)?;
    let answer = answer(response);
    let answers = Answers::of(&dir);
    let mut wake = Wake::new(std::slice::from_ref(&dir));
    let put = answers.put(&root, &response.interaction, &answer);
    match put.map_err(|source| JobError::io(answers.path(&response.interaction), source))? {
        true => {}
        false => return Err(taken(&answers, &response.interaction, id)),
    }
    let followed = follow(engine, &dir, &answer, (&mut wake, limit));
    if matches!(followed, Err(JobError::Unanswerable { .. })) {
        // Nobody took it, and nobody will: its words are not left behind.
        let _ = answers.clear(&root, &response.interaction);
    }
    followed
}

fn answer(response: &Response) -> Answer {
    Answer {
        schema_version: interaction::SCHEMA_VERSION,
        interaction_id: response.interaction.to_string(),
        decision: response.decision,
        message: response.message.clone(),
        answers: response.answers.clone(),
        responder: Some(responder(rustix::process::geteuid().as_raw())),
        at: now(),
    }
}

/// What is wrong whatever was asked.
fn refuse_shapeless(response: &Response) -> Result<(), JobError> {
    let usage = |message: &str| Err(JobError::Usage { message: message.to_owned() });
    let message = response.message.as_deref();
    if message.is_some() && response.decision != Decision::Deny {
        return usage("words for the agent (--message) go with deny alone");
    }
    if message.is_some_and(|message| message.trim().is_empty()) {
        return usage("the words for the agent (--message) are blank");
    }
    if !response.answers.is_empty() && response.decision != Decision::Answer {
        return usage("texts go with answer alone; words for the agent go with deny --message");
    }
    if response.decision == Decision::Expired {
        return usage("an answer is allow, allow-always, deny or answer");
    }
    let texts = response.answers.iter().map(String::as_str).chain(message);
    // What JSON makes of a text is at most six times as long.
    if texts.map(|text| text.len() as u64).sum::<u64>() > LONGEST / 8 {
        return usage("an answer has at most 128 KiB");
    }
    Ok(())
}

fn find<'s>(status: &'s Status, id: &InteractionId) -> Result<&'s Interaction, JobError> {
    status.interaction(id.as_str()).ok_or_else(|| JobError::NoInteraction {
        id: status.job_id.clone(),
        interaction: id.clone(),
    })
}

/// What is decided is decided.
fn refuse_settled(status: &Status, asked: &Interaction) -> Result<(), JobError> {
    let waits = asked.outcome == Some(InteractionOutcome::AwaitingAuthorizedResponder);
    if asked.is_open() && waits && !status.state.is_terminal() {
        return Ok(());
    }
    Err(unanswerable(status, asked))
}

fn unanswerable(status: &Status, asked: &Interaction) -> JobError {
    let who = asked.responder.as_deref().unwrap_or("the run itself");
    let what = match (asked.outcome, asked.decision) {
        (Some(InteractionOutcome::RejectedUnattended), _) => {
            "was rejected: the job is not attended".to_owned()
        }
        (Some(InteractionOutcome::DeniedByPolicy), _) => format!("was denied by {who}"),
        (Some(InteractionOutcome::PreAuthorized), _) => format!("was allowed by {who}"),
        // What is open when a job ends is closed by that.
        (_, Some(Decision::Expired)) if asked.resolved_at == status.finished_at => {
            format!("expired when the job ended, which is {}", status.state)
        }
        (_, Some(Decision::Expired)) => "expired: nobody answered in time".to_owned(),
        (_, Some(decision)) => format!("was answered by {who}: {}", word(decision)),
        (_, None) => "is decided by the run itself".to_owned(),
    };
    let message =
        format!("{} of job {} cannot be answered: it {what}", asked.interaction_id, status.job_id);
    JobError::Unanswerable { id: status.job_id.clone(), message }
}

/// Somebody was first.
fn taken(answers: &Answers, id: &InteractionId, job: &JobId) -> JobError {
    let what = match answers.get(id) {
        Ok(Some(Answer { decision: Decision::Expired, .. })) => "it expired".to_owned(),
        Ok(Some(first)) => {
            let who = first.responder.as_deref().unwrap_or("somebody");
            format!("it was answered by {who}: {}", word(first.decision))
        }
        Ok(None) | Err(_) => "somebody else answers it at this moment".to_owned(),
    };
    let message = format!("{id} of job {job} cannot be answered any more: {what}");
    JobError::Unanswerable { id: job.clone(), message }
}

/// The word of the command line for a decision.
fn word(decision: Decision) -> String {
    decision.name().replace('_', "-")
}

fn refuse_unfit(asked: &Interaction, response: &Response) -> Result<(), JobError> {
    let id = &asked.interaction_id;
    let usage = |message: String| Err(JobError::Usage { message });
    if !response.decision.fits(asked.kind) {
        return usage(match asked.kind {
            InteractionKind::Permission => {
                format!("{id} asks for leave: answer it with allow, allow-always or deny")
            }
            InteractionKind::Question => {
                format!("{id} is a question: answer it with answer TEXT, or with deny")
            }
        });
    }
    let questions = asked.detail["questions"].as_array().map_or(1, Vec::len);
    let given = response.answers.len();
    if response.decision == Decision::Answer && given != questions {
        let many = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let asks = many(questions, "question");
        let given = many(given, "text");
        return usage(format!("{id} asks {asks}, and {given} came: give one text for each"));
    }
    Ok(())
}

/// Waits until the record has what became of the answer.
fn follow(
    engine: &Engine,
    dir: &JobDir,
    answer: &Answer,
    (wake, limit): (&mut Wake, Duration),
) -> Result<Responded, JobError> {
    let began = Instant::now();
    let mut looked = Instant::now();
    let mut status: Status = dir.status().map_err(|error| JobError::record(dir.id(), error))?;
    loop {
        let asked = status.interaction(&answer.interaction_id);
        match asked.filter(|asked| !asked.is_open()) {
            // No other answer can have been put: what is decided like this one is this one.
            Some(asked) if asked.decision == Some(answer.decision) => {
                return Ok(Responded {
                    schema_version: SCHEMA_VERSION,
                    job_id: dir.id().clone(),
                    interaction: asked.clone(),
                });
            }
            Some(asked) => return Err(unanswerable(&status, asked)),
            None => {}
        }
        let left = limit.saturating_sub(began.elapsed());
        if left.is_zero() {
            let (id, interaction) = (dir.id().clone(), answer.interaction_id.clone());
            return Err(JobError::Untaken { id, interaction });
        }
        wake.sleep(left.min(LOOK));
        // Whether its worker lives is asked now and then.
        let read = match looked.elapsed() < LOOK {
            true => dir.status().map_err(|error| JobError::record(dir.id(), error)),
            false => {
                looked = Instant::now();
                reconcile::status(engine, dir)
            }
        };
        status = read?;
    }
}
