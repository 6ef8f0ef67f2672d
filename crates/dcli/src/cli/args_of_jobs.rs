//! The arguments of the commands over jobs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dcli_core::job::id::{GroupName, JobId, Label};
use dcli_core::job::state::JobState;

use super::args::{Ask, seconds};

/// What every job takes besides a run.
#[derive(Debug, Args)]
pub(super) struct Job {
    #[command(flatten)]
    pub ask: Ask,
    /// Your own words for the job, to find it again.
    #[arg(long, value_name = "TEXT")]
    pub label: Option<Label>,
    /// What the job is for: run.
    #[arg(long, value_name = "MODE", default_value = "run")]
    pub mode: ModeName,
    /// Let its agent hand over jobs of its own, in a store of this job's own.
    #[arg(long)]
    pub delegate: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ModeName {
    /// To answer.
    Run,
    /// To change a checkout of its own.
    Implement,
}

#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub job: Job,
    /// Where all places are taken, wait for one.
    #[arg(long)]
    pub queue: bool,
}

#[derive(Debug, Args)]
pub(super) struct Submit {
    #[command(flatten)]
    pub job: Job,
}

#[derive(Debug, Args)]
pub(super) struct Status {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Wait {
    /// The jobs.
    #[arg(value_name = "ID")]
    pub ids: Vec<JobId>,
    /// Wait for every job that has not ended, in all repositories.
    #[arg(long, conflicts_with_all = ["ids", "group"])]
    pub all: bool,
    /// Wait for one of them, not for all.
    #[arg(long)]
    pub any: bool,
    /// Wait for the jobs of this group.
    #[arg(long, value_name = "NAME", conflicts_with = "ids")]
    pub group: Option<GroupName>,
    /// Stop waiting after this many seconds; the jobs go on.
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "100", allow_negative_numbers = true)]
    pub timeout_sec: Duration,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Read {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// Also what a job left that is not done.
    #[arg(long)]
    pub partial: bool,
    /// Print errors as one JSON object; the result itself is printed as it is.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Jobs of all repositories, not of this one.
    #[arg(long)]
    pub all_repos: bool,
    /// The directory whose repository is meant [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR", conflicts_with = "all_repos")]
    pub cwd: Option<PathBuf>,
    /// Only jobs in these states.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    pub state: Vec<JobState>,
    /// Only jobs of this group.
    #[arg(long, value_name = "NAME")]
    pub group: Option<GroupName>,
    /// Only jobs with this label.
    #[arg(long, value_name = "TEXT")]
    pub label: Option<Label>,
    /// Only jobs made in this time: 90s, 30m, 12h, 7d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub since: Option<Duration>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Tail {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// Go on until the job has ended.
    #[arg(long, short)]
    pub follow: bool,
    /// The backend's own lines, as they are but for secrets.
    #[arg(long)]
    pub raw: bool,
    /// Print facts as JSON lines.
    #[arg(long, conflicts_with = "raw")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Debug {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// Accepted for scripts: the bundle is JSON anyway.
    #[arg(long, hide = true)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The job.
    #[arg(value_name = "ID")]
    pub id: JobId,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Cleanup {
    /// Jobs that ended longer ago: 90s, 30m, 12h, 7d.
    #[arg(long, value_name = "AGE", value_parser = age, required_unless_present = "keep")]
    pub older_than: Option<Duration>,
    /// Jobs that are not among so many of the newest that have ended.
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Jobs of all repositories, not of this one.
    #[arg(long)]
    pub all_repos: bool,
    /// The directory whose repository is meant [default: this one].
    #[arg(long, alias = "repo", value_name = "DIR", conflicts_with = "all_repos")]
    pub cwd: Option<PathBuf>,
    /// Remove nothing; say what would be.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// A number with one of `s`, `m`, `h`, `d`.
fn age(text: &str) -> Result<Duration, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    let unit = units.iter().find(|(letter, _)| text.ends_with(*letter));
    let number = unit.and_then(|(letter, _)| text.strip_suffix(*letter)?.parse::<u64>().ok());
    let seconds = unit.zip(number).and_then(|((_, unit), number)| number.checked_mul(*unit));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{text:?} is not an age: give a number with s, m, h or d, as in 7d"))
}
