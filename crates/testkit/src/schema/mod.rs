//! Holding printed JSON to its JSON Schema, by a validator that somebody else wrote.

mod closed;
mod mutation;
mod validator;

pub use closed::closed;
pub use mutation::{Change, Mutation, mutations};
pub use validator::{Validator, ValidatorMissing, check};
