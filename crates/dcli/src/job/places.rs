//! A place for one job: taken at once where one is free and nobody older waits for it, else waited for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Limits;
use crate::store::job_dir::JobDir;
use crate::store::queue::{self, AdmissionError};
use crate::store::root::WritableRoot;
use crate::store::slots::{self, SlotGuard, SlotLimits, Turn, Waiter, pause};

/// The way of one job to its place.
pub(super) struct Places {
    root: WritableRoot,
    limits: SlotLimits,
    dir: JobDir,
    backend: String,
    waiter: Option<Waiter>,
}

impl Places {
    pub(super) fn new(root: WritableRoot, limits: &Limits, dir: JobDir, backend: &str) -> Self {
        let limits = slot_limits(limits);
        Self { root, limits, dir, backend: backend.to_owned(), waiter: None }
    }

    /// A free place that nobody older waits for.
    pub(super) fn take_now(&self) -> Result<Option<SlotGuard>, AdmissionError> {
        match slots::take_now(&self.root, &self.limits, &self.backend)? {
            Turn::Taken(place) => Ok(Some(place)),
            Turn::Wait { .. } => Ok(None),
        }
    }

    /// A place, if it is this job's turn; else how long to wait until the next try. The first try
    /// puts the job at the end of the queue.
    pub(super) fn take_in_turn(&mut self) -> Result<Result<SlotGuard, Duration>, AdmissionError> {
        let waiter = match &mut self.waiter {
            Some(waiter) => waiter,
            None => {
                let entry = queue::enter(&self.root, &self.dir, &self.backend)?;
                let waiter = Waiter::new(&self.root, self.limits.clone(), entry)?;
                self.waiter.insert(waiter)
            }
        };
        Ok(match waiter.try_take(&self.root)? {
            Turn::Taken(place) => Ok(place),
            Turn::Wait { ahead } => Err(pause(ahead)),
        })
    }

    /// Gives the turn up.
    pub(super) fn leave(&self) -> Result<(), AdmissionError> {
        queue::leave(&self.root, self.dir.id())
    }
}

/// A place for a job that is not made yet; what is said where there is none.
pub(super) fn take_ahead(
    root: &WritableRoot,
    limits: &Limits,
    backend: &str,
) -> Result<Result<SlotGuard, String>, AdmissionError> {
    let limits = slot_limits(limits);
    Ok(match slots::take_now(root, &limits, backend)? {
        Turn::Taken(place) => Ok(place),
        Turn::Wait { ahead } => {
            let waiting = match ahead {
                0 => String::new(),
                1 => "; 1 job waits before it".to_owned(),
                more => format!("; {more} jobs wait before it"),
            };
            Err(format!(
                "all places are taken: {} jobs in all and {} of backend {backend} may run at the \
                 same time{waiting}",
                limits.global,
                limits.of(backend),
            ))
        }
    })
}

fn slot_limits(limits: &Limits) -> SlotLimits {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let own = limits.backend.keys().map(|id| (id.clone(), count(limits.of_backend(id))));
    SlotLimits {
        global: count(limits.max_jobs),
        per_backend: count(limits.max_jobs_per_backend.min(limits.max_jobs)),
        backends: own.collect::<BTreeMap<_, _>>(),
    }
}
