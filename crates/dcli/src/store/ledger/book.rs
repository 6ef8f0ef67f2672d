//! The open ledger: its lock is held, sheets are read once, changed, and written back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use dcli_core::gate::{LedgerError, Scope};
use dcli_core::job::id::GroupName;
use serde::Deserialize;

use super::sheet::{SCHEMA_VERSION, Sheet};
use super::ticket::{Orphan, Slip, Survey, survey};
use crate::store::lock::{Lock, LockError};
use crate::store::root::WritableRoot;
use crate::store::{layout, record, regular};

/// Whose sums a sheet has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Account {
    /// A day, `YYYY-MM-DD`.
    Day(String),
    /// A group.
    Group(GroupName),
}

impl Account {
    /// The accounts that a ticket is counted in.
    pub(super) fn of(slip: &Slip) -> Vec<Self> {
        let group = slip.group.clone().map(Self::Group);
        [Self::Day(slip.day.clone())].into_iter().chain(group).collect()
    }

    /// The rules that hold for it, and its name in a refusal.
    pub(super) fn scope(&self) -> (Scope, String) {
        match self {
            Self::Day(day) => (Scope::Day, format!(" on {day} (UTC)")),
            Self::Group(group) => (Scope::Group, format!(" of group {group}")),
        }
    }

    fn path(&self, root: &Path) -> PathBuf {
        match self {
            Self::Day(day) => layout::ledger_of_day(root, day),
            Self::Group(group) => layout::ledger_of_group(root, group),
        }
    }
}

/// The ledger while its lock is held.
#[derive(Debug)]
pub(super) struct Book {
    root: WritableRoot,
    sheets: BTreeMap<Account, Sheet>,
    _lock: Lock,
}

impl Book {
    /// Waits for the lock, as long as [`crate::store::lock::WAIT`].
    ///
    /// # Errors
    /// It was not to be had, or the directories cannot be made.
    pub(super) fn open(root: WritableRoot) -> Result<Self, LedgerError> {
        let open = layout::ledger_open(root.path());
        layout::make_private(&open).map_err(|error| failed((open, error)))?;
        let lock = Lock::take(&layout::ledger_lock(root.path())).map_err(|error| match error {
            LockError::Io { path, source } => failed((path, source)),
            busy => LedgerError::Unavailable { reason: format!("{busy}; try again") },
        })?;
        Ok(Self { root, sheets: BTreeMap::new(), _lock: lock })
    }

    /// Where tickets are.
    pub(super) fn tickets(&self) -> PathBuf {
        layout::ledger_open(self.root.path())
    }

    /// The sheet of an account; one that is not there is empty.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or a newer dcli wrote it.
    pub(super) fn sheet(&mut self, account: &Account) -> Result<&mut Sheet, LedgerError> {
        if !self.sheets.contains_key(account) {
            let sheet = load(&account.path(self.root.path()))?;
            self.sheets.insert(account.clone(), sheet);
        }
        Ok(self.sheets.entry(account.clone()).or_default())
    }

    /// Writes the sheet of an account.
    ///
    /// # Errors
    /// It cannot be written; the old one is whole.
    pub(super) fn keep(&mut self, account: &Account) -> Result<(), LedgerError> {
        let path = account.path(self.root.path());
        let text = serde_json::to_vec(&*self.sheet(account)?).map_err(io::Error::from);
        text.and_then(|text| record::replace(&path, &text)).map_err(|error| failed((path, error)))
    }

    /// Settles every run whose process is gone, and says which tickets are live and what was settled.
    /// An orphan one of whose sheets cannot be read is found again next time.
    ///
    /// # Errors
    /// Tickets or a sheet of `mine` cannot be read, or a sheet cannot be written.
    pub(super) fn sweep(
        &mut self,
        mine: &[Account],
    ) -> Result<(BTreeSet<String>, Vec<Slip>), LedgerError> {
        let Survey { live, orphans } = survey(&self.tickets()).map_err(failed)?;
        for account in mine {
            self.sheet(account)?;
        }
        let (mut lost, mut done, mut changed) = (Vec::new(), Vec::new(), BTreeSet::new());
        for orphan in &orphans {
            let (settled, complete) = self.settle_orphan(orphan);
            lost.extend(orphan.slip.clone().filter(|_| !settled.is_empty()));
            changed.extend(settled);
            done.extend(complete.then_some(orphan));
        }
        for account in mine {
            // Orphans were charged what they meant to be; what is left lost its ticket altogether.
            if self.sheet(account)?.settle_without(&live) > 0 {
                changed.insert(account.clone());
            }
        }
        changed.iter().try_for_each(|account| self.keep(account))?;
        done.into_iter().for_each(Orphan::discard);
        Ok((live, lost))
    }

    /// The accounts in which the orphan was still open, and whether all of its sheets were there.
    fn settle_orphan(&mut self, orphan: &Orphan) -> (Vec<Account>, bool) {
        let Some(slip) = &orphan.slip else { return (Vec::new(), true) };
        let accounts = Account::of(slip);
        let all = accounts.len();
        let mut read = 0;
        let mut settled = accounts;
        settled.retain(|account| {
            let Ok(sheet) = self.sheet(account) else { return false };
            read += 1;
            sheet.settle_lost(orphan.ticket, slip.charge)
        });
        (settled, read == all)
    }
}

#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}

/// # Errors
/// A newer dcli wrote these bytes. What is no JSON at all is somebody else's to judge.
pub(super) fn not_newer(bytes: &[u8]) -> io::Result<()> {
    match serde_json::from_slice(bytes) {
        Ok(Versioned { schema_version: found }) if found > SCHEMA_VERSION => {
            Err(io::Error::other(format!(
                "a newer dcli wrote it (schema_version {found}, this one knows {SCHEMA_VERSION}) \
                 and it was not changed; use that dcli"
            )))
        }
        _ => Ok(()),
    }
}

fn load(path: &Path) -> Result<Sheet, LedgerError> {
    let bytes = match regular::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Sheet::default()),
        Err(error) => return Err(failed((path.to_owned(), error))),
    };
    not_newer(&bytes).map_err(|error| failed((path.to_owned(), error)))?;
    serde_json::from_slice(&bytes).map_err(|error| LedgerError::Unavailable {
        reason: format!(
            "{path} is damaged ({error}) and was not changed; restore it, or move it away: what \
             it has counted is then forgotten",
            path = path.display()
        ),
    })
}

/// What went wrong with a file, as the gate says it.
pub(super) fn failed((path, error): (PathBuf, io::Error)) -> LedgerError {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            LedgerError::Denied {
                reason: format!(
                    "{path}: {error}; make it writable for you, or set DCLI_STATE_ROOT to a \
                     directory that is"
                ),
            }
        }
        _ => LedgerError::Unavailable { reason: format!("{path}: {error}") },
    }
}
