//! Where runs are counted. Admission and settlement are each one atomic step.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::caps::{CapKind, Caps, Cost};

/// One admitted run that has not been settled yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// A limit that left no room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(deny_unknown_fields)]
#[error("{name} is {limit}, and {used} are used", name = self.name())]
pub struct Exceeded {
    /// Which limit.
    pub cap: CapKind,
    /// Its value, in runs or tokens.
    pub limit: f64,
    /// What counts against it already, the estimates of runs under way included.
    pub used: f64,
    /// The configured rule behind it, in words: its key, whose sums, and the file that set it.
    pub rule: Option<String>,
}

impl Exceeded {
    fn name(&self) -> String {
        self.rule.clone().unwrap_or_else(|| self.cap.to_string())
    }
}

/// What counts against limits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Runs admitted.
    pub invocations: u64,
    /// Runs under way.
    pub concurrent: u64,
    /// Tokens spent, and reserved for the runs under way.
    pub cost: Cost,
}

impl Counted {
    /// Whether every limit leaves room for one run more, thought to cost `estimate`.
    ///
    /// # Errors
    /// The first limit that does not.
    #[expect(clippy::cast_precision_loss, reason = "for a message; limits are at most 2^53")]
    pub fn admits(&self, caps: &Caps, estimate: Cost) -> Result<(), Exceeded> {
        let count = |cap, limit: Option<u64>, used: u64| match limit {
            Some(limit) if used >= limit => {
                Err(Exceeded { cap, limit: limit as f64, used: used as f64, rule: None })
            }
            _ => Ok(()),
        };
        count(CapKind::Invocations, caps.max_invocations(), self.invocations)?;
        count(CapKind::Concurrent, caps.max_concurrent(), self.concurrent)?;
        let Some(limit) = caps.max_total_cost() else { return Ok(()) };
        // A spent limit admits nothing, not even a run that is estimated at nothing.
        if self.cost >= limit || self.cost.plus(estimate) > limit {
            let (limit, used) = (limit.tokens(), self.cost.tokens());
            return Err(Exceeded { cap: CapKind::TotalCost, limit, used, rule: None });
        }
        Ok(())
    }
}

/// Why no run was admitted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum AdmitError {
    /// A limit left no room.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// The sums could not be read or kept; without them nothing runs.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The ledger itself failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LedgerError {
    /// A ticket that was never handed out, or was settled before.
    #[error("ticket {} is not open", ticket.0)]
    NotOpen {
        /// The ticket.
        ticket: Ticket,
    },
    /// Its storage failed.
    #[error("ledger unavailable: {reason}")]
    Unavailable {
        /// In words.
        reason: String,
    },
    /// Its storage may not be written.
    #[error("the ledger cannot be written: {reason}")]
    Denied {
        /// In words.
        reason: String,
    },
}

/// Counts runs and what they cost.
pub trait Ledger: Send + Sync {
    /// Checks every limit and, if all leave room, counts the run and reserves its estimate.
    /// Nobody else's admission or settlement falls in between.
    ///
    /// # Errors
    /// [`AdmitError`]; nothing was counted.
    fn admit(&self, caps: &Caps, estimate: Cost) -> Result<Ticket, AdmitError>;

    /// Whether [`Ledger::admit`] would count the run now. It counts nothing, so that somebody else
    /// may be admitted first.
    ///
    /// # Errors
    /// [`AdmitError`].
    fn would_admit(&self, caps: &Caps, estimate: Cost) -> Result<(), AdmitError>;

    /// Ends a run: its estimate is released and `charge` is spent.
    ///
    /// # Errors
    /// [`LedgerError`]; the run still counts as under way.
    fn settle(&self, ticket: Ticket, charge: Cost) -> Result<(), LedgerError>;
}

/// A ledger that lasts as long as the process.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    invocations: u64,
    spent: Cost,
    /// Estimates of the runs under way.
    open: BTreeMap<Ticket, Cost>,
}

impl MemoryLedger {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs admitted so far.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.lock().invocations
    }

    /// Runs admitted and not settled.
    #[must_use]
    pub fn concurrent(&self) -> usize {
        self.lock().open.len()
    }

    /// What the settled runs were charged.
    #[must_use]
    pub fn spent(&self) -> Cost {
        self.lock().spent
    }

    /// No foreign code runs under the lock, so what a panic leaves behind is still whole.
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for MemoryLedger {
    fn admit(&self, caps: &Caps, estimate: Cost) -> Result<Ticket, AdmitError> {
        let mut sums = self.lock();
        sums.counted().admits(caps, estimate)?;
        sums.invocations += 1;
        let ticket = Ticket(sums.invocations);
        sums.open.insert(ticket, estimate);
        Ok(ticket)
    }

    fn would_admit(&self, caps: &Caps, estimate: Cost) -> Result<(), AdmitError> {
        Ok(self.lock().counted().admits(caps, estimate)?)
    }

    fn settle(&self, ticket: Ticket, charge: Cost) -> Result<(), LedgerError> {
        let mut sums = self.lock();
        sums.open.remove(&ticket).ok_or(LedgerError::NotOpen { ticket })?;
        sums.spent = sums.spent.plus(charge);
        Ok(())
    }
}

impl Sums {
    fn counted(&self) -> Counted {
        let cost = self.open.values().fold(self.spent, |sum, cost| sum.plus(*cost));
        let concurrent = self.open.len() as u64;
        Counted { invocations: self.invocations, concurrent, cost }
    }
}
