//! Servers of running jobs: where each is reached, without any secret.

use std::fs;
use std::io;

use dcli_core::job::id::JobId;
use serde::{Deserialize, Serialize};

use super::layout;
use super::record::{Durability, replace_in_place};
use super::root::WritableRoot;

/// Version of the shape of a [`ServerRecord`].
pub const SCHEMA_VERSION: u32 = 1;

/// `servers/<job-id>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whose server it is.
    pub job_id: JobId,
    /// Its address on the loopback interface.
    pub url: String,
    /// Its process, as the job's worker sees it.
    pub pid: u32,
    /// Inode of that pid namespace.
    pub pid_namespace: u64,
    /// The kernel's boot id.
    pub boot_id: String,
    /// When it answered first: RFC 3339 in UTC with milliseconds.
    pub started_at: String,
}

/// Says where a server is reached.
///
/// # Errors
/// It cannot be written.
pub fn announce(root: &WritableRoot, server: &ServerRecord) -> io::Result<()> {
    layout::make_private(&layout::servers(root.path()))?;
    let bytes = serde_json::to_vec_pretty(server)?;
    replace_in_place(&layout::server(root.path(), &server.job_id), &bytes, Durability::Unsynced)
}

/// The server is gone.
///
/// # Errors
/// The record is still there.
pub fn forget(root: &WritableRoot, id: &JobId) -> io::Result<()> {
    match fs::remove_file(layout::server(root.path(), id)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
