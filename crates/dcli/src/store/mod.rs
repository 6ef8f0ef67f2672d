//! What dcli keeps on disk.

pub mod layout;
pub mod record;
pub mod versions;
