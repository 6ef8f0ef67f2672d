//! Every name in the directory of one attempt.

use std::path::{Path, PathBuf};

/// The directory of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptDir {
    path: PathBuf,
    number: u32,
}

impl AttemptDir {
    /// Attempt `number`, counted from 1, of the job at `job`.
    #[must_use]
    pub fn of(job: &Path, number: u32) -> Self {
        Self { path: all(job).join(number.to_string()), number }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which attempt, counted from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The lock that its worker holds.
    #[must_use]
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// What was asked, in the user's words: kept as it is.
    #[must_use]
    pub fn prompt(&self) -> PathBuf {
        self.path.join("prompt.md")
    }

    /// What was started.
    #[must_use]
    pub fn command(&self) -> PathBuf {
        self.path.join("command.json")
    }

    /// What was answered: kept as it is.
    #[must_use]
    pub fn result(&self) -> PathBuf {
        self.path.join("result.md")
    }

    /// What a review found: kept as it is.
    #[must_use]
    pub fn findings(&self) -> PathBuf {
        self.path.join("findings.json")
    }

    /// The envelope, less the result.
    #[must_use]
    pub fn envelope(&self) -> PathBuf {
        self.path.join("envelope.json")
    }

    /// What the backend said, one fact a line.
    #[must_use]
    pub fn facts(&self) -> PathBuf {
        self.path.join("facts.jsonl")
    }

    /// A log for people.
    #[must_use]
    pub fn log(&self, name: LogName) -> PathBuf {
        self.path.join(name.file())
    }

    /// Raw output, only while the attempt runs.
    #[must_use]
    pub fn capture(&self) -> PathBuf {
        self.path.join("capture")
    }

    /// The attempt's private temporary directory, only while it runs.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }
}

/// The directory of all attempts of the job at `job`.
#[must_use]
pub fn all(job: &Path) -> PathBuf {
    job.join("attempts")
}

/// The logs of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogName {
    /// Standard output of the backend.
    Stdout,
    /// Standard error of the backend.
    Stderr,
    /// What the worker has to say.
    Worker,
    /// Standard output and error of a backend that is a server.
    Server,
    /// What a server sent beside its records.
    Events,
}

impl LogName {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Stdout, Self::Stderr, Self::Worker, Self::Server, Self::Events];

    /// Its file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Stdout => "stdout.log",
            Self::Stderr => "stderr.log",
            Self::Worker => "worker.log",
            Self::Server => "server.log",
            Self::Events => "backend-events.jsonl",
        }
    }
}
