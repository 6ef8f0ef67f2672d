//! Answers on their way: what does not come through is sent again.

use dcli_core::fact::InteractionKind;
use dcli_core::interaction::Verdict;
use serde_json::{Value, json};

use super::super::fault::{Fault, Stage};
use super::super::link::refused;
use super::super::operations as ops;
use super::Watch;

impl Watch {
    /// Sends what was not sent yet; what does not come through stays. Sent twice it is refused as
    /// unknown, which is as good.
    pub(super) fn send(&mut self) -> Result<(), Fault> {
        for (kind, reply) in std::mem::take(&mut self.outbox) {
            let (operation, body) = answer(kind, &reply.verdict);
            match self.link.attempt(operation, &reply.key, body.as_ref()) {
                Ok(Some(_)) => {}
                Ok(None) => self.outbox.push((kind, reply)),
                Err(error) if error.status() == Some(404) => {}
                Err(error) => return Err(refused(error, Stage::Work)),
            }
        }
        Ok(())
    }
}

/// What an answer is sent by.
fn answer(kind: InteractionKind, verdict: &Verdict) -> (&'static ops::Operation, Option<Value>) {
    match (kind, verdict) {
        (InteractionKind::Question, Verdict::Answer(answers)) => {
            let answers: Vec<[&String; 1]> = answers.iter().map(|answer| [answer]).collect();
            (&ops::ANSWER_QUESTION, Some(json!({"answers": answers})))
        }
        (InteractionKind::Question, _) => (&ops::REJECT_QUESTION, None),
        (_, Verdict::Allow) => (&ops::ANSWER_PERMISSION, Some(json!({"reply": "once"}))),
        (_, Verdict::Deny(Some(words))) if !words.is_empty() => {
            (&ops::ANSWER_PERMISSION, Some(json!({"reply": "reject", "message": words})))
        }
        _ => (&ops::ANSWER_PERMISSION, Some(json!({"reply": "reject"}))),
    }
}
