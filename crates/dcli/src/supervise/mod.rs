//! Drives one attempt: sources send what happened into one channel, and one loop receives, steps
//! the pure machine, and performs its effects.

pub(crate) mod answers;
pub(crate) mod cancel;
pub(crate) mod capture;
pub(crate) mod drive;
mod intake;
pub(crate) mod prompt;
pub mod stamp;
pub(crate) mod talk;
mod watch;
pub(crate) mod witness;
