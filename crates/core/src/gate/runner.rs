//! One run through the gate, and the runner that a caller gets instead of the executor.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use thiserror::Error;

use super::caps::{Caps, Cost};
use super::choice::{Choice, Layer};
use super::ledger::{AdmitError, Exceeded, Ledger, LedgerError, Ticket};
use super::log::{Event, LOG_SCHEMA, Log, LogRecord};
use super::policy::{AroundFault, Call, GuardFault, Policy, Proceed, Verdict};

/// What does the work.
pub trait Execute<Q, R>: Send + Sync {
    /// What the run is thought to cost, before it is admitted.
    fn estimate(&self, _request: &Q) -> Cost {
        Cost::ZERO
    }

    /// Does it.
    fn run(&self, request: &Q) -> R;

    /// What it cost, if the result says so.
    fn actual(&self, _result: &R) -> Option<Cost> {
        None
    }
}

/// Why the gate gave no result.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// Pre refused the request.
    #[error("request refused: {reason}")]
    Invalid {
        /// Why.
        reason: String,
    },
    /// The guard denied.
    #[error("denied: {reason}")]
    Denied {
        /// Why.
        reason: String,
    },
    /// Pre or the guard panicked; that is no allow.
    #[error("the guard panicked")]
    GuardPanicked,
    /// The guard gave no answer; that is no allow.
    #[error(transparent)]
    Guard(GuardFault),
    /// A limit left no room.
    #[error("cap exceeded: {0}")]
    CapExceeded(Exceeded),
    /// The sums could not be read or kept.
    #[error(transparent)]
    Ledger(LedgerError),
    /// `around` gave no result. Alone among the refusals this one may come after a run.
    #[error(transparent)]
    Around(AroundFault),
}

/// A run that went through.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed<R> {
    /// What it gave.
    pub result: R,
    /// What was charged; an error means that the ledger still holds the run as under way.
    pub settled: Result<Cost, LedgerError>,
}

/// Caps, ledger, policy and log, shared by every runner made from it.
pub struct Gate<Q, R> {
    caps: Caps,
    ledger: Arc<dyn Ledger>,
    policy: Arc<dyn Policy<Q, R>>,
    log: Arc<dyn Log>,
}

impl<Q, R> Clone for Gate<Q, R> {
    fn clone(&self) -> Self {
        let (ledger, policy) = (Arc::clone(&self.ledger), Arc::clone(&self.policy));
        Self { caps: self.caps, ledger, policy, log: Arc::clone(&self.log) }
    }
}

impl<Q, R> Gate<Q, R> {
    /// A gate with these limits; the sums are the ledger's, so gates may share one.
    pub fn new(
        caps: Caps,
        ledger: Arc<dyn Ledger>,
        policy: Arc<dyn Policy<Q, R>>,
        log: Arc<dyn Log>,
    ) -> Self {
        Self { caps, ledger, policy, log }
    }

    /// Whether the limits leave room for one run now, thought to cost `estimate`. It counts nothing:
    /// the run itself may still be refused.
    ///
    /// # Errors
    /// [`Refusal::CapExceeded`] or [`Refusal::Ledger`].
    pub fn would_admit(&self, estimate: Cost) -> Result<(), Refusal> {
        self.ledger.would_admit(&self.caps, estimate).map_err(|error| match error {
            AdmitError::Exceeded(exceeded) => Refusal::CapExceeded(exceeded),
            AdmitError::Ledger(error) => Refusal::Ledger(error),
        })
    }

    /// Closes the executor over. Nobody gets at it again but through the gate.
    pub fn runner(&self, choice: Choice, executor: impl Execute<Q, R> + 'static) -> Runner<Q, R> {
        Runner { gate: self.clone(), choice, executor: Box::new(executor) }
    }
}

/// Runs one executor, each time through the gate.
pub struct Runner<Q, R> {
    gate: Gate<Q, R>,
    choice: Choice,
    executor: Box<dyn Execute<Q, R>>,
}

impl<Q, R> fmt::Debug for Runner<Q, R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Runner").field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl<Q, R> Runner<Q, R> {
    /// Which executor this is.
    #[must_use]
    pub fn executor_id(&self) -> &str {
        &self.choice.executor_id
    }

    /// Which layer chose it.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.choice.layer
    }

    /// One run. A panic of the executor or of `around` goes on to the caller once it is charged.
    ///
    /// # Errors
    /// [`Refusal`]; but for [`Refusal::Around`] nothing was started and nothing counted.
    pub fn run(&self, action_id: &str, request: &Q) -> Result<Passed<R>, Refusal> {
        let (executor_id, layer) = (self.executor_id(), self.layer());
        let call = Call { executor_id, layer, action_id, request };
        let estimate = self.executor.estimate(request);
        self.log(&call, Event::Requested { estimate });
        if let Err(refusal) = self.judge(&call) {
            self.log(&call, Event::Denied { reason: refusal.to_string() });
            return Err(refusal);
        }
        let admission = self.admit(&call, estimate)?;
        let mut way = Way { executor: &*self.executor, request, admission: &admission };
        let ran = catch_unwind(AssertUnwindSafe(|| self.gate.policy.around(&call, &mut way)));
        let settled = self.settle(&call, admission, matches!(ran, Ok(Ok(_))));
        let result = ran.unwrap_or_else(|panic| resume_unwind(panic)).map_err(Refusal::Around)?;
        let post = catch_unwind(AssertUnwindSafe(|| self.gate.policy.post(&call, &result)));
        if post.is_err() {
            self.log(&call, Event::PostFailed);
        }
        Ok(Passed { result, settled })
    }

    fn judge(&self, call: &Call<'_, Q>) -> Result<(), Refusal> {
        let policy = &self.gate.policy;
        let judged = catch_unwind(AssertUnwindSafe(|| {
            policy.pre(call).map_err(|reason| Refusal::Invalid { reason })?;
            policy.guard(call).and_then(Verdict::checked).map_err(Refusal::Guard)
        }));
        match judged {
            Err(_) => Err(Refusal::GuardPanicked),
            Ok(Err(refusal)) => Err(refusal),
            Ok(Ok(Verdict::Deny { reason })) => Err(Refusal::Denied { reason }),
            Ok(Ok(Verdict::Allow)) => Ok(()),
        }
    }

    fn admit(&self, call: &Call<'_, Q>, estimate: Cost) -> Result<Admission<'_>, Refusal> {
        let ledger = &*self.gate.ledger;
        match ledger.admit(&self.gate.caps, estimate) {
            Ok(ticket) => {
                let admission = Admission::new(ledger, ticket, estimate);
                self.log(call, Event::Admitted { estimate });
                Ok(admission)
            }
            Err(AdmitError::Exceeded(exceeded)) => {
                self.log(call, Event::CapExceeded { exceeded: exceeded.clone() });
                Err(Refusal::CapExceeded(exceeded))
            }
            Err(AdmitError::Ledger(error)) => {
                self.log(call, Event::LedgerFailed { reason: error.to_string() });
                Err(Refusal::Ledger(error))
            }
        }
    }

    fn settle(
        &self,
        call: &Call<'_, Q>,
        admission: Admission<'_>,
        completed: bool,
    ) -> Result<Cost, LedgerError> {
        let (actual, proceeded) = (admission.actual.get(), admission.proceeded.get());
        let settled = admission.settle();
        self.log(
            call,
            match &settled {
                Ok(charge) => Event::Settled { charge: *charge, actual, proceeded, completed },
                Err(error) => Event::SettleFailed { reason: error.to_string() },
            },
        );
        settled
    }

    fn log(&self, call: &Call<'_, Q>, event: Event) {
        let record = LogRecord {
            schema_version: LOG_SCHEMA,
            executor_id: call.executor_id.to_owned(),
            layer: call.layer,
            action_id: call.action_id.to_owned(),
            event,
        };
        // A log that fails must neither stop a run nor leave an admitted one unsettled.
        let _ = catch_unwind(AssertUnwindSafe(|| self.gate.log.write(&record)));
    }
}

/// An admitted run. It settles when it is dropped, so no way out leaves it open.
struct Admission<'g> {
    ledger: &'g dyn Ledger,
    ticket: Option<Ticket>,
    estimate: Cost,
    actual: Cell<Option<Cost>>,
    proceeded: Cell<bool>,
}

impl<'g> Admission<'g> {
    fn new(ledger: &'g dyn Ledger, ticket: Ticket, estimate: Cost) -> Self {
        let (actual, proceeded) = (Cell::new(None), Cell::new(false));
        Self { ledger, ticket: Some(ticket), estimate, actual, proceeded }
    }

    fn settle(mut self) -> Result<Cost, LedgerError> {
        self.close()
    }

    fn close(&mut self) -> Result<Cost, LedgerError> {
        let charge = self.actual.get().unwrap_or(Cost::ZERO).max(self.estimate);
        match self.ticket.take() {
            Some(ticket) => self.ledger.settle(ticket, charge).map(|()| charge),
            None => Ok(charge),
        }
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        // Only a panic leads here with the ticket still in hand; there is nobody left to tell.
        let _ = self.close();
    }
}

/// The way from `around` to the executor.
struct Way<'w, 'g, Q, R> {
    executor: &'w dyn Execute<Q, R>,
    request: &'w Q,
    admission: &'w Admission<'g>,
}

impl<Q, R> Proceed<R> for Way<'_, '_, Q, R> {
    fn proceed(&mut self) -> Result<R, AroundFault> {
        if self.admission.proceeded.replace(true) {
            return Err(AroundFault::ProceededTwice);
        }
        let result = self.executor.run(self.request);
        self.admission.actual.set(self.executor.actual(&result));
        Ok(result)
    }
}
