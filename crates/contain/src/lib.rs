//! Containment.
