//! Answers from outside to what a job asks, each in a file of its own: it appears whole, and of two
//! who answer the same, one is first and the other hears so.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dcli_core::interaction::{Answer, SCHEMA_VERSION};
use dcli_core::job::id::InteractionId;

use super::job_dir::JobDir;
use super::log::Log;
use super::record::{Durability, replace_in_place};
use super::redacted::Redaction;
use super::regular;
use super::root::WritableRoot;

/// The longest answer, in bytes of its file: 1 MiB.
pub const LONGEST: u64 = 1 << 20;
/// The most files that are looked at: no job asks more often.
const MOST: usize = dcli_core::interaction::desk::MOST;
/// How the name of each ends.
const ENDING: &str = ".json";

/// The answers of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    directory: PathBuf,
}

impl Answers {
    /// Of this job, where they would be.
    #[must_use]
    pub fn of(job: &JobDir) -> Self {
        Self { directory: job.path().join("answers") }
    }

    /// The file of one answer.
    #[must_use]
    pub fn path(&self, id: &InteractionId) -> PathBuf {
        self.directory.join(format!("{id}{ENDING}"))
    }

    /// Puts an answer in its place. False: there is one already, and it stands.
    ///
    /// # Errors
    /// It is longer than [`LONGEST`], or cannot be written. Nothing was put.
    pub fn put(
        &self,
        _root: &WritableRoot,
        id: &InteractionId,
        answer: &Answer,
    ) -> io::Result<bool> {
        let bytes = serde_json::to_vec(answer)?;
        if bytes.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "longer than 1 MiB"));
        }
        super::layout::make_private(&self.directory)?;
        if !self.directory.symlink_metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        // Nothing of it has to outlive a power failure: the worker that it is for does not.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(&bytes)?;
        match file.persist_noclobber(self.path(id)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    /// The answer to `id`; `None` where there is none. Who gave it is the owner of the file,
    /// whatever is written in it.
    ///
    /// # Errors
    /// What is there is no answer to it: in words that say what is wrong.
    pub fn get(&self, id: &InteractionId) -> Result<Option<Answer>, String> {
        let (bytes, owner) = match read(&self.path(id)) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut answer: Answer =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if answer.schema_version != SCHEMA_VERSION {
            return Err(format!("schema_version {} is not known", answer.schema_version));
        }
        if answer.interaction_id != id.as_str() {
            return Err(format!("it answers {:.20}", answer.interaction_id));
        }
        answer.responder = Some(responder(owner));
        Ok(Some(answer))
    }

    /// What has been answered, in no order. Files of other names are none of these.
    #[must_use]
    pub fn ids(&self) -> Vec<InteractionId> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let id =
            |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(ENDING)?.parse().ok();
        entries.take(MOST).filter_map(id).collect()
    }

    /// Takes away what is in the place of an answer and is none, so that one can be given.
    ///
    /// # Errors
    /// It is still there.
    pub fn clear(&self, _root: &WritableRoot, id: &InteractionId) -> io::Result<()> {
        fs::remove_file(self.path(id))
    }
}

/// The answers of one job, in the hands of its worker.
#[derive(Debug, Clone)]
pub struct TakenAnswers {
    answers: Answers,
    log: PathBuf,
    redaction: Redaction,
}

impl TakenAnswers {
    pub(super) fn new(answers: Answers, log: PathBuf, redaction: Redaction) -> Self {
        Self { answers, log, redaction }
    }

    /// The answers themselves.
    #[must_use]
    pub fn all(&self) -> &Answers {
        &self.answers
    }

    /// Replaces an answer that was taken in: its words stay, redacted.
    ///
    /// # Errors
    /// It is there as it was given.
    pub fn keep(&self, id: &InteractionId, answer: &Answer) -> io::Result<()> {
        let bytes = self.redaction.json(answer)?;
        replace_in_place(&self.answers.path(id), &bytes, Durability::Unsynced)
    }

    /// The same for all of them, also for what nobody took in. What cannot be written stays as it is.
    pub fn keep_all(&self) {
        for id in self.answers.ids() {
            if let Ok(Some(answer)) = self.answers.get(&id) {
                let _ = self.keep(&id, &answer);
            }
        }
    }

    /// Adds a line to the worker's log.
    ///
    /// # Errors
    /// It was not written.
    pub fn note(&self, line: &str) -> io::Result<()> {
        let mut log = Log::open(&self.log, self.redaction.stream())?;
        log.push(line.as_bytes())?;
        log.push(b"\n")?;
        log.finish()
    }
}

/// A link or a pipe in its place is no answer, and nobody waits for one.
fn read(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    let file = regular::open_own(path)?;
    let owner = file.metadata()?.uid();
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LONGEST {
        true => Err(io::Error::other("longer than 1 MiB")),
        false => Ok((bytes, owner)),
    }
}

/// A user as records name one who answered.
#[must_use]
pub fn responder(uid: u32) -> String {
    format!("uid {uid}")
}
