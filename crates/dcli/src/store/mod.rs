//! What dcli keeps on disk.

pub mod answers;
pub mod attempt;
pub mod groups;
pub mod job_dir;
pub mod job_writer;
pub mod jobs;
pub mod journal;
pub mod layout;
pub mod lease;
pub mod ledger;
pub mod lines;
pub mod lock;
pub mod log;
pub mod new_job;
pub mod orphans;
pub mod queue;
pub mod record;
pub mod redacted;
pub mod regular;
pub mod retention;
pub mod root;
pub mod servers;
pub mod slots;
pub mod tree;
pub mod versions;
