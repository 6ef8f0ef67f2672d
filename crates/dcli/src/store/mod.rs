//! What dcli keeps on disk.

pub mod layout;
pub mod record;
pub mod regular;
pub mod versions;
