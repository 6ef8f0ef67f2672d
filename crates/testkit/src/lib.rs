//! Test parts for dcli: a scripted model server, scripted agents, hostile process trees, and the
//! probes that tests look at them with. Never published; nothing in the product depends on it.
//!
//! ```
//! use dcli_testkit::model::{Scenario, Server, Turn};
//!
//! let turns = [Turn::write("/tmp/x", "content"), Turn::text("done")];
//! let server = Server::start(Scenario::of(turns))?;
//! // … run a coding CLI against `server.url()`, then look at what it asked …
//! assert!(server.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod agent;
pub mod clis;
pub mod evidence;
pub mod hang;
pub mod hostile;
pub mod model;
pub mod opencode;
mod proc;
pub mod process;
pub mod programs;
pub mod room;
pub mod schema;
