//! Executor records and what is computed from them.
pub mod controls;
