//! The part of a record that says how usage is read.

use serde::{Deserialize, Serialize};

use super::rule::Matcher;
use crate::decode::Path;

/// How usage is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Which records are billed.
    pub usage_when: Matcher,
    /// What is summed in such a record: whole numbers.
    pub usage_paths: Vec<Path>,
    /// True where a record carries the total so far and not its own share.
    #[serde(default)]
    pub cumulative: bool,
    /// Taken where every path of a record is zero.
    pub when_zero: Option<ZeroRule>,
    /// The parts.
    #[serde(default)]
    pub breakdown: Breakdown,
    /// The vendor's own cost in US dollars, in the billed records.
    pub cost_path: Option<Path>,
    /// True where a record carries the cost so far.
    #[serde(default)]
    pub cost_cumulative: bool,
    /// Quota windows.
    pub usage_windows: Option<Windows>,
}

/// The second place to look when the first is all zero: an object of objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroRule {
    /// An object whose values are asked.
    pub path: Path,
    /// What is summed in each.
    pub keys: Vec<String>,
}

/// Where the parts of usage are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// Tokens sent.
    pub input: Option<Path>,
    /// Tokens produced.
    pub output: Option<Path>,
    /// Tokens of reasoning.
    pub reasoning: Option<Path>,
    /// Tokens read from the cache.
    pub cache_read: Option<Path>,
    /// Tokens written to the cache.
    pub cache_write: Option<Path>,
}

/// Quota windows: an object of objects, kept verbatim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// The object.
    pub path: Path,
    /// What each window must hold; only these keys are kept.
    pub keys: Vec<String>,
}
