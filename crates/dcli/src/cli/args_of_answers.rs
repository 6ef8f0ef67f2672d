//! The arguments that say who or what answers a job, and those of the commands that do.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dcli_core::interaction::{Decision, Policy, Rule, Terms};
use dcli_core::job::id::{InteractionId, JobId};

use super::args::seconds;

/// Who or what answers what a job asks.
#[derive(Debug, Args)]
pub(super) struct Answering {
    /// Wait this many seconds for somebody's answer ('dcli respond') where the job asks something
    /// [default: nobody is there, and what it asks is rejected; without a number: 600].
    #[arg(
        long,
        value_name = "SEC",
        value_parser = seconds,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "600"
    )]
    pub attended: Option<Duration>,
    /// Allow what this rule covers: NAME or NAME:PATTERN, as in 'bash:git status*'; may be given
    /// several times.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<Rule>,
    /// Ask about what this rule covers, although a wider one allows it; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<Rule>,
    /// Deny what this rule covers, whatever else allows it; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<Rule>,
    /// Keep the backend's sessions in a database of this job's own: opencode.
    #[arg(long)]
    pub isolated_state: bool,
}

impl Answering {
    /// As terms of a run.
    pub(super) fn terms(self) -> Terms {
        let policy = Policy { allow: self.allow, ask: self.ask, deny: self.deny };
        Terms { policy, attended: self.attended }
    }
}

#[derive(Debug, Args)]
pub(super) struct Interactions {
    /// The job [default: the running jobs of this repository].
    #[arg(value_name = "ID")]
    pub id: Option<JobId>,
    /// Also what is decided already; of one job that is listed anyway.
    #[arg(long)]
    pub all: bool,
    /// Of jobs of all repositories, not of this one.
    #[arg(long, conflicts_with = "id")]
    pub all_repos: bool,
    /// The directory whose repository is meant [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR", conflicts_with_all = ["all_repos", "id"])]
    pub cwd: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Respond {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// What it asks, as 'dcli interactions' names it.
    #[arg(value_name = "INTERACTION")]
    pub interaction: InteractionId,
    /// What is decided.
    #[arg(value_name = "DECISION")]
    pub decision: Word,
    /// The answer to a question: a text for each question in it.
    #[arg(value_name = "TEXT")]
    pub texts: Vec<String>,
    /// With deny: words for the agent, which goes on then. Without any its turn stops.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Wait this many seconds until the job's worker has taken the answer.
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "10", allow_negative_numbers = true)]
    pub timeout_sec: Duration,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What may be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Word {
    /// This once.
    Allow,
    /// This, and its like for the rest of the job.
    AllowAlways,
    /// No.
    Deny,
    /// An answer to a question, in words.
    Answer,
}

impl Word {
    /// As records have it.
    pub(super) fn decision(self) -> Decision {
        match self {
            Self::Allow => Decision::Allow,
            Self::AllowAlways => Decision::AllowAlways,
            Self::Deny => Decision::Deny,
            Self::Answer => Decision::Answer,
        }
    }
}
