//! Which failing records still stand: the first one that nothing recovered.

use serde_json::Value;

use super::diagnosis::{Notes, diagnose};
use super::record::{FailureRule, Output};
use crate::failure::Failure;

/// The memory of one failure rule. What recovers must come after the rule's last failing record,
/// and then recovers all of them.
#[derive(Debug, Clone, Default)]
struct Standing {
    first: Option<(u64, Failure)>,
    seen: Vec<bool>,
    count: u64,
}

impl Standing {
    fn fail(&mut self, index: u64, failure: &Failure, signs: usize) {
        self.seen = vec![false; signs];
        self.count += 1;
        self.first.get_or_insert_with(|| (index, failure.clone()));
    }

    /// Takes a sign of recovery in; answers with how many failing records it recovered.
    fn recover(&mut self, rule: &FailureRule, record: &Value) -> u64 {
        if self.first.is_none() || rule.recovered_by.is_empty() {
            return 0;
        }
        for (seen, matcher) in self.seen.iter_mut().zip(&rule.recovered_by) {
            *seen |= matcher.matches(record);
        }
        if !self.seen.iter().all(|seen| *seen) {
            return 0;
        }
        std::mem::take(self).count
    }
}

/// The memory of all failure rules of a record.
#[derive(Debug, Clone)]
pub(super) struct Failing {
    rules: Vec<Standing>,
    provisional: Vec<bool>,
    notes: Notes,
    recovered: u64,
}

impl Failing {
    pub(super) fn new(output: &Output) -> Self {
        Self {
            rules: vec![Standing::default(); output.failure.len()],
            provisional: output.failure.iter().map(|rule| rule.provisional).collect(),
            notes: Notes::new(&output.notes),
            recovered: 0,
        }
    }

    /// Takes one record in; answers with the failure that it reports, if it does.
    pub(super) fn take(&mut self, output: &Output, index: u64, record: &Value) -> Option<Failure> {
        self.notes.take(&output.notes, record);
        let mut reported = None;
        for (rule, standing) in output.failure.iter().zip(&mut self.rules) {
            if fails(rule, record) {
                let failure = diagnose(output, rule, &self.notes, record);
                standing.fail(index, &failure, rule.recovered_by.len());
                reported = reported.or(Some(failure));
            } else {
                self.recovered += standing.recover(rule, record);
            }
        }
        reported
    }

    /// The first failing record that nothing recovered; one that only told of an attempt where
    /// there is no other.
    pub(super) fn first(&self) -> Option<&Failure> {
        let rules = self.rules.iter().zip(&self.provisional);
        let standing = rules.filter_map(|(rule, attempt)| Some((attempt, rule.first.as_ref()?)));
        let first = standing.min_by_key(|(attempt, (index, _))| (**attempt, *index));
        first.map(|(_, (_, failure))| failure)
    }

    /// How many failing records were recovered from.
    pub(super) fn recovered(&self) -> u64 {
        self.recovered
    }
}

fn fails(rule: &FailureRule, record: &Value) -> bool {
    if !rule.when.matches(record) {
        return false;
    }
    let asked = rule.flag_path.is_some() || rule.status_path.is_some();
    let flagged = rule.flag_path.as_ref().and_then(|path| path.get(record));
    let status = rule.status_path.as_ref().and_then(|path| path.get(record));
    let named = status.and_then(Value::as_str).zip(rule.status_prefix.as_deref());
    !asked
        || flagged.and_then(Value::as_bool) == Some(true)
        || named.is_some_and(|(status, prefix)| status.starts_with(prefix))
}
