//! Places for running jobs: so many in all, so many for each backend, each held by a lock for life.
//!
//! Free places go to waiting jobs in the order of their turns. A younger job takes one only where
//! every older one that could run now keeps a place for itself.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dcli_core::job::id::JobId;

use super::layout;
use super::lease::Lease;
use super::lock::Lock;
use super::queue::{self, AdmissionError, Entry};
use super::root::WritableRoot;

/// The pause of whoever is next, between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
/// While no place is free, so many of those ahead are looked at; of the rest it is only known that
/// they are in the queue.
const NEAR: usize = 8;
/// The longest pause, far behind.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How many jobs may run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotLimits {
    /// In all.
    pub global: usize,
    /// For each backend that has no limit of its own.
    pub per_backend: usize,
    /// For these backends.
    pub backends: BTreeMap<String, usize>,
}

impl SlotLimits {
    /// For one backend.
    #[must_use]
    pub fn of(&self, backend: &str) -> usize {
        self.backends.get(backend).copied().unwrap_or(self.per_backend)
    }
}

/// A place, held as long as the value.
#[derive(Debug)]
pub struct SlotGuard {
    _slots: Vec<Lease>,
}

/// What came of a try.
#[derive(Debug)]
pub enum Turn {
    /// It may run.
    Taken(SlotGuard),
    /// It has to wait.
    Wait {
        /// How many are likely to run before it.
        ahead: usize,
    },
}

/// How long to wait until the next try, with so many ahead.
#[must_use]
pub fn pause(ahead: usize) -> Duration {
    let factor = u32::try_from(ahead.saturating_add(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

/// A waiting job that tries for a place again and again.
#[derive(Debug)]
pub struct Waiter {
    limits: SlotLimits,
    me: Entry,
    /// Turns never change: who was older stays older, and nobody older comes after.
    older: Vec<Entry>,
}

impl Waiter {
    /// For the job whose entry this is.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn new(root: &WritableRoot, limits: SlotLimits, me: Entry) -> Result<Self, AdmissionError> {
        let mut older = queue::waiting(root)?;
        older.retain(|entry| entry.order < me.order && entry.job_id != me.job_id);
        Ok(Self { limits, me, older })
    }

    /// Takes a place if it is this job's turn, and its entry out of the queue.
    ///
    /// # Errors
    /// See [`AdmissionError`].
    pub fn try_take(&mut self, root: &WritableRoot) -> Result<Turn, AdmissionError> {
        let _admission = Lock::take(&layout::admission_lock(root.path()))?;
        let names: HashSet<JobId> = queue::names(root)?.into_iter().collect();
        self.older.retain(|entry| names.contains(&entry.job_id));
        let turn = decide(root, &self.limits, &self.me.backend, &self.older)?;
        if matches!(turn, Turn::Taken(_)) {
            queue::leave(root, &self.me.job_id)?;
        }
        Ok(turn)
    }
}

/// Takes a place for a job that does not wait, unless somebody who waits could have it.
///
/// # Errors
/// See [`AdmissionError`].
pub fn take_now(
    root: &WritableRoot,
    limits: &SlotLimits,
    backend: &str,
) -> Result<Turn, AdmissionError> {
    let _admission = Lock::take(&layout::admission_lock(root.path()))?;
    decide(root, limits, backend, &queue::waiting(root)?)
}

/// One of the places that the live descendants of one job share; `None`: all are taken.
///
/// # Errors
/// A slot cannot be opened.
pub fn take_descendant(
    root: &WritableRoot,
    root_job: &JobId,
    most: usize,
) -> Result<Option<Lease>, AdmissionError> {
    let directory = layout::descendants(root.path(), root_job);
    for number in 0..most {
        let path = directory.join(number.to_string());
        let taken = slot(&path).map_err(|source| AdmissionError::Io { path, source })?;
        if taken.is_some() {
            return Ok(taken);
        }
    }
    Ok(None)
}

/// Slots of one kind: files `<prefix><n>`, of which at most so many may be held.
struct Pool {
    /// Free slots, held for the moment.
    free: Vec<Lease>,
}

impl Pool {
    /// Others may know another limit: every slot that is held counts, also beyond this one.
    fn look(directory: PathBuf, prefix: &str, limit: usize) -> Result<Self, AdmissionError> {
        let (mut free, mut held) = (Vec::new(), 0_usize);
        for number in 0_usize.. {
            let path = directory.join(format!("{prefix}{number}"));
            if number >= limit && !path.exists() {
                break;
            }
            match slot(&path).map_err(|source| AdmissionError::Io { path, source })? {
                Some(slot) if number < limit => free.push(slot),
                Some(_) => {}
                None => held += 1,
            }
        }
        free.truncate(limit.saturating_sub(held));
        Ok(Self { free })
    }
}

fn slot(path: &Path) -> std::io::Result<Option<Lease>> {
    match Lease::take(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            layout::make_private(path.parent().unwrap_or(Path::new(".")))?;
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
            Lease::take(path)
        }
        taken => taken,
    }
}

/// Gives places away in the order of turns, and sees whether one is left.
fn decide(
    root: &WritableRoot,
    limits: &SlotLimits,
    backend: &str,
    older: &[Entry],
) -> Result<Turn, AdmissionError> {
    let directory = layout::slots(root.path());
    let mut global = Pool::look(directory.clone(), "global-", limits.global)?;
    let pool = |backend: &str| {
        Pool::look(directory.clone(), &format!("backend-{backend}-"), limits.of(backend))
    };
    let mut pools = BTreeMap::new();
    if !global.free.is_empty() {
        pools.insert(backend.to_owned(), pool(backend)?);
    }
    let mut ahead: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, entry) in older.iter().enumerate() {
        let is_looked_at = !global.free.is_empty() || index < NEAR;
        if is_looked_at && !entry.is_live(root) {
            continue;
        }
        if !global.free.is_empty() {
            if !pools.contains_key(&entry.backend) {
                pools.insert(entry.backend.clone(), pool(&entry.backend)?);
            }
            if pools.get_mut(&entry.backend).and_then(|pool| pool.free.pop()).is_some() {
                global.free.pop();
            }
        }
        *ahead.entry(&entry.backend).or_default() += 1;
    }
    let mine = pools.get_mut(backend).and_then(|pool| pool.free.pop());
    match (global.free.pop(), mine) {
        (Some(global), Some(mine)) => Ok(Turn::Taken(SlotGuard { _slots: vec![global, mine] })),
        _ => Ok(Turn::Wait { ahead: likely(&ahead, limits, backend) }),
    }
}

/// Everybody who waits for the same backend runs before; of another backend, as many as it can
/// run at once.
fn likely(ahead: &BTreeMap<&str, usize>, limits: &SlotLimits, backend: &str) -> usize {
    let count = |(name, count): (&&str, &usize)| {
        if *name == backend { *count } else { limits.of(name).min(*count) }
    };
    ahead.iter().map(count).sum()
}
