//! The durable ledger: runs are counted per day and per group, over all processes on one state root.
//!
//! A day, in UTC, has a sheet, and a group has one: runs admitted, tokens charged, runs under way.
//! Each admission and each settlement is one step under one lock. A run under way is a locked file;
//! one whose process died without settling is settled by the next admission, at what it meant to be
//! charged if it came to say so, else at its estimate.

mod book;
mod sheet;
mod ticket;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dcli_core::exit::FailureClass;
use dcli_core::gate::{AdmitError, Budget, Caps, Cost, Ledger, LedgerError, Ticket};
use dcli_core::job::id::GroupName;
use jiff::Timestamp;

use self::book::{Account, Book, failed};
use self::ticket::{Held, Slip};
use super::root::StateRoot;

/// A run that somebody else's process did not settle before it died. It was settled here.
#[derive(Debug, Clone, PartialEq)]
pub struct Lost {
    /// When it was admitted, RFC 3339 in UTC.
    pub since: String,
    /// The group that it was counted in.
    pub group: Option<GroupName>,
    /// What it meant to be charged; none: it was charged at its estimate.
    pub charge: Option<Cost>,
}

/// Hears of every lost run, once over all processes.
pub type OnLost = Arc<dyn Fn(&Lost) + Send + Sync>;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Counts runs against a budget, durably.
pub struct DurableLedger {
    root: Option<PathBuf>,
    budget: Budget,
    group: Option<GroupName>,
    on_lost: OnLost,
    clock: Clock,
    held: Mutex<BTreeMap<Ticket, Held>>,
}

impl fmt::Debug for DurableLedger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DurableLedger")
            .field("root", &self.root)
            .field("budget", &self.budget)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

impl DurableLedger {
    /// A ledger in the state root that the environment names, made at the first admission. Its runs
    /// are counted in their day, and in `group` where one is named.
    #[must_use]
    pub fn new(budget: Budget, group: Option<GroupName>) -> Self {
        Self {
            root: None,
            budget,
            group,
            on_lost: Arc::new(|_| {}),
            clock: Arc::new(Timestamp::now),
            held: Mutex::default(),
        }
    }

    /// In the state root `root` instead.
    #[must_use]
    pub fn in_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    fn book(&self) -> Result<Book, LedgerError> {
        let root = match &self.root {
            Some(root) => StateRoot::writing(root.clone()),
            None => StateRoot::open_for_writing(),
        };
        let root = root.map_err(|error| {
            let reason = format!("{error}; {}", error.remedy());
            match error.class() {
                FailureClass::PermissionOrSandbox => LedgerError::Denied { reason },
                _ => LedgerError::Unavailable { reason },
            }
        })?;
        Book::open(root)
    }

    /// Lost runs that an admission settles are told to `on_lost`.
    #[must_use]
    pub fn with_on_lost(mut self, on_lost: OnLost) -> Self {
        self.on_lost = on_lost;
        self
    }

    /// The day and the time of an admission are those of `clock`, not of the system's.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// No foreign code runs under the lock, so what a panic leaves behind is still whole.
    fn held(&self) -> MutexGuard<'_, BTreeMap<Ticket, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, lost: Vec<Slip>) {
        for Slip { since, group, charge, .. } in lost {
            (self.on_lost)(&Lost { since, group, charge });
        }
    }

    /// Under the lock: room in every account, then the ticket, then the sheets.
    fn admitted(
        &self,
        book: &mut Book,
        (slip, concurrent): (Slip, u64),
        (caps, estimate): (&Caps, Cost),
    ) -> Result<(Ticket, Held), AdmitError> {
        let accounts = Account::of(&slip);
        self.room(book, (&accounts, concurrent), (caps, estimate))?;
        let first = (self.clock)().as_nanosecond().unsigned_abs() as u64;
        let since = slip.since.clone();
        let issued = Held::issue(&book.tickets(), first, slip);
        let (ticket, held) = issued.map_err(failed)?;
        for account in &accounts {
            book.sheet(account)?.admit(ticket, estimate, &since);
        }
        match accounts.iter().try_for_each(|account| book.keep(account)) {
            Ok(()) => Ok((ticket, held)),
            Err(error) => {
                withdraw(book, &accounts, ticket);
                held.discard();
                Err(error.into())
            }
        }
    }

    /// Under the lock: whether every account leaves room.
    fn room(
        &self,
        book: &mut Book,
        (accounts, concurrent): (&[Account], u64),
        (caps, estimate): (&Caps, Cost),
    ) -> Result<(), AdmitError> {
        for account in accounts {
            let counted = book.sheet(account)?.counted(concurrent);
            let (scope, whose) = account.scope();
            self.budget.admits((scope, &whose), &counted, estimate)?;
            if matches!(account, Account::Day(_)) {
                counted.admits(caps, estimate)?;
            }
        }
        Ok(())
    }

    /// The charge is kept first: whoever finds the ticket after a crash settles what is left with it.
    fn settled(
        &self,
        (ticket, held): (Ticket, &mut Held),
        charge: Cost,
    ) -> Result<(), LedgerError> {
        held.charge(charge).map_err(failed)?;
        let mut book = self.book()?;
        for account in Account::of(&held.slip) {
            book.sheet(&account)?.settle(ticket, charge);
            book.keep(&account)?;
        }
        held.discard();
        Ok(())
    }
}

/// What was written of an admission that failed halfway is taken back. Where that fails too, the
/// next sweep charges it at its estimate: never too little.
fn withdraw(book: &mut Book, accounts: &[Account], ticket: Ticket) {
    for account in accounts {
        if let Ok(sheet) = book.sheet(account) {
            sheet.withdraw(ticket);
        }
        let _ = book.keep(account);
    }
}

impl Ledger for DurableLedger {
    /// `caps` hold for the day, beside those of the budget.
    fn admit(&self, caps: &Caps, estimate: Cost) -> Result<Ticket, AdmitError> {
        let slip = Slip::new(self.group.clone(), format!("{:.3}", (self.clock)()));
        let mut book = self.book()?;
        let (live, lost) = book.sweep(&Account::of(&slip))?;
        let concurrent = live.len() as u64;
        let admitted = self.admitted(&mut book, (slip, concurrent), (caps, estimate));
        drop(book);
        self.report(lost);
        let (ticket, held) = admitted?;
        self.held().insert(ticket, held);
        Ok(ticket)
    }

    fn would_admit(&self, caps: &Caps, estimate: Cost) -> Result<(), AdmitError> {
        let slip = Slip::new(self.group.clone(), format!("{:.3}", (self.clock)()));
        let accounts = Account::of(&slip);
        let mut book = self.book()?;
        let (live, lost) = book.sweep(&accounts)?;
        let room = self.room(&mut book, (&accounts, live.len() as u64), (caps, estimate));
        drop(book);
        self.report(lost);
        room
    }

    fn settle(&self, ticket: Ticket, charge: Cost) -> Result<(), LedgerError> {
        let mut held = self.held().remove(&ticket).ok_or(LedgerError::NotOpen { ticket })?;
        let settled = self.settled((ticket, &mut held), charge);
        if settled.is_err() {
            self.held().insert(ticket, held);
        }
        settled
    }
}
