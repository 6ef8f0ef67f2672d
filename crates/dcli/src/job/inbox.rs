//! The worker's side of answers from outside: each that comes to what is open is handed over once,
//! and when the time for one is over, the door is shut.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dcli_core::interaction::{Answer, Decision, SCHEMA_VERSION};
use dcli_core::job::id::InteractionId;
use dcli_core::job::status::Status;

use crate::exec::stamp::now;
use crate::exec::{Answers, Hooks};
use crate::store::answers::TakenAnswers;
use crate::store::job_dir::{JobDir, RecordError};
use crate::store::job_writer::JobWriter;
use crate::store::root::WritableRoot;

/// What has been seen of one file: an answer, or nothing that counts.
type Seen = BTreeMap<InteractionId, Option<Answer>>;

/// Where answers come in. The record of the job is in the hands of its run: what is open is read off
/// the projection, as whoever answers does.
pub(super) struct Inbox {
    dir: JobDir,
    root: WritableRoot,
    answers: TakenAnswers,
    talk: Answers,
    seen: Arc<Mutex<Seen>>,
}

impl Inbox {
    /// Answers go to the run of `hooks` from now on, which shuts the door of each when its time is
    /// over: whoever comes later finds it shut, and one who came before has answered.
    pub(super) fn open(writer: &JobWriter, root: &WritableRoot, hooks: &Hooks) -> Self {
        let (answers, seen) = (writer.answers(), Arc::new(Mutex::new(Seen::new())));
        let door = Door { root: root.clone(), answers: answers.clone(), seen: Arc::clone(&seen) };
        hooks.answers.close_with(move |id| door.shut(id));
        let (dir, talk) = (writer.dir().clone(), hooks.answers.clone());
        Self { dir, root: root.clone(), answers, talk, seen }
    }

    /// Looks once for new answers.
    pub(super) fn look(&self) {
        for id in self.answers.all().ids() {
            if lock(&self.seen).contains_key(&id) {
                continue;
            }
            match self.take(&id) {
                Ok(()) => {}
                Err(reason) => self.refuse(&id, &reason),
            }
        }
    }

    /// Nobody is told any more: what came too late to be taken keeps its words no longer either.
    pub(super) fn close(&self) {
        for id in self.answers.all().ids() {
            let is_new = !lock(&self.seen).contains_key(&id);
            if let (true, Ok(Some(answer))) = (is_new, self.answers.all().get(&id)) {
                // The job is over or ending; whoever looks at it is told that.
                let _ = self.answers.keep(&id, &answer);
            }
        }
    }

    /// Hands one answer over. What is not open is not answered: neither what was not asked yet, nor
    /// what is decided.
    fn take(&self, id: &InteractionId) -> Result<(), String> {
        let answer = {
            let mut seen = lock(&self.seen);
            let Some(answer) = self.answers.all().get(id)? else { return Ok(()) };
            // The door shut it in between.
            if seen.contains_key(id) {
                return Ok(());
            }
            if answer.decision == Decision::Expired {
                return Err("that is for the clock to say".to_owned());
            }
            match self.is_open(id) {
                Ok(true) => {}
                Ok(false) => return Err(format!("{id} is not open")),
                // Another look will tell.
                Err(_) => return Ok(()),
            }
            seen.insert(id.clone(), Some(answer.clone()));
            answer
        };
        // Its words are in memory now, and on the disk only as everything else is.
        let kept = self.answers.keep(id, &answer);
        self.talk.give(answer);
        if let Err(error) = kept {
            self.note(id, &format!("its words stay as they were given: {error}"));
        }
        Ok(())
    }

    fn is_open(&self, id: &InteractionId) -> Result<bool, RecordError> {
        let status: Status = self.dir.status()?;
        Ok(status.is_open(id.as_str()))
    }

    /// What is no answer is named in the worker's log, and taken away where that can be done, so
    /// that somebody may still answer.
    fn refuse(&self, id: &InteractionId, reason: &str) {
        self.note(id, reason);
        if self.answers.all().clear(&self.root, id).is_err() {
            lock(&self.seen).insert(id.clone(), None);
        }
    }

    fn note(&self, id: &InteractionId, note: &str) {
        let path = self.answers.all().path(id);
        // The log is for whoever looks; the job goes on without it.
        let _ = self.answers.note(&format!("{} {}: {note}", now(), path.display()));
    }
}

/// Shuts the door of one interaction after another.
struct Door {
    root: WritableRoot,
    answers: TakenAnswers,
    seen: Arc<Mutex<Seen>>,
}

impl Door {
    /// The answer that came first, if one did.
    fn shut(&self, interaction_id: &str) -> Option<Answer> {
        let id: InteractionId = interaction_id.parse().ok()?;
        let mut seen = lock(&self.seen);
        if let Some(known) = seen.get(&id) {
            return known.clone();
        }
        let expired = Answer {
            schema_version: SCHEMA_VERSION,
            interaction_id: id.to_string(),
            decision: Decision::Expired,
            message: None,
            answers: Vec::new(),
            responder: None,
            at: now(),
        };
        let answer = match self.answers.all().put(&self.root, &id, &expired) {
            // One that is there and cannot be read is none.
            Ok(false) => self.answers.all().get(&id).ok().flatten(),
            Ok(true) | Err(_) => None,
        };
        let answer = answer.filter(|answer| answer.decision != Decision::Expired);
        if let Some(answer) = &answer {
            // It counts, whatever stays of its words.
            let _ = self.answers.keep(&id, answer);
        }
        seen.insert(id, answer.clone());
        answer
    }
}

/// Nothing but a panic elsewhere leaves a lock poisoned, and what is behind these is whole then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
