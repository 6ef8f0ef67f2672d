//! Jobs: runs with a record that outlives the process that made it.

pub mod answer;
pub mod event;
pub mod id;
pub mod machine;
mod projection;
pub mod request;
pub mod state;
pub mod status;
mod step;
pub mod verdict;
