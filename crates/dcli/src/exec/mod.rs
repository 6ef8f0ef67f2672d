//! One-shot runs: one prompt in the foreground, no job record, one envelope.
//!
//! ```no_run
//! use dcli::exec::{Hooks, Host, Request, exec};
//! use dcli::contain::{self, Entry};
//! use dcli::model::executor::Catalogue;
//!
//! contain::entry(); // the first call in main: this program is run again as the init
//! let host = Host::new(Entry::current()?);
//! let catalogue = Catalogue::shipped()?;
//! let request = Request::new(catalogue.find("codex")?.clone(), "Say OK.", "/path/to/checkout");
//! let envelope = exec(&host, request, &Hooks::default());
//! println!("{:?}: {}", envelope.status, envelope.summary);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod attempt;
pub(crate) mod brief;
mod descent;
mod finish;
mod host;
mod options;
mod prepare;
mod request;
mod run;
mod start;
mod terms;
pub mod version;
mod way;

pub use crate::backend::environment::Inherit;
pub use crate::backend::lineage::JobStamp;
pub(crate) use crate::backend::session::Serving;
pub use crate::store::ledger::{Lost, OnLost};
pub use crate::supervise::answers::Answers;
pub use crate::supervise::cancel::Cancel;
pub(crate) use crate::supervise::capture::scratch_file;
pub(crate) use crate::supervise::capture::{Keep, STDOUT as CAPTURED_STDOUT};
pub use crate::supervise::stamp;
pub use crate::supervise::witness::OnFact;
pub(crate) use crate::supervise::witness::{SharedWitness, StartedReport, Stream, Witness};
pub use descent::MAX_DESCENDANTS;
pub(crate) use descent::{Descent, descend};
pub use host::{Hooks, Host, MAX_DEPTH, Timing};
pub(crate) use prepare::{Prepared, Refusal, prepare};
pub use request::{ModelChoice, Request, Timeouts};
pub(crate) use run::{Keeping, attempt, envelope_of, refused_now};
pub use run::{Plan, exec};
pub(crate) use start::contained_now;
