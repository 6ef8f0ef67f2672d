//! Tickets: one locked file for each run under way. The lock goes with the process, whatever ends
//! it; the file says what the run meant to be charged, so that a settlement that was cut in two is
//! finished by whoever comes next.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dcli_core::gate::{Cost, Ticket};
use dcli_core::job::id::GroupName;
use serde::{Deserialize, Serialize};

use super::sheet::{SCHEMA_VERSION, name};

/// The most bytes of a ticket.
const MOST: u64 = 64 * 1024;

/// What a ticket says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slip {
    schema_version: u32,
    /// The day that it is counted in.
    pub(super) day: String,
    /// The group that it is counted in.
    pub(super) group: Option<GroupName>,
    /// RFC 3339, UTC.
    pub(super) since: String,
    /// Null until the run has ended.
    pub(super) charge: Option<Cost>,
}

impl Slip {
    /// A run that begins at `since`, RFC 3339 in UTC; its date is the day that it is counted in.
    pub(super) fn new(group: Option<GroupName>, since: String) -> Self {
        let day = since.split('T').next().unwrap_or_default().to_owned();
        Self { schema_version: SCHEMA_VERSION, day, group, since, charge: None }
    }
}

/// A ticket in this process's hand: its run is under way as long as this value.
#[derive(Debug)]
pub(super) struct Held {
    file: File,
    path: PathBuf,
    pub(super) slip: Slip,
}

impl Held {
    /// A new ticket, numbered from `first` on.
    ///
    /// # Errors
    /// It cannot be made, locked or written; nothing of it is left.
    pub(super) fn issue(
        directory: &Path,
        first: u64,
        slip: Slip,
    ) -> Result<(Ticket, Self), (PathBuf, io::Error)> {
        let failed = |error| (directory.to_owned(), error);
        let mut ticket = Ticket(first);
        let (path, file) = loop {
            let path = directory.join(name(ticket));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).mode(0o600);
            match options.open(&path) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    ticket.0 = ticket.0.wrapping_add(1);
                }
                Err(error) => return Err(failed(error)),
            }
        };
        let held = Self { file, path, slip };
        let made = held.file.try_lock().map_err(io::Error::from).and_then(|()| held.write());
        if made.is_err() {
            held.discard();
        }
        made.map(|()| (ticket, held)).map_err(failed)
    }

    /// Keeps what is to be charged, before any sheet is touched.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn charge(&mut self, charge: Cost) -> Result<(), (PathBuf, io::Error)> {
        self.slip.charge = Some(charge);
        self.write().map_err(|error| (self.path.clone(), error))
    }

    /// Once all sheets know it. A file that cannot be removed is removed by a later sweep.
    pub(super) fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// In place, since the lock is on this file and no other. A charge makes it longer, never shorter.
    fn write(&self) -> io::Result<()> {
        self.file.write_all_at(&serde_json::to_vec(&self.slip)?, 0)
    }
}

/// A ticket whose process is gone. Its lock is held meanwhile.
#[derive(Debug)]
pub(super) struct Orphan {
    pub(super) ticket: Ticket,
    /// None where nothing can be read of it: it died while it was made.
    pub(super) slip: Option<Slip>,
    path: PathBuf,
    _file: File,
}

impl Orphan {
    /// Once all sheets know it.
    pub(super) fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// All tickets there are.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Names of those whose process lives.
    pub(super) live: BTreeSet<String>,
    pub(super) orphans: Vec<Orphan>,
}

/// Looks at every ticket in `directory`.
///
/// # Errors
/// The directory or a ticket cannot be read, or a newer dcli wrote it.
pub(super) fn survey(directory: &Path) -> Result<Survey, (PathBuf, io::Error)> {
    let mut survey = Survey::default();
    let unreadable = |error| (directory.to_owned(), error);
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(ticket) = number(&path) else { continue };
        match look(&path, ticket) {
            Ok(Some(orphan)) => survey.orphans.push(orphan),
            Ok(None) => drop(survey.live.insert(name(ticket))),
            Err(error) => return Err((path, error)),
        }
    }
    Ok(survey)
}

fn number(path: &Path) -> Option<Ticket> {
    let digits = path.file_name()?.to_str().filter(|text| text.len() == 16)?;
    let ticket = Ticket(u64::from_str_radix(digits, 16).ok()?);
    (name(ticket) == digits).then_some(ticket)
}

fn look(path: &Path, ticket: Ticket) -> io::Result<Option<Orphan>> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut bytes = Vec::new();
    (&file).take(MOST).read_to_end(&mut bytes)?;
    super::book::not_newer(&bytes)?;
    let slip = serde_json::from_slice(&bytes).ok();
    Ok(Some(Orphan { ticket, slip, path: path.to_owned(), _file: file }))
}
