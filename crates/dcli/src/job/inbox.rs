//! The worker's side of answers from outside: each that comes to what is open is handed over once,
//! and when the time for one is over, the door is shut.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dcli_core::interaction::{Answer, Decision, SCHEMA_VERSION};
use dcli_core::job::id::InteractionId;

use super::keeper::Keeper;
use crate::exec::stamp::now;
use crate::exec::{Answers as Talk, Hooks};
use crate::store::answers::Answers;
use crate::store::attempt::LogName;
use crate::store::root::WritableRoot;

/// What has been seen of one file: an answer, or nothing that counts.
type Seen = BTreeMap<InteractionId, Option<Answer>>;

/// Where answers come in.
pub(super) struct Inbox {
    keeper: Arc<Mutex<Keeper>>,
    root: WritableRoot,
    answers: Answers,
    talk: Talk,
    seen: Arc<Mutex<Seen>>,
}

impl Inbox {
    /// Answers go to the run of `hooks` from now on, which shuts the door of each when its time is
    /// over: whoever comes later finds it shut, and one who came before has answered.
    pub(super) fn open(keeper: Arc<Mutex<Keeper>>, root: WritableRoot, hooks: &Hooks) -> Self {
        let answers = Answers::of(lock(&keeper).writer.dir());
        let seen = Arc::new(Mutex::new(Seen::new()));
        let inbox = Self { keeper, root, answers, talk: hooks.answers.clone(), seen };
        let door = Door {
            root: inbox.root.clone(),
            answers: inbox.answers.clone(),
            seen: Arc::clone(&inbox.seen),
        };
        hooks.answers.close_with(move |id| door.shut(id));
        inbox
    }

    /// Looks once for new answers.
    pub(super) fn look(&self) {
        for id in self.answers.ids() {
            if lock(&self.seen).contains_key(&id) {
                continue;
            }
            match self.take(&id) {
                Ok(()) => {}
                Err(reason) => self.refuse(&id, &reason),
            }
        }
    }

    /// Hands one answer over. What is not open is not answered: neither what was not asked yet, nor
    /// what is decided.
    fn take(&self, id: &InteractionId) -> Result<(), String> {
        let answer = {
            let mut seen = lock(&self.seen);
            let Some(answer) = self.answers.get(id)? else { return Ok(()) };
            // The door shut it in between.
            if seen.contains_key(id) || answer.decision == Decision::Expired {
                return Ok(());
            }
            if !self.is_open(id) {
                return Err(format!("{id} is not open"));
            }
            seen.insert(id.clone(), Some(answer.clone()));
            answer
        };
        // Its words are in memory now, and on the disk only as everything else is.
        let kept = lock(&self.keeper).writer.keep_answer(id, &answer);
        self.talk.give(answer);
        kept.map_err(|error| format!("its words stay as they were given: {error}")).or_else(
            |note| {
                self.note(id, &note);
                Ok(())
            },
        )
    }

    fn is_open(&self, id: &InteractionId) -> bool {
        let keeper = lock(&self.keeper);
        let mut asked = keeper.job.status().interactions.iter();
        asked.any(|one| one.interaction_id == id.as_str() && one.is_open())
    }

    /// What is no answer is named in the worker's log, and taken away where that can be done, so
    /// that somebody may still answer.
    fn refuse(&self, id: &InteractionId, reason: &str) {
        self.note(id, reason);
        if self.answers.clear(&self.root, id).is_err() {
            lock(&self.seen).insert(id.clone(), None);
        }
    }

    fn note(&self, id: &InteractionId, note: &str) {
        let line = format!("{} {}: {note}\n", now(), self.answers.path(id).display());
        let log = lock(&self.keeper).writer.log(LogName::Worker);
        // The log is for whoever looks; the job goes on without it.
        let _ = log.and_then(|mut log| log.push(line.as_bytes()).and_then(|()| log.finish()));
    }
}

/// Shuts the door of one interaction after another.
struct Door {
    root: WritableRoot,
    answers: Answers,
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
        let answer = match self.answers.put(&self.root, &id, &expired) {
            // One that is there and cannot be read is none.
            Ok(false) => self.answers.get(&id).ok().flatten(),
            Ok(true) | Err(_) => None,
        };
        let answer = answer.filter(|answer| answer.decision != Decision::Expired);
        seen.insert(id, answer.clone());
        answer
    }
}

/// Nothing but a panic elsewhere leaves a lock poisoned, and what is behind these is whole then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
