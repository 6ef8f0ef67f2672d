//! `dcli respond`: answers what a job asks, and sees that its worker took the answer.

use dcli_core::job::answer::Responded;

use super::answer;
use super::args_of_answers::Respond;
use super::engine::engine_that_starts_nothing;
use crate::job::{Response, respond};
use crate::report::interaction;

/// Runs the subcommand; its answer is the exit code: 0 once the job's record has the answer.
pub(super) fn run(args: Respond) -> u8 {
    let Respond { id, interaction, decision, texts, message, timeout_sec, json } = args;
    let response = Response { interaction, decision: decision.decision(), message, answers: texts };
    let responded = engine_that_starts_nothing().and_then(|engine| {
        respond(&engine, &id, &response, timeout_sec).map_err(|error| error.report())
    });
    match responded {
        Ok(responded) => answer::give(json, &responded, |responded: &Responded| {
            interaction::decided(&responded.interaction)
        }),
        Err(report) => answer::fail(json, &report),
    }
}
