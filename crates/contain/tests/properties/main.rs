//! What containment promises, one file per property. Real processes throughout; each test waits on
//! events with one hang limit, and a rung that this host lacks is reported, never passed over in silence.
#![cfg(target_os = "linux")]

mod stage;

mod bulk;
mod detached;
mod end;
mod entry;
mod exits;
mod hostile;
mod init;
mod inside;
mod interrupt;
mod nested;
mod refusals;
mod standard_input;
mod stopped;
mod surroundings;
mod tree;
mod uncontained;
mod weaker;
