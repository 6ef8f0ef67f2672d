//! Which jobs belong to a group: a file each, named by the job.

use std::fs;
use std::io;

use dcli_core::job::id::{GroupName, JobId, RepoKey};
use serde::{Deserialize, Serialize};

use super::jobs::{JobsError, entries};
use super::record::{Durability, replace_in_place};
use super::root::{StateRoot, WritableRoot};
use super::{job_dir::JobDir, layout, regular};

/// Version of the shape of a member's file.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Member {
    schema_version: u32,
    job_id: JobId,
    repo_key: RepoKey,
}

/// Puts a job into a group. To be done before the job is published: a member without a job is
/// nothing, a job that its group does not know is lost to whoever waits for the group.
///
/// # Errors
/// It cannot be written.
pub fn join(root: &WritableRoot, group: &GroupName, job: &JobDir) -> io::Result<()> {
    let directory = layout::group(root.path(), group);
    layout::make_private(&directory)?;
    let member = Member {
        schema_version: SCHEMA_VERSION,
        job_id: job.id().clone(),
        repo_key: job.repo().clone(),
    };
    let bytes = serde_json::to_vec(&member)?;
    replace_in_place(&directory.join(job.id().as_str()), &bytes, Durability::Unsynced)
}

/// The jobs of a group that are there, oldest first. A member whose file cannot be read is looked
/// for in every repository.
///
/// # Errors
/// The group cannot be read.
pub fn members(root: &StateRoot, group: &GroupName) -> Result<Vec<JobDir>, JobsError> {
    let mut jobs = Vec::new();
    for entry in entries(&layout::group(root.path(), group))? {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<JobId>().ok())
        else {
            continue;
        };
        let member = regular::read(&entry.path()).ok();
        let member = member.and_then(|bytes| serde_json::from_slice::<Member>(&bytes).ok());
        let job = match member {
            Some(member) => Ok(JobDir::of(root, member.repo_key, id)),
            None => super::jobs::find(root, &id),
        };
        match job {
            Ok(job) if job.path().symlink_metadata().is_ok() => jobs.push(job),
            Ok(_) | Err(JobsError::Absent(_)) => {}
            Err(error) => return Err(error),
        }
    }
    jobs.sort_by(|one, other| one.id().cmp(other.id()));
    Ok(jobs)
}

/// Takes a job out of every group. An empty group is gone.
///
/// # Errors
/// The groups cannot be read, or an entry cannot be removed.
pub fn forget(root: &WritableRoot, id: &JobId) -> Result<(), JobsError> {
    for group in entries(&layout::groups(root.path()))? {
        let path = group.path().join(id.as_str());
        match fs::remove_file(&path) {
            Ok(()) => drop(fs::remove_dir(group.path())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(JobsError::Unreadable { path, source }),
        }
    }
    Ok(())
}
