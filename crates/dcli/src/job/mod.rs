//! Jobs: runs with a record of their own, that outlive the process which asked for them. One file a
//! verb, a typed request in and a typed result out. Nothing is printed here.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use dcli::contain::Entry;
//! use dcli::exec::Request;
//! use dcli::job::{Engine, Spec, Until, Which, read, submit, wait};
//! use dcli::model::executor::Catalogue;
//!
//! dcli::entry(); // the first call in main: this program is run again as init and as worker
//! let engine = Engine::new(Entry::current()?)?;
//! let codex = Catalogue::shipped()?.find("codex")?.clone();
//! let made = submit(&engine, Spec::new(Request::new(codex, "Say OK.", "/path/to/checkout")))?;
//! let which = Which::Jobs(vec![made.job_id.clone()]);
//! wait(&engine, &which, Until::All, Duration::from_secs(600), |status| {
//!     println!("{}", status.state);
//! })?;
//! let answer = read(&engine, &made.job_id, false)?;
//! println!("{}", String::from_utf8_lossy(&answer.result));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cancel;
pub mod capabilities;
mod cleanup;
mod create;
mod debug;
pub mod doctor;
mod engine;
mod error;
mod fault;
mod handoff;
mod inbox;
mod interactions;
mod keeper;
mod list;
mod output;
mod places;
mod read;
mod reconcile;
mod repository;
mod respond;
mod run;
mod salvage;
mod secret;
mod serve;
mod spec;
mod status;
mod submit;
pub mod tail;
mod wait;
mod watch;
mod worker;

pub use crate::store::retention::Rule;
pub use cancel::cancel;
pub use cleanup::{Mode as CleanupMode, cleanup};
pub use debug::debug;
pub use engine::Engine;
pub use error::JobError;
pub use interactions::{Asked, Asker, interactions};
pub use list::{Filter, Listed, list};
pub use read::{Answer, read};
pub use repository::Repository;
pub use respond::{Response, respond};
pub use run::{WhenFull, run};
pub use serve::{Occasion, serve, started_for};
pub use spec::Spec;
pub use status::status;
pub use submit::submit;
pub use wait::{Until, Waited, Which, wait};
