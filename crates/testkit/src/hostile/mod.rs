//! A process tree that does not want to die, as the binary `dcli-hostile-tree`.
//!
//! Every part of it was seen to outlive some way of ending a job: its own sessions, orphans of
//! exited parents, ignored signals, pairs that start each other again, processes that hop from pid
//! to pid, a storm of short-lived ones, a held standard output, and one that kills what it can
//! see. It limits itself: each process exits by the deadline that the whole tree was born with.

mod killer;
pub(crate) mod random;
mod role;
mod tree;

pub use killer::{KillRefused, PERMIT_VARIABLE, permit};
pub use tree::{Mode, Tree, TreeError, main};
