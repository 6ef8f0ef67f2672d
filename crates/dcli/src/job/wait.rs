//! `wait`: until one job, all of several, or any of them has ended. The kernel wakes it when a record
//! changes; it looks by itself only for workers that died without a word.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use dcli_core::exit::{STILL_ACTIVE, SUCCESS};
use dcli_core::job::id::{GroupName, JobId};
use dcli_core::job::state::JobState;
use dcli_core::job::status::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use crate::store::job_dir::JobDir;
use crate::store::{groups, jobs};

/// Between two looks for workers that died.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Which jobs are waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// These.
    Jobs(Vec<JobId>),
    /// Those of this group.
    Group(GroupName),
    /// All that have not ended.
    Active,
}

/// When a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All have ended.
    All,
    /// One has ended.
    Any,
}

/// What a wait came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Waited {
    /// All jobs waited for, in order of creation.
    pub jobs: Vec<Status>,
    /// Whether it is over; otherwise the time ran out.
    pub is_over: bool,
}

impl Waited {
    /// 0 if all that ended are done; else the code of the first that is not, in order of creation;
    /// 20 where the time ran out.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if !self.is_over {
            return STILL_ACTIVE;
        }
        let ended = self.jobs.iter().filter(|status| status.state.is_terminal());
        let code = |status: &Status| {
            let class = status.failure.as_ref().map(|failure| failure.class);
            status.command_exit_code.unwrap_or_else(|| status.state.exit_code(class))
        };
        ended.filter(|status| status.state != JobState::Done).map(code).next().unwrap_or(SUCCESS)
    }
}

/// Waits up to `limit`. `on_change` hears of every job that changed, as it changes.
///
/// ```no_run
/// use std::time::Duration;
///
/// use dcli::job::{Engine, Until, Which, wait};
/// # fn example(engine: &Engine) -> Result<(), dcli::job::JobError> {
/// let hour = Duration::from_secs(3600);
/// let waited = wait(engine, &Which::Active, Until::All, hour, |status| {
///     println!("{} is {}", status.job_id, status.state);
/// })?;
/// println!("{}", waited.exit_code());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A job does not exist, or its record cannot be read.
pub fn wait(
    engine: &Engine,
    which: &Which,
    until: Until,
    limit: Duration,
    mut on_change: impl FnMut(&Status),
) -> Result<Waited, JobError> {
    let began = Instant::now();
    let dirs = select(engine, which)?;
    let mut wake = Wake::new(&dirs);
    let mut seen: BTreeMap<JobId, Status> = BTreeMap::new();
    let mut looked: Option<Instant> = None;
    loop {
        let is_due = looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if is_due {
            looked = Some(Instant::now());
        }
        for dir in &dirs {
            let known = seen.get(dir.id());
            if known.is_some_and(|status| status.state.is_terminal()) {
                continue;
            }
            let now = look(engine, dir, known, is_due)?;
            if known != Some(&now) {
                on_change(&now);
                seen.insert(dir.id().clone(), now);
            }
        }
        let ended = seen.values().filter(|status| status.state.is_terminal()).count();
        let is_over = match until {
            Until::All => ended == dirs.len(),
            Until::Any => ended > 0 || dirs.is_empty(),
        };
        if is_over || began.elapsed() >= limit {
            return Ok(Waited { jobs: in_order(seen), is_over });
        }
        wake.sleep((limit.saturating_sub(began.elapsed())).min(LOOK));
    }
}

/// A record that changed is read; whether a worker lives is asked now and then.
fn look(
    engine: &Engine,
    dir: &JobDir,
    known: Option<&Status>,
    is_due: bool,
) -> Result<Status, JobError> {
    if is_due || known.is_none() {
        return reconcile::status(engine, dir);
    }
    dir.status().or_else(|_| reconcile::status(engine, dir))
}

fn in_order(seen: BTreeMap<JobId, Status>) -> Vec<Status> {
    let mut jobs: Vec<Status> = seen.into_values().collect();
    jobs.sort_by(|one, other| {
        (&one.created_at, &one.job_id).cmp(&(&other.created_at, &other.job_id))
    });
    jobs
}

fn select(engine: &Engine, which: &Which) -> Result<Vec<JobDir>, JobError> {
    reconcile::tend_queue(engine);
    match which {
        Which::Jobs(ids) => {
            let mut ids = ids.clone();
            ids.sort();
            ids.dedup();
            ids.iter().map(|id| engine.find(id)).collect()
        }
        Which::Group(group) => {
            let members = groups::members(&engine.reading()?, group).map_err(JobError::jobs)?;
            if members.is_empty() {
                let message = format!("group {group} has no jobs");
                return Err(JobError::NoGroup { message });
            }
            Ok(members)
        }
        Which::Active => {
            let newest = jobs::list(&engine.reading()?, None).map_err(JobError::jobs)?;
            let is_active = |dir: &JobDir| {
                !dir.status::<Status>().is_ok_and(|status| status.state.is_terminal())
            };
            Ok(newest.filter(is_active).collect())
        }
    }
}

/// Wakes whoever waits when a record was replaced; without inotify, whoever waits looks by itself.
pub(super) struct Wake {
    events: Option<OwnedFd>,
}

/// The pause of one who is not woken.
const UNWOKEN: Duration = Duration::from_millis(50);

impl Wake {
    pub(super) fn new(dirs: &[JobDir]) -> Self {
        Self { events: watch(dirs).ok() }
    }

    /// Until something changed, or `most` at the most.
    pub(super) fn sleep(&mut self, most: Duration) {
        let Some(events) = &self.events else {
            std::thread::sleep(most.min(UNWOKEN));
            return;
        };
        let mut ready = [PollFd::new(events, PollFlags::IN)];
        let limit = Timespec::try_from(most).ok();
        // Interrupted or failed, the caller looks; a poll that always fails must not spin.
        if poll(&mut ready, limit.as_ref()).is_err() {
            std::thread::sleep(most.min(UNWOKEN));
        }
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let mut reader = inotify::Reader::new(events, &mut buffer);
        while reader.next().is_ok() {}
    }
}

fn watch(dirs: &[JobDir]) -> rustix::io::Result<OwnedFd> {
    let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    for dir in dirs {
        inotify::add_watch(&events, dir.path(), inotify::WatchFlags::MOVED_TO)?;
    }
    Ok(events)
}
