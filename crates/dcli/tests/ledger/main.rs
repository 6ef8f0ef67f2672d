//! The durable ledger: caps of the configuration hold over processes, days and crashes.

#![expect(clippy::unwrap_used, reason = "what stages a run may fail its test")]

mod books;
mod caps;
mod desk;
mod faults;
mod race;
