//! Lineage: how many dcli workers stand above this process, and what its children are told of it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use dcli_core::job::id::JobId;

/// Variables with this prefix are dcli's own; nobody sets one of them for a child by name.
pub(crate) const PREFIX: &str = "DCLI_";

const DEPTH: &str = "DCLI_DEPTH";
const WORKER: &str = "DCLI_WORKER";
const BACKEND: &str = "DCLI_BACKEND";
const JOB_ID: &str = "DCLI_JOB_ID";
const STATE_ROOT: &str = "DCLI_STATE_ROOT";

/// What a child gets from dcli alone, whatever is inherited.
const STAMPS: [&str; 4] = [DEPTH, WORKER, BACKEND, JOB_ID];

/// The job that a run belongs to: its children can find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStamp {
    /// The job.
    pub job_id: JobId,
    /// The state root that holds it.
    pub state_root: PathBuf,
}

/// The workers above a process, as its environment tells of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// How many there are; `None`: the variable is set and is no number.
    pub depth: Option<u32>,
    /// The backend of the nearest one.
    pub backend: Option<OsString>,
    /// The job of the nearest one that belongs to a job, and its state root.
    job: Option<(OsString, Option<OsString>)>,
}

impl Lineage {
    /// Reads it off an environment.
    pub(crate) fn of(variables: &[(OsString, OsString)]) -> Self {
        let found = |wanted: &str| {
            let set = variables.iter().find(|(name, value)| name == wanted && !value.is_empty());
            set.map(|(_, value)| value.clone())
        };
        let depth = match found(DEPTH) {
            None => Some(0),
            Some(text) => text.to_str().and_then(|text| text.parse().ok()),
        };
        let job = found(JOB_ID).map(|job| (job, found(STATE_ROOT)));
        Self { depth, backend: found(BACKEND), job }
    }

    /// The job of the nearest worker that belongs to one, and its state root.
    pub(crate) fn job_around(&self) -> Option<(&OsStr, Option<&OsStr>)> {
        self.job.as_ref().map(|(job, root)| (job.as_os_str(), root.as_deref()))
    }

    /// The deeper of two. A depth that is no number is the deepest.
    pub(crate) fn or_deeper(self, other: Self) -> Self {
        let deep = |lineage: &Self| lineage.depth.unwrap_or(u32::MAX);
        if deep(&other) > deep(&self) { other } else { self }
    }

    /// The variables that tell a child where it stands, and which backend it is, if it is one.
    /// Without a job of its own it is told of the job around it.
    pub(crate) fn stamps(
        &self,
        backend: Option<&str>,
        job: Option<&JobStamp>,
    ) -> Vec<(&'static str, OsString)> {
        let depth = self.depth.unwrap_or(u32::MAX).saturating_add(1);
        let mut stamps: Vec<(&str, OsString)> =
            vec![(DEPTH, depth.to_string().into()), (WORKER, "1".into())];
        stamps.extend(backend.map(|backend| (BACKEND, backend.into())));
        match (job, &self.job) {
            (Some(job), _) => {
                stamps.push((JOB_ID, job.job_id.to_string().into()));
                stamps.push((STATE_ROOT, job.state_root.clone().into()));
            }
            (None, Some((id, root))) => {
                stamps.push((JOB_ID, id.clone()));
                stamps.extend(root.iter().map(|root| (STATE_ROOT, root.clone())));
            }
            (None, None) => {}
        }
        stamps
    }
}

/// Whether a variable comes from [`Lineage::stamps`] or not at all.
pub(crate) fn is_stamp(name: &OsStr) -> bool {
    STAMPS.iter().any(|stamp| name == *stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(pairs: &[(&str, &str)]) -> Lineage {
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        Lineage::of(&pairs)
    }

    #[test]
    fn a_depth_is_a_number_and_anything_else_is_too_deep() {
        assert_eq!(lineage(&[]).depth, Some(0));
        assert_eq!(lineage(&[(DEPTH, "")]).depth, Some(0));
        assert_eq!(lineage(&[(DEPTH, "3")]).depth, Some(3));
        for text in ["-1", "one", "1.5", "99999999999", " 1"] {
            assert_eq!(lineage(&[(DEPTH, text)]).depth, None, "{text:?}");
        }
    }

    #[test]
    fn the_deeper_of_two_counts() {
        let [top, deep, unreadable] = ["0", "2", "x"].map(|text| lineage(&[(DEPTH, text)]));
        assert_eq!(top.clone().or_deeper(deep.clone()), deep);
        assert_eq!(deep.clone().or_deeper(top), deep);
        assert_eq!(deep.or_deeper(unreadable.clone()), unreadable);
    }

    #[test]
    fn a_run_without_a_job_passes_on_the_job_around_it_with_its_state_root() {
        let around = [(JOB_ID, "outer"), (STATE_ROOT, "/root"), (BACKEND, "a"), (DEPTH, "1")];
        let stamps = lineage(&around).stamps(Some("b"), None);
        let wanted =
            [(DEPTH, "2"), (WORKER, "1"), (BACKEND, "b"), (JOB_ID, "outer"), (STATE_ROOT, "/root")];
        assert_eq!(stamps, wanted.map(|(name, value)| (name, value.into())));
    }

    #[test]
    fn a_run_of_a_job_is_told_of_its_own_job() {
        let job_id: JobId = "20260102T030405Z-abcdefgh".parse().unwrap();
        let own = JobStamp { job_id: job_id.clone(), state_root: "/own".into() };
        let around = [(JOB_ID, "outer"), (STATE_ROOT, "/root")];
        let stamps = lineage(&around).stamps(Some("b"), Some(&own));
        assert_eq!(stamps[3..], [(JOB_ID, job_id.to_string().into()), (STATE_ROOT, "/own".into())]);
    }

    #[test]
    fn the_state_root_alone_is_no_stamp() {
        let stamps = lineage(&[(STATE_ROOT, "/root"), (BACKEND, "old")]).stamps(Some("b"), None);
        let wanted = [(DEPTH, "1"), (WORKER, "1"), (BACKEND, "b")];
        assert_eq!(stamps, wanted.map(|(name, value)| (name, value.into())));
    }
}
