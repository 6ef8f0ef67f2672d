//! A budget: limits that outlast a process, per day and per group, each with the file that set it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::caps::{CapError, CapKind, Caps, Cost};
use super::ledger::{Counted, Exceeded};

/// Whose sums a limit is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// All runs of one day; how many are under way at once is counted here too, over midnight.
    Day,
    /// The runs of one group, for as long as it exists.
    Group,
}

/// Which limit, by the key that configuration files call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Runs that are started in one day.
    MaxInvocationsPerDay,
    /// Tokens of the runs that are started in one day.
    MaxTokensPerDay,
    /// Runs under way at the same time.
    MaxConcurrent,
    /// Runs of one group.
    MaxInvocationsPerGroup,
    /// Tokens of the runs of one group.
    MaxTokensPerGroup,
}

impl Rule {
    /// Every rule with its key, the sums it is held against, and what it limits there.
    pub const TABLE: &'static [(Self, &'static str, Scope, CapKind)] = &[
        (Self::MaxInvocationsPerDay, "max_invocations_per_day", Scope::Day, CapKind::Invocations),
        (Self::MaxTokensPerDay, "max_tokens_per_day", Scope::Day, CapKind::TotalCost),
        (Self::MaxConcurrent, "max_concurrent", Scope::Day, CapKind::Concurrent),
        (
            Self::MaxInvocationsPerGroup,
            "max_invocations_per_group",
            Scope::Group,
            CapKind::Invocations,
        ),
        (Self::MaxTokensPerGroup, "max_tokens_per_group", Scope::Group, CapKind::TotalCost),
    ];

    fn of(scope: Scope, cap: CapKind) -> Option<Self> {
        Self::TABLE.iter().find(|row| (row.2, row.3) == (scope, cap)).map(|row| row.0)
    }

    /// What it limits.
    #[must_use]
    pub fn cap(self) -> CapKind {
        Self::TABLE.iter().find(|row| row.0 == self).map_or(CapKind::Invocations, |row| row.3)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = Self::TABLE.iter().find(|row| row.0 == *self).map_or("", |row| row.1);
        out.write_str(key)
    }
}

/// A number that is no limit, with the key that it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{rule} must be {wanted}")]
pub struct BudgetError {
    rule: Rule,
    wanted: &'static str,
}

/// One limit and who set it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    number: f64,
    set_in: String,
}

impl Limit {
    /// In runs or tokens.
    #[must_use]
    pub fn number(&self) -> f64 {
        self.number
    }

    /// The file that set it.
    #[must_use]
    pub fn set_in(&self) -> &str {
        &self.set_in
    }
}

/// Limits that outlast a process; an absent one is no limit, and 0 admits nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    limits: BTreeMap<Rule, Limit>,
}

impl Budget {
    /// No limit at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// The limit that a rule sets.
    #[must_use]
    pub fn limit(&self, rule: Rule) -> Option<&Limit> {
        self.limits.get(&rule)
    }

    /// With `rule` set to `number` by the file `set_in`; a smaller number that is there stays.
    ///
    /// # Errors
    /// [`BudgetError`] for NaN, infinite, negative, and a number of runs that is not whole.
    pub fn with(mut self, rule: Rule, number: f64, set_in: &str) -> Result<Self, BudgetError> {
        // Adding zero turns a negative zero into a plain one.
        let limit = Limit { number: number + 0.0, set_in: set_in.to_owned() };
        cap(Caps::UNLIMITED, rule.cap(), number).map_err(|error| BudgetError {
            rule,
            wanted: match error {
                CapError::Unfit { .. } => "a finite number, 0 or more",
                CapError::NotWhole { .. } => "a whole number",
            },
        })?;
        self.tighten(rule, limit);
        Ok(self)
    }

    /// Each limit is the smaller of both; of equal ones, the one that is there stays.
    #[must_use]
    pub fn tightened_by(mut self, other: Self) -> Self {
        for (rule, limit) in other.limits {
            self.tighten(rule, limit);
        }
        self
    }

    fn tighten(&mut self, rule: Rule, limit: Limit) {
        match self.limits.get(&rule) {
            Some(set) if set.number <= limit.number => {}
            _ => drop(self.limits.insert(rule, limit)),
        }
    }

    /// Whether a run that is thought to cost `estimate` has room beside what `counted` says. `whose`
    /// names the sums in the refusal, for one group among many.
    ///
    /// # Errors
    /// The limit that leaves no room, with the file that set it.
    pub fn admits(
        &self,
        (scope, whose): (Scope, &str),
        counted: &Counted,
        estimate: Cost,
    ) -> Result<(), Exceeded> {
        counted.admits(&self.caps(scope), estimate).map_err(|exceeded| {
            let rule = Rule::of(scope, exceeded.cap);
            let set_in = rule.and_then(|rule| self.limit(rule)).map(|limit| limit.set_in.as_str());
            let rule = rule.zip(set_in);
            let rule = rule.map(|(rule, set_in)| format!("{rule}{whose} (set in {set_in})"));
            Exceeded { rule, ..exceeded }
        })
    }

    fn caps(&self, scope: Scope) -> Caps {
        let here = Rule::TABLE.iter().filter(|row| row.2 == scope);
        here.fold(Caps::UNLIMITED, |caps, (rule, _, _, kind)| match self.limits.get(rule) {
            // It was a limit when it was set.
            Some(limit) => cap(caps, *kind, limit.number).unwrap_or(caps),
            None => caps,
        })
    }
}

fn cap(caps: Caps, kind: CapKind, number: f64) -> Result<Caps, CapError> {
    match kind {
        CapKind::Invocations => caps.with_max_invocations(number),
        CapKind::TotalCost => caps.with_max_total_cost(number),
        CapKind::Concurrent => caps.with_max_concurrent(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(rule: Rule, number: f64, file: &str) -> Budget {
        Budget::default().with(rule, number, file).unwrap()
    }

    #[test]
    fn every_rule_is_called_by_its_key_in_files() {
        for (rule, key, ..) in Rule::TABLE {
            assert_eq!(serde_json::to_value(rule).unwrap(), *key);
            assert_eq!(rule.to_string(), *key);
        }
    }

    #[test]
    fn a_limit_can_only_be_tightened_and_the_tighter_file_is_named() {
        let rule = Rule::MaxTokensPerDay;
        for (first, second, smaller) in [(5.0, 9.0, "a"), (9.0, 5.0, "b"), (5.0, 5.0, "a")] {
            let both = budget(rule, first, "a").tightened_by(budget(rule, second, "b"));
            let limit = both.limit(rule).unwrap();
            assert_eq!((limit.number(), limit.set_in()), (5.0, smaller));
        }
        let other = budget(Rule::MaxConcurrent, 2.0, "b");
        assert_eq!(budget(rule, 5.0, "a").tightened_by(other).limits.len(), 2);
    }

    #[test]
    fn what_is_no_limit_is_refused_by_its_key() {
        for (rule, key, _, kind) in Rule::TABLE {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
                let refused = Budget::default().with(*rule, bad, "f").unwrap_err().to_string();
                assert!(refused.starts_with(key), "{refused}");
            }
            let half = Budget::default().with(*rule, 0.5, "f");
            assert_eq!(half.is_ok(), *kind == CapKind::TotalCost, "{key}");
        }
    }

    #[test]
    fn a_refusal_names_the_key_whose_sums_the_limit_and_the_file() {
        let limits = budget(Rule::MaxInvocationsPerGroup, 2.0, "/a/config.toml");
        let counted = Counted { invocations: 2, ..Counted::default() };
        let whose = (Scope::Group, " of group nightly");
        let refused = limits.admits(whose, &counted, Cost::ZERO).unwrap_err();
        let text = "max_invocations_per_group of group nightly (set in /a/config.toml) is 2, and 2 \
                    are used";
        assert_eq!(refused.to_string(), text);
        assert_eq!(limits.admits((Scope::Day, ""), &counted, Cost::ZERO), Ok(()));
    }
}
