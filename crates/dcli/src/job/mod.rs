//! Jobs: one file a verb, a typed request in and a typed result out. Nothing is printed here.

pub mod capabilities;
pub mod doctor;
