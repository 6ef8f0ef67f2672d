//! Executor records and what is computed from them.

pub mod access;
pub mod argv;
pub mod catalogue;
mod channel;
pub mod controls;
pub(crate) mod diagnosis;
mod failing;
mod making;
mod native;
mod output;
mod reader;
pub mod record;
pub mod rule;
pub mod scan;
mod tally;
mod usage;
pub mod validate;
mod wanted;

pub use catalogue::{Catalogue, Executor, Source};
pub use record::Record;
pub use scan::{Scan, Scanner};
pub use validate::RecordError;
