//! The session as the run sees it: one thread that speaks with the server, and calls that never wait
//! for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dcli_contain::Identity;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::interaction::Reply;
use serde_json::json;

use super::Opening;
use super::announce;
use super::begin;
use super::ears::{Ears, Word};
use super::events;
use super::fault::Fault;
use super::http::Client;
use super::link::Link;
use super::negotiate::negotiate;
use super::operations as ops;
use super::watch::{Of, Watch};
use crate::backend::session::{Hear, Heard, Serving, Session};

/// How long a turn that was told to stop has for it.
const ABORTED: Duration = Duration::from_secs(2);

/// Where the server can be told to stop, once there is something to stop.
type Reach = Arc<Mutex<Option<(Client, Vec<String>)>>>;

/// A session on the job's server.
pub(super) struct Conversation {
    opening: Option<Opening>,
    ears: Option<Ears>,
    words: Sender<Word>,
    hear: Option<Hear>,
    reach: Reach,
    is_over: Arc<AtomicBool>,
}

impl Conversation {
    pub(super) fn new(opening: Opening) -> Self {
        let (words, ears) = Ears::new();
        Self {
            opening: Some(opening),
            ears: Some(ears),
            words,
            hear: None,
            reach: Reach::default(),
            is_over: Arc::default(),
        }
    }
}

impl Session for Conversation {
    fn begin(&mut self, _leader: &Identity, hear: Hear) {
        self.hear = Some(Arc::clone(&hear));
        let (Some(opening), Some(ears)) = (self.opening.take(), self.ears.take()) else { return };
        let speaker = Speaker {
            opening,
            words: self.words.clone(),
            hear: Arc::clone(&hear),
            reach: Arc::clone(&self.reach),
            is_over: Arc::clone(&self.is_over),
        };
        let thread = std::thread::Builder::new().name("opencode session".to_owned());
        if let Err(error) = thread.spawn(move || speaker.speak(ears)) {
            let message = format!("no thread could be started to speak with the server: {error}");
            hear(Heard::Failed(Failure::seen(FailureClass::Internal, message)));
            hear(Heard::Settled);
        }
    }

    fn reply(&mut self, reply: Reply) {
        // A thread that is gone has settled.
        let _ = self.words.send(Word::Reply(reply));
    }

    fn abort(&mut self) {
        let Some(hear) = self.hear.clone() else { return };
        let _ = self.words.send(Word::Aborted);
        let reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((client, sessions)) = reach else { return };
        let aborting = move || {
            let until = Instant::now() + ABORTED;
            for session in sessions {
                let left = until.saturating_duration_since(Instant::now());
                let left = left.max(Duration::from_millis(50));
                // One that is not heard is killed on the next rung.
                let _ = client.call(&ops::ABORT, &session, None, left);
            }
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            hear(Heard::Settled);
        };
        let _ = std::thread::Builder::new().name("opencode abort".to_owned()).spawn(aborting);
    }

    fn close(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.words.send(Word::Close);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the thread has.
struct Speaker {
    opening: Opening,
    words: Sender<Word>,
    hear: Hear,
    reach: Reach,
    is_over: Arc<AtomicBool>,
}

impl Speaker {
    fn speak(self, mut ears: Ears) {
        let spoken = self.converse(&mut ears);
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(failure) = spoken.err().and_then(|fault| fault.failure()) {
            (self.hear)(Heard::Failed(failure));
        }
        (self.hear)(Heard::Settled);
    }

    fn converse(&self, ears: &mut Ears) -> Result<(), Fault> {
        let opening = &self.opening;
        let url = announce::wait(&opening.announced, ears)?;
        let directory = opening.directory.as_os_str().as_encoded_bytes();
        let client = Client::new(&url, directory, &opening.password);
        let mut link = Link::new(client.clone());
        let ground = negotiate(&mut link, ears, opening)?;
        let state = json!({
            "schema_version": 1,
            "directory": opening.directory,
            "project_id": ground.project,
            "agents_left_out": ground.own.unasking,
        });
        self.say(Heard::Serving(Serving { url, version: ground.version.clone() }))?;
        self.say(Heard::State(state))?;
        let root = begin::session(&mut link, ears, opening, &ground)?;
        let record = json!({"type": "session", "sessionID": root});
        self.say(Heard::Record(record.to_string()))?;
        self.reaches(&client, vec![root.clone()]);
        events::listen(client.clone(), self.words.clone(), Arc::clone(&self.is_over));
        let prompt = begin::prompt(&mut link, ears, opening, &root)?;
        let of = Of { root: &root, prompt: &prompt, access: opening.access };
        let mut watch = Watch::new(link, ground, Arc::clone(&self.hear), of);
        watch.run(ears, |mut tree| {
            // The job's own session is stopped first.
            tree.sort_by_key(|session| *session != root);
            self.reaches(&client, tree);
        })
    }

    fn say(&self, heard: Heard) -> Result<(), Fault> {
        if (self.hear)(heard) { Ok(()) } else { Err(Fault::Told) }
    }

    fn reaches(&self, client: &Client, sessions: Vec<String>) {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        *reach = Some((client.clone(), sessions));
    }
}
