//! Which jobs there are: one by its id, or all from the newest on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use dcli_core::exit::FailureClass;
use dcli_core::job::id::{JobId, RepoKey};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use super::job_dir::JobDir;
use super::layout;
use super::root::StateRoot;

/// Why it is not known which jobs there are.
#[derive(Debug, Error)]
pub enum JobsError {
    /// No repository has it.
    #[error("job {0} does not exist")]
    Absent(JobId),
    /// A directory cannot be read, so that nothing is proven.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl JobsError {
    /// The class that the exit code follows; `None` for a job that does not exist, which has a code
    /// of its own.
    #[must_use]
    pub fn class(&self) -> Option<FailureClass> {
        match self {
            Self::Absent(_) => None,
            Self::Unreadable { .. } => Some(FailureClass::Lock),
        }
    }
}

/// The job of that id, whichever repository it belongs to.
///
/// # Errors
/// See [`JobsError`]: a job is absent only if every repository could be looked into.
pub fn find(root: &StateRoot, id: &JobId) -> Result<JobDir, JobsError> {
    for repo in repositories(root)? {
        let dir = JobDir::of(root, repo, id.clone());
        match dir.path().symlink_metadata() {
            Ok(_) => return Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(unreadable(dir.path(), source)),
        }
    }
    Err(JobsError::Absent(id.clone()))
}

/// The jobs of one repository, or of all, newest first. What is not asked for is not sorted.
///
/// # Errors
/// A directory cannot be read.
pub fn list(root: &StateRoot, repo: Option<&RepoKey>) -> Result<Newest, JobsError> {
    let repositories = match repo {
        Some(repo) => vec![repo.clone()],
        None => repositories(root)?,
    };
    let mut names = Vec::new();
    for (index, repo) in repositories.iter().enumerate() {
        let directory = layout::repository(root.path(), repo);
        let found = id_names(&directory).map_err(|source| unreadable(&directory, source))?;
        names.extend(found.into_iter().map(|name| (name, Reverse(index))));
    }
    Ok(Newest { root: root.clone(), repositories, names: BinaryHeap::from(names) })
}

/// The repositories that have jobs, in no order.
///
/// # Errors
/// The directory of jobs cannot be read.
pub fn repositories(root: &StateRoot) -> Result<Vec<RepoKey>, JobsError> {
    let key = |entry: DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(entries(&layout::jobs(root.path()))?.into_iter().filter_map(key).collect())
}

/// A name as long as a job id. It is looked at more closely when its turn comes: of a hundred
/// thousand, few have one.
type IdName = [u8; 25];

/// Jobs, newest first.
#[derive(Debug)]
pub struct Newest {
    root: StateRoot,
    repositories: Vec<RepoKey>,
    names: BinaryHeap<(IdName, Reverse<usize>)>,
}

impl Iterator for Newest {
    type Item = JobDir;

    fn next(&mut self) -> Option<JobDir> {
        loop {
            let (name, Reverse(index)) = self.names.pop()?;
            let id = std::str::from_utf8(&name).ok().and_then(|name| name.parse().ok());
            if let (Some(id), Some(repo)) = (id, self.repositories.get(index)) {
                return Some(JobDir::of(&self.root, repo.clone(), id));
            }
        }
    }
}

/// The names in a directory that are as long as a job id; none where it is not there.
fn id_names(directory: &Path) -> io::Result<Vec<IdName>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match rustix::fs::open(directory, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut names = Vec::new();
    for entry in Dir::new(directory)? {
        names.extend(IdName::try_from(entry?.file_name().to_bytes()));
    }
    Ok(names)
}

/// What is in a directory; nothing in one that is not there.
pub(super) fn entries(directory: &Path) -> Result<Vec<DirEntry>, JobsError> {
    let listed = fs::read_dir(directory).and_then(Iterator::collect);
    match listed {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(unreadable(directory, source)),
    }
}

fn unreadable(path: &Path, source: io::Error) -> JobsError {
    JobsError::Unreadable { path: path.to_owned(), source }
}
