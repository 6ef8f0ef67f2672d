//! The one way a test waits: until something is true, with a limit that only a hang reaches.
//!
//! The limit is never the thing measured; a test that needs a duration belongs in a bench.

use std::time::{Duration, Instant};

/// The hang limit that fits every test of this workspace.
pub const HANG_LIMIT: Duration = Duration::from_secs(60);

/// Time between two looks at something that gives no event of its own (`/proc`, a file).
const LOOK: Duration = Duration::from_millis(5);

/// What was waited for did not happen within the hang limit.
#[derive(Debug, thiserror::Error)]
#[error("hang limit of {limit:?} reached while waiting for {what}")]
pub struct Hang {
    /// The event that never came.
    pub what: String,
    /// The limit that was reached.
    pub limit: Duration,
}

/// Looks at `happened` until it is true.
///
/// # Errors
/// [`Hang`] once `limit` has passed.
pub fn wait_until(
    what: &str,
    limit: Duration,
    mut happened: impl FnMut() -> bool,
) -> Result<(), Hang> {
    wait_for(what, limit, || happened().then_some(()))
}

/// Looks at `find` until it gives a value, and returns that value.
///
/// # Errors
/// [`Hang`] once `limit` has passed.
pub fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut find: impl FnMut() -> Option<T>,
) -> Result<T, Hang> {
    let started = Instant::now();
    loop {
        if let Some(found) = find() {
            return Ok(found);
        }
        if started.elapsed() >= limit {
            return Err(Hang { what: what.to_owned(), limit });
        }
        std::thread::sleep(LOOK);
    }
}
