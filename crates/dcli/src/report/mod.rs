//! What people and programs read: the same typed values, for people and as JSON.

pub mod human;
pub mod interaction;
pub mod job;
pub mod json;
pub mod paint;
pub mod table;
