//! From the process that makes a job to the one that works on it: the lease itself, and what is
//! written nowhere. The worker answers once it has the job in hand.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use dcli_contain::Detached;
use dcli_core::job::id::{JobId, RepoKey};
use dcli_core::job::state::JobState;
use rustix::io::fcntl_dupfd_cloexec;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::error::JobError;
use super::fault;
use crate::exec::Descent;
use crate::store::job_writer::JobWriter;

/// How long a worker may take to say that it has the job.
const LIMIT: Duration = Duration::from_secs(60);

/// What only the worker is told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Secrets {
    /// Variables with their values.
    pub env: Vec<(String, String)>,
}

/// What the worker answers: one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// It has the job, which stands here.
    Claimed { state: JobState },
    /// It cannot have it.
    Failed { reason: String },
}

/// Starts a worker and hands the job over. When this returns, the job is the worker's.
pub(super) fn hand_over(
    engine: &Engine,
    writer: &JobWriter,
    descent: Option<&Descent>,
    secrets: &Secrets,
) -> Result<Answer, JobError> {
    let launch = |error: std::io::Error| JobError::WorkerLaunch {
        message: format!("no worker could be started: {error}"),
        job: None,
    };
    let (ours, theirs) = UnixStream::pair().map_err(launch)?;
    let lease = fcntl_dupfd_cloexec(writer.lease(), 3).map_err(|error| launch(error.into()))?;
    let held = match descent {
        Some(descent) => descent.copy(),
        None => std::fs::OpenOptions::new().write(true).open("/dev/null").map(Into::into),
    };
    let dir = writer.dir();
    engine
        .entry
        .start_detached(Detached {
            args: vec![engine.root().into(), dir.repo().as_str().into(), dir.id().as_str().into()],
            env: engine.ambient().to_vec(),
            cwd: engine.root().to_owned(),
            stdio: [theirs.into(), lease, held.map_err(launch)?],
        })
        .map_err(launch)?;
    fault::point("hand over");
    talk(ours, secrets).map_err(launch)
}

fn talk(mut worker: UnixStream, secrets: &Secrets) -> std::io::Result<Answer> {
    worker.set_write_timeout(Some(LIMIT))?;
    worker.set_read_timeout(Some(LIMIT))?;
    worker.write_all(&serde_json::to_vec(secrets)?)?;
    worker.shutdown(Shutdown::Write)?;
    let mut text = Vec::new();
    worker.read_to_end(&mut text)?;
    if text.is_empty() {
        return Err(std::io::Error::other("it ended without a word"));
    }
    Ok(serde_json::from_slice(&text)?)
}

/// The worker's side.
pub(super) struct Given {
    pub repo: RepoKey,
    pub id: JobId,
    pub root: std::path::PathBuf,
    pub lease: OwnedFd,
    pub secrets: Secrets,
    /// Its place below the job around it, if there is one.
    pub held: OwnedFd,
    starter: UnixStream,
}

impl Given {
    /// Takes what the three standard streams hold, and puts the null device in their place.
    pub(super) fn take(args: &[std::ffi::OsString]) -> std::io::Result<Self> {
        let wrong =
            || std::io::Error::other("a worker is started by dcli, with a job and its lease");
        let [root, repo, id] = args else { return Err(wrong()) };
        let parsed = |text: &std::ffi::OsStr| text.to_str().map(str::to_owned).ok_or_else(wrong);
        let null = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
        let mut starter = UnixStream::from(fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
        let lease = fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdin(null()?)?;
        let held = fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
        rustix::stdio::dup2_stdout(null()?)?;
        rustix::stdio::dup2_stderr(null()?)?;
        starter.set_read_timeout(Some(LIMIT))?;
        let mut text = Vec::new();
        starter.read_to_end(&mut text)?;
        Ok(Self {
            repo: parsed(repo)?.parse().map_err(|_| wrong())?,
            id: parsed(id)?.parse().map_err(|_| wrong())?,
            root: root.into(),
            lease,
            held,
            secrets: serde_json::from_slice(&text)?,
            starter,
        })
    }

    /// How the starter is told, which is done once.
    pub(super) fn answer(&self) -> std::io::Result<impl FnOnce(&Answer) + Send + use<>> {
        let mut starter = self.starter.try_clone()?;
        Ok(move |answer: &Answer| {
            // A starter that has gone needs no answer.
            let _ = serde_json::to_vec(answer).map(|text| starter.write_all(&text));
            let _ = starter.shutdown(Shutdown::Both);
        })
    }
}
