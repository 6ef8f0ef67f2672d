//! One sheet of the ledger: what a day, or a group, has taken. Values only; who reads and writes them
//! holds the ledger's lock.

use std::collections::BTreeSet;

use dcli_core::gate::{Cost, Counted, Ticket};
use serde::{Deserialize, Serialize};

/// Version of the shape of a sheet. A newer one is refused, never overwritten.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// The sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sheet {
    schema_version: u32,
    /// Runs admitted.
    pub(super) invocations: u64,
    /// Tokens charged.
    pub(super) spent: Cost,
    /// Runs whose process died before it could settle.
    pub(super) lost: u64,
    /// Runs that are not settled.
    open: Vec<Open>,
}

/// One run under way. It is as long as its ticket is locked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    ticket: String,
    estimate: Cost,
    /// RFC 3339, UTC.
    since: String,
}

/// A ticket's name: its number, as sixteen hexadecimal digits.
pub(super) fn name(ticket: Ticket) -> String {
    format!("{:016x}", ticket.0)
}

impl Default for Sheet {
    fn default() -> Self {
        let (invocations, spent, lost) = (0, Cost::ZERO, 0);
        Self { schema_version: SCHEMA_VERSION, invocations, spent, lost, open: Vec::new() }
    }
}

impl Sheet {
    /// What counts against limits, `concurrent` runs being under way in all.
    pub(super) fn counted(&self, concurrent: u64) -> Counted {
        let reserved = self.open.iter().fold(self.spent, |sum, open| sum.plus(open.estimate));
        Counted { invocations: self.invocations, concurrent, cost: reserved }
    }

    /// Counts a run and reserves its estimate.
    pub(super) fn admit(&mut self, ticket: Ticket, estimate: Cost, since: &str) {
        self.invocations += 1;
        let (ticket, since) = (name(ticket), since.to_owned());
        self.open.push(Open { ticket, estimate, since });
    }

    /// As if it had never been admitted.
    pub(super) fn withdraw(&mut self, ticket: Ticket) {
        if self.take(ticket).is_some() {
            self.invocations = self.invocations.saturating_sub(1);
        }
    }

    /// Ends a run. Nothing happens where it is settled already.
    pub(super) fn settle(&mut self, ticket: Ticket, charge: Cost) {
        if let Some(open) = self.take(ticket) {
            self.spent = self.spent.plus(charge.max(open.estimate));
        }
    }

    /// Ends a run whose process is gone, at what it meant to be charged, else at its estimate. Says
    /// whether it was under way.
    pub(super) fn settle_lost(&mut self, ticket: Ticket, charge: Option<Cost>) -> bool {
        let gone = self.take(ticket);
        if let Some(open) = &gone {
            self.lost += 1;
            self.spent = self.spent.plus(charge.unwrap_or(Cost::ZERO).max(open.estimate));
        }
        gone.is_some()
    }

    /// Ends every run that has no live ticket, at its estimate. Says how many.
    pub(super) fn settle_without(&mut self, live: &BTreeSet<String>) -> usize {
        let open = std::mem::take(&mut self.open);
        let is_live = |open: &Open| live.contains(&open.ticket);
        let (open, gone): (Vec<_>, Vec<_>) = open.into_iter().partition(is_live);
        self.open = open;
        self.lost += gone.len() as u64;
        self.spent = gone.iter().fold(self.spent, |sum, open| sum.plus(open.estimate));
        gone.len()
    }

    fn take(&mut self, ticket: Ticket) -> Option<Open> {
        let ticket = name(ticket);
        let place = self.open.iter().position(|open| open.ticket == ticket)?;
        Some(self.open.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admission_that_is_withdrawn_leaves_nothing() {
        let cost = |tokens| Cost::new(tokens).unwrap();
        let mut sheet = Sheet::default();
        sheet.admit(Ticket(1), cost(5.0), "now");
        let before = sheet.clone();
        sheet.admit(Ticket(2), cost(7.0), "now");
        assert_eq!(sheet.counted(2).cost, cost(12.0));
        sheet.withdraw(Ticket(2));
        sheet.withdraw(Ticket(2));
        assert_eq!(sheet, before);
    }

    #[test]
    fn a_run_is_charged_once_and_never_below_its_estimate() {
        let cost = |tokens| Cost::new(tokens).unwrap();
        let mut sheet = Sheet::default();
        sheet.admit(Ticket(1), cost(5.0), "now");
        sheet.settle(Ticket(1), cost(3.0));
        sheet.settle(Ticket(1), cost(3.0));
        assert!(!sheet.settle_lost(Ticket(1), Some(cost(9.0))));
        assert_eq!((sheet.spent, sheet.lost, sheet.invocations), (cost(5.0), 0, 1));
    }
}
