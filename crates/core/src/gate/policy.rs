//! What a host puts around every run: rules as code, and how their faults are read.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::choice::Layer;

/// One run on its way through the gate.
#[derive(Debug)]
pub struct Call<'a, Q> {
    /// Which executor.
    pub executor_id: &'a str,
    /// Which layer chose it.
    pub layer: Layer,
    /// The caller's name for this run.
    pub action_id: &'a str,
    /// What is asked.
    pub request: &'a Q,
}

/// A guard's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The run may go on.
    Allow,
    /// It may not. A blank reason is a malformed answer, which closes as well.
    Deny {
        /// Why, for the caller.
        reason: String,
    },
}

/// A guard that gave no answer. The gate stays closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GuardFault {
    /// The answer is neither an allow nor a deny with a reason.
    #[error("the guard's answer is malformed")]
    Malformed,
    /// It could not judge.
    #[error("the guard could not judge: {reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

/// The only answers that are read: `{"verdict":"allow"}`, `{"verdict":"deny","reason":"…"}`.
#[derive(Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case", deny_unknown_fields)]
enum Answer {
    // With braces, so that a key beside it is refused here too.
    Allow {},
    Deny { reason: String },
}

impl Verdict {
    /// Reads the answer of a guard outside this process.
    ///
    /// # Errors
    /// [`GuardFault::Malformed`] for anything but the two shapes, whatever a reader might guess.
    pub fn read(answer: &Value) -> Result<Self, GuardFault> {
        match Answer::deserialize(answer) {
            Ok(Answer::Allow {}) => Ok(Self::Allow),
            Ok(Answer::Deny { reason }) => Self::Deny { reason }.checked(),
            Err(_) => Err(GuardFault::Malformed),
        }
    }

    pub(super) fn checked(self) -> Result<Self, GuardFault> {
        match &self {
            Self::Deny { reason } if reason.trim().is_empty() => Err(GuardFault::Malformed),
            _ => Ok(self),
        }
    }
}

/// Why `around` gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AroundFault {
    /// It tried to run the executor again.
    #[error("a run proceeds once")]
    ProceededTwice,
    /// It gave up.
    #[error("{reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

/// The way on from `around` to the executor; it opens once.
pub trait Proceed<R> {
    /// Runs the executor.
    ///
    /// # Errors
    /// [`AroundFault::ProceededTwice`] from the second call on; nothing is run.
    fn proceed(&mut self) -> Result<R, AroundFault>;
}

/// A host's rules. Only the guard has no default: an allow is always explicit.
pub trait Policy<Q, R>: Send + Sync {
    /// Looks at the request before anybody judges it.
    ///
    /// # Errors
    /// The reason for which it is refused. A panic refuses as well.
    fn pre(&self, _call: &Call<'_, Q>) -> Result<(), String> {
        Ok(())
    }

    /// Allows or denies. A panic, a fault and a deny without a reason all close.
    ///
    /// # Errors
    /// [`GuardFault`]
    fn guard(&self, call: &Call<'_, Q>) -> Result<Verdict, GuardFault>;

    /// Stands around the run: proceeds at most once, and answers for the result.
    ///
    /// # Errors
    /// [`AroundFault`]; the run is charged nevertheless.
    fn around(&self, _call: &Call<'_, Q>, proceed: &mut dyn Proceed<R>) -> Result<R, AroundFault> {
        proceed.proceed()
    }

    /// Sees the result after it was charged; it can change nothing. A panic is logged.
    fn post(&self, _call: &Call<'_, Q>, _result: &R) {}
}

/// The policy of a host without rules, chosen by name.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl<Q, R> Policy<Q, R> for AllowAll {
    fn guard(&self, _: &Call<'_, Q>) -> Result<Verdict, GuardFault> {
        Ok(Verdict::Allow)
    }
}
