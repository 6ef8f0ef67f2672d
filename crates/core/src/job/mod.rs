//! Jobs: runs with a record that outlives the process that made it.

pub mod id;
