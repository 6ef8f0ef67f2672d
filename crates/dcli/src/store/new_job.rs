//! A job that nobody sees yet: its directory is made under another name, with its lease held, and
//! then renamed.
//!
//! So a job that is there has a worker, or had one that died.

use std::fs;
use std::io;
use std::path::PathBuf;

use dcli_core::job::id::{JobId, RepoKey};
use dcli_core::redact::Redactor;

use super::attempt;
use super::job_dir::{JobDir, RecordError};
use super::job_writer::{JobWriter, make_attempt, make_directory};
use super::record::sync_directory;
use super::root::WritableRoot;
use super::{layout, tree};

/// A job that is being made. Dropped before it is published, it leaves nothing behind.
#[derive(Debug)]
pub struct NewJob {
    writer: JobWriter,
    place: Place,
}

/// Where the job is while it is made, and where it will be seen.
#[derive(Debug)]
struct Place {
    staged: PathBuf,
    published: JobDir,
    /// Whether it has its own name by now.
    is_renamed: bool,
    is_kept: bool,
}

impl NewJob {
    /// Makes the directory, with its first attempt and an empty journal, for its maker alone.
    ///
    /// # Errors
    /// There is one of that id already, or it cannot be made. Nothing of it is left.
    pub fn create(
        root: &WritableRoot,
        repo: &RepoKey,
        id: &JobId,
        redactor: Redactor,
    ) -> Result<Self, RecordError> {
        let staged = layout::staged_job(root.path(), repo, id);
        let failed = |source| RecordError::Unreadable { path: staged.clone(), source };
        layout::make_private(&layout::repository(root.path(), repo)).map_err(failed)?;
        let published = JobDir::of(root, repo.clone(), id.clone());
        if published.path().symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        make_directory(&staged).map_err(failed)?;
        let place = Place { staged: staged.clone(), published, is_renamed: false, is_kept: false };
        let dir = JobDir::at(staged.clone(), repo.clone(), id.clone());
        let first = dir.attempt(1);
        make_directory(&attempt::all(&staged)).map_err(failed)?;
        let lease = make_attempt(&first).map_err(failed)?;
        let writer = JobWriter::open(root, dir, (first, lease), redactor)?;
        Ok(Self { writer, place })
    }

    /// Writes what is to be in the directory when it is seen.
    pub fn writer(&mut self) -> &mut JobWriter {
        &mut self.writer
    }

    /// Lets everybody see it, whole and on the disk.
    ///
    /// # Errors
    /// Nothing of it is left.
    pub fn publish(self) -> Result<JobWriter, RecordError> {
        let Self { writer, mut place } = self;
        let path = place.published.path().to_owned();
        place.show().map_err(|source| RecordError::Unreadable { path, source })?;
        place.is_kept = true;
        Ok(writer.moved_to(place.published.clone()))
    }
}

impl Place {
    fn show(&mut self) -> io::Result<()> {
        let first = self.staged.join("attempts/1");
        for directory in [first.as_path(), &attempt::all(&self.staged), &self.staged] {
            sync_directory(directory)?;
        }
        fs::rename(&self.staged, self.published.path())?;
        self.is_renamed = true;
        sync_directory(self.published.path().parent().unwrap_or(self.published.path()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let place = if self.is_renamed { self.published.path() } else { &self.staged };
        let _ = tree::remove(place);
    }
}
