//! What every verb over jobs works with: where jobs are kept, how their runs are started, how many
//! may run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dcli_contain::{Entry, Identity};
use dcli_core::job::event::WorkerIdentity;
use dcli_core::job::id::JobId;
use dcli_core::redact::Redactor;

use super::error::JobError;
use super::spec::Ancestry;
use crate::config::Limits;
use crate::exec::{Host, JobStamp};
use crate::store::job_dir::JobDir;
use crate::store::root::{StateRoot, WritableRoot};
use crate::store::{jobs, layout};

/// Where jobs are kept, how their runs are started, how many may run.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) host: Host,
    pub(super) entry: Entry,
    pub(super) limits: Limits,
    root: PathBuf,
    inside: Option<JobId>,
    ambient: Vec<(OsString, OsString)>,
}

impl Engine {
    /// Jobs below the state root that the environment names, with this process's own environment and
    /// the default limits.
    ///
    /// # Errors
    /// No variable says where the state root is.
    pub fn new(entry: Entry) -> Result<Self, JobError> {
        let root = layout::state_root().map_err(crate::store::root::RootError::Nowhere)?;
        Ok(Self::at(entry, root))
    }

    /// Jobs below `root`.
    #[must_use]
    pub fn at(entry: Entry, root: PathBuf) -> Self {
        let inside = std::env::var("DCLI_JOB_ID").ok().and_then(|id| id.parse().ok());
        Self {
            host: Host::new(entry.clone()),
            entry,
            limits: Limits::default(),
            root,
            inside,
            ambient: std::env::vars_os().collect(),
        }
    }

    /// Runs are started by `host`. Those of a detached worker are not: it reads the configuration.
    #[must_use]
    pub fn with_host(mut self, host: Host) -> Self {
        self.host = host;
        self
    }

    /// What workers and their runs may inherit, instead of this process's own environment. It also
    /// says whether this is inside a job.
    #[must_use]
    pub fn with_ambient(mut self, ambient: Vec<(OsString, OsString)>) -> Self {
        let job = ambient.iter().find(|(name, _)| name == "DCLI_JOB_ID");
        self.inside = job.and_then(|(_, id)| id.to_str()?.parse().ok());
        self.host = self.host.with_ambient(ambient.clone());
        self.ambient = ambient;
        self
    }

    /// At most so many run at the same time.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where jobs are kept.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The state root to read from.
    pub(super) fn reading(&self) -> Result<StateRoot, JobError> {
        Ok(StateRoot::reading(self.root.clone())?)
    }

    /// The state root to write to. A process inside a job writes to a store of that job's own alone.
    pub(super) fn writing(&self, what: &str) -> Result<WritableRoot, JobError> {
        if self.is_outer() {
            let message = format!("{what} from inside job {} is refused", self.job_around());
            return Err(JobError::Inside { message });
        }
        Ok(StateRoot::writing(self.root.clone())?)
    }

    /// The state root to write to if that may be done here; a reader goes on without.
    pub(super) fn writing_if_possible(&self) -> Option<WritableRoot> {
        if self.is_outer() || !self.root.exists() {
            return None;
        }
        StateRoot::writing(self.root.clone()).ok()
    }

    /// Whether this process is inside a job and the records here are not of that job's own store.
    fn is_outer(&self) -> bool {
        self.inside
            .as_ref()
            .is_some_and(|job| !self.root.ends_with(Path::new("nested").join(job.as_str())))
    }

    fn job_around(&self) -> String {
        self.inside.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// The jobs above one that this process makes.
    pub(super) fn ancestry(&self) -> Ancestry {
        let root = self.inside.as_ref().map(|job| self.root_of(job));
        Ancestry { parent: self.inside.clone(), root }
    }

    /// The first job of a line: a job's own store lies in that of its parent.
    fn root_of(&self, job: &JobId) -> JobId {
        let status =
            self.find(job).ok().and_then(|dir| dir.status::<dcli_core::job::status::Status>().ok());
        status.map_or_else(|| job.clone(), |status| status.root_job_id)
    }

    /// What the processes of a job are told of it: where it delegates, a store of its own.
    pub(super) fn stamp(&self, id: &JobId, delegate: bool) -> JobStamp {
        let state_root = match delegate {
            true => layout::nested(&self.root, id),
            false => self.root.clone(),
        };
        JobStamp { job_id: id.clone(), state_root }
    }

    /// The job's directory.
    pub(super) fn find(&self, id: &JobId) -> Result<JobDir, JobError> {
        let found = jobs::find(&self.reading()?, id);
        found.map_err(JobError::jobs)
    }

    /// Redacts what this process's environment and `env` hold.
    pub(super) fn redactor(&self, env: &[(String, String)]) -> Redactor {
        let text = |text: &OsString| text.to_str().map(str::to_owned);
        let ambient =
            self.ambient.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Redactor::for_environment(env, ambient)
    }

    /// This process's environment.
    pub(super) fn ambient(&self) -> &[(OsString, OsString)] {
        &self.ambient
    }
}

/// This process, as a worker.
pub(super) fn own_identity() -> Result<WorkerIdentity, JobError> {
    let identity = Identity::current().map_err(|source| JobError::io("/proc/self/stat", source))?;
    Ok(worker_identity(&identity))
}

/// A process as a record has it.
pub(super) fn worker_identity(identity: &Identity) -> WorkerIdentity {
    WorkerIdentity {
        pid: u32::try_from(identity.pid).unwrap_or_default(),
        start_time: identity.start_time,
        boot_id: identity.boot_id.clone(),
        pid_namespace: identity.pid_namespace,
    }
}
