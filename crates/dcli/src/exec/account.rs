//! A host whose runs are counted durably, where there is a cap to count for.

use std::sync::Arc;

use dcli_core::gate::{AllowAll, Budget, Caps, Gate, Silent};
use dcli_core::job::id::GroupName;

use super::host::Host;
use crate::store::layout;
use crate::store::ledger::{DurableLedger, OnLost};

impl Host {
    /// Every run passes a gate that counts it in the outermost state root, against `budget` and in `group`.
    /// Without a limit and without a group nothing is counted, and nothing is read or written.
    #[must_use]
    pub fn with_budget(self, budget: Budget, group: Option<GroupName>, on_lost: OnLost) -> Self {
        if budget.is_empty() && group.is_none() {
            return self;
        }
        let ledger = DurableLedger::new(budget, group).with_on_lost(on_lost);
        let ledger = Arc::new(match layout::outermost_root() {
            Ok(root) => ledger.in_root(root),
            Err(_) => ledger,
        });
        self.with_gate(Gate::new(Caps::UNLIMITED, ledger, Arc::new(AllowAll), Arc::new(Silent)))
    }
}
