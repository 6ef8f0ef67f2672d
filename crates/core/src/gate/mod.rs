//! The gate every run passes.
