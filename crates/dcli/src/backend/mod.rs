//! Backends: what runs a prompt. Records are data; starting a process is written once.

mod brief;
pub(crate) mod bulk;
pub(crate) mod claude;
pub(crate) mod environment;
pub(crate) mod lineage;
pub(crate) mod opencode;
pub(crate) mod program;
pub(crate) mod session;
pub(crate) mod spawn;
