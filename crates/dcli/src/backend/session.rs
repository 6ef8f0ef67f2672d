//! Sessions: backends that are talked with while they run, each through an adapter of its own.

use std::sync::Arc;

use dcli_contain::Identity;
use dcli_core::executor::scan::Request;
use dcli_core::failure::Failure;
use dcli_core::interaction::{Ask, Reply};
use serde_json::Value;

/// What a session says of its backend, in the order in which it learned of it.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A record, for the rules of the executor's own record: one JSON object.
    Record(String),
    /// What the backend sent beside its records, as it came; it is kept in a log and never read.
    Raw(Vec<u8>),
    /// The backend asks something and waits.
    Asked(Ask),
    /// It does not ask that any more, by its own name for it.
    Withdrawn(String),
    /// Something is going on that is no record of its own.
    Active,
    /// A server is reached and is the right one.
    Serving(Serving),
    /// What this backend alone has.
    State(Value),
    /// The run has failed, whatever its records say.
    Failed(Failure),
    /// The session has come to its end: nothing more comes.
    Settled,
}

/// A server that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Serving {
    /// Where: no secret is in it.
    pub url: String,
    /// The version that it says it is.
    pub version: String,
}

/// Takes what a session says, from any thread; false: nobody listens any more.
pub(crate) type Hear = Arc<dyn Fn(Heard) -> bool + Send + Sync>;

/// A backend that is talked with. No call waits for the backend.
pub(crate) trait Session: Send {
    /// Begins, once the backend's process runs.
    fn begin(&mut self, leader: &Identity, hear: Hear);

    /// What was asked on standard output, in words that all backends share; `None`: it is nothing
    /// that this adapter can answer, and has been refused.
    fn read(&mut self, _request: Request) -> Option<Heard> {
        None
    }

    /// Tells the backend what was decided.
    fn reply(&mut self, reply: Reply);

    /// Asks the backend to stop what it does: a rung of the ladder.
    fn abort(&mut self);

    /// The run is complete, or has failed: nothing more will be said to the backend.
    fn close(&mut self);
}
