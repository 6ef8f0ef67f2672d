//! Typed model controls.
