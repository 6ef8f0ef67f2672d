//! What a job waits for, told once to whoever waits for the job.

use std::collections::BTreeSet;

use dcli_core::job::id::JobId;
use dcli_core::job::status::Status;

use crate::report::interaction::{how, waiting, words};

/// What was told already.
#[derive(Default)]
pub(super) struct Told(BTreeSet<(JobId, String)>);

impl Told {
    /// What is new in `status`: what the job waits for, and the command that answers.
    pub(super) fn news(&mut self, status: &Status) -> Vec<String> {
        let job = &status.job_id;
        let new = waiting(status).filter(|asked| {
            let name = (job.clone(), asked.interaction_id.clone());
            self.0.insert(name)
        });
        let line = |asked: &dcli_core::interaction::Interaction| {
            let what = words(asked.kind, &asked.detail);
            let id = &asked.interaction_id;
            format!("dcli: {job} waits for an answer: {id} {what}; {}", how(job.as_str(), asked))
        };
        new.map(line).collect()
    }
}
