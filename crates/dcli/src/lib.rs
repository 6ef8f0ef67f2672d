//! dcli.
