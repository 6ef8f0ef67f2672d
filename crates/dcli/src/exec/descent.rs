//! Descent: the places that all live runs below one job share, whichever store they are kept in.

use std::os::fd::{AsFd, OwnedFd};

use dcli_core::envelope::ErrorCode;
use dcli_core::job::id::JobId;
use rustix::io::fcntl_dupfd_cloexec;

use super::host::Host;
use super::prepare::{Refusal, refuse};
use crate::store::layout;
use crate::store::lease::Lease;
use crate::store::root::StateRoot;
use crate::store::slots::take_descendant;

/// How many runs may be alive below one job, unless configured.
pub const MAX_DESCENDANTS: u32 = 16;

/// A place among the live runs below a job, held as long as the value.
#[derive(Debug)]
pub(crate) struct Descent(Lease);

impl Descent {
    /// A copy to hand over: whoever has it keeps the place.
    pub(crate) fn copy(&self) -> std::io::Result<OwnedFd> {
        Ok(fcntl_dupfd_cloexec(self.0.as_fd(), 3)?)
    }
}

/// A place below the first job above this process; none where no job is above it. Where the state
/// root cannot be written, which is how an enforced access leaves it, there is nothing to take: the
/// depth alone bounds those runs.
pub(crate) fn descend(host: &Host) -> Result<Option<Descent>, Refusal> {
    let Some((job, root)) = host.lineage.job_around() else { return Ok(None) };
    let Some(job) = job.to_str().and_then(|id| id.parse::<JobId>().ok()) else { return Ok(None) };
    let root = root.map_or_else(layout::state_root, |root| Ok(root.into()));
    let Ok((root, first)) = root.map(|root| layout::outermost(&root, job)) else { return Ok(None) };
    let Ok(writable) = StateRoot::writing(root) else { return Ok(None) };
    let most = host.max_descendants;
    let taken = take_descendant(&writable, &first, usize::try_from(most).unwrap_or(usize::MAX));
    match taken {
        Ok(Some(place)) => Ok(Some(Descent(place))),
        Ok(None) => Err(refuse(
            ErrorCode::ExecutorCapExceeded,
            format!(
                "{most} runs are alive below job {first}, and no more may be; nothing was started; \
                 wait for one to end, or allow more with max_descendants below [limits] in the \
                 user's config.toml"
            ),
        )),
        Err(error) => Err(refuse(
            ErrorCode::ExecutorPermissionDenied,
            format!(
                "the places of runs below job {first} cannot be used: {error}; nothing was started"
            ),
        )),
    }
}
