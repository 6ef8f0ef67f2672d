//! Limits and the amounts that count against them.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Whole numbers up to here are exact as a floating-point number (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An amount of tokens: finite and not negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Cost(f64);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// # Errors
    /// [`CapError::Unfit`] for NaN, an infinite or a negative amount.
    pub fn new(tokens: f64) -> Result<Self, CapError> {
        if tokens.is_finite() && tokens >= 0.0 {
            // Adding zero turns a negative zero into a plain one.
            return Ok(Self(tokens + 0.0));
        }
        Err(CapError::Unfit { cap: CapKind::TotalCost })
    }

    /// The amount, in tokens.
    #[must_use]
    pub fn tokens(self) -> f64 {
        self.0
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The sum; an amount too large to be written stays the largest one that can be.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(f64::MAX))
    }
}

impl TryFrom<f64> for Cost {
    type Error = CapError;

    fn try_from(tokens: f64) -> Result<Self, CapError> {
        Self::new(tokens)
    }
}

impl From<Cost> for f64 {
    fn from(cost: Cost) -> Self {
        cost.0
    }
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapKind {
    /// `max_invocations`
    Invocations,
    /// `max_total_cost`
    TotalCost,
    /// `max_concurrent`
    Concurrent,
}

impl fmt::Display for CapKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Invocations => "max_invocations",
            Self::TotalCost => "max_total_cost",
            Self::Concurrent => "max_concurrent",
        })
    }
}

/// Why a number is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CapError {
    /// NaN, infinite or negative.
    #[error("{cap} must be a finite number, 0 or more")]
    Unfit {
        /// The limit.
        cap: CapKind,
    },
    /// A number of runs that is not whole, or beyond 2^53.
    #[error("{cap} must be a whole number")]
    NotWhole {
        /// The limit.
        cap: CapKind,
    },
}

/// Limits; an absent one is no limit, and 0 admits nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub struct Caps {
    max_invocations: Option<u64>,
    max_total_cost: Option<Cost>,
    max_concurrent: Option<u64>,
}

/// Limits as they are written.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    max_invocations: Option<f64>,
    max_total_cost: Option<f64>,
    max_concurrent: Option<f64>,
}

impl Caps {
    /// No limit at all.
    pub const UNLIMITED: Self =
        Self { max_invocations: None, max_total_cost: None, max_concurrent: None };

    /// With at most this many runs in all.
    ///
    /// # Errors
    /// [`CapError`] for what is no whole number, 0 or more.
    pub fn with_max_invocations(self, runs: f64) -> Result<Self, CapError> {
        Ok(Self { max_invocations: Some(whole(CapKind::Invocations, runs)?), ..self })
    }

    /// With at most this many tokens in all.
    ///
    /// # Errors
    /// [`CapError::Unfit`]
    pub fn with_max_total_cost(self, tokens: f64) -> Result<Self, CapError> {
        Ok(Self { max_total_cost: Some(Cost::new(tokens)?), ..self })
    }

    /// With at most this many runs at the same time.
    ///
    /// # Errors
    /// [`CapError`] for what is no whole number, 0 or more.
    pub fn with_max_concurrent(self, runs: f64) -> Result<Self, CapError> {
        Ok(Self { max_concurrent: Some(whole(CapKind::Concurrent, runs)?), ..self })
    }

    /// The most runs in all.
    #[must_use]
    pub fn max_invocations(&self) -> Option<u64> {
        self.max_invocations
    }

    /// The most tokens in all.
    #[must_use]
    pub fn max_total_cost(&self) -> Option<Cost> {
        self.max_total_cost
    }

    /// The most runs at the same time.
    #[must_use]
    pub fn max_concurrent(&self) -> Option<u64> {
        self.max_concurrent
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole and between 0 and 2^53"
)]
fn whole(cap: CapKind, number: f64) -> Result<u64, CapError> {
    if !number.is_finite() || number < 0.0 {
        return Err(CapError::Unfit { cap });
    }
    if number.fract() != 0.0 || number > EXACT {
        return Err(CapError::NotWhole { cap });
    }
    Ok(number as u64)
}

impl TryFrom<Numbers> for Caps {
    type Error = CapError;

    fn try_from(numbers: Numbers) -> Result<Self, CapError> {
        let mut caps = Self::UNLIMITED;
        if let Some(runs) = numbers.max_invocations {
            caps = caps.with_max_invocations(runs)?;
        }
        if let Some(tokens) = numbers.max_total_cost {
            caps = caps.with_max_total_cost(tokens)?;
        }
        if let Some(runs) = numbers.max_concurrent {
            caps = caps.with_max_concurrent(runs)?;
        }
        Ok(caps)
    }
}

impl From<Caps> for Numbers {
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53, so exact")]
    fn from(caps: Caps) -> Self {
        Self {
            max_invocations: caps.max_invocations.map(|runs| runs as f64),
            max_total_cost: caps.max_total_cost.map(Cost::tokens),
            max_concurrent: caps.max_concurrent.map(|runs| runs as f64),
        }
    }
}
