//! What dcli keeps on disk.

pub mod journal;
pub mod layout;
pub mod lease;
pub mod lines;
pub mod lock;
pub mod record;
pub mod redacted;
pub mod redactor;
pub mod regular;
pub mod root;
pub mod versions;
