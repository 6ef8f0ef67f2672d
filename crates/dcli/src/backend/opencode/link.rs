//! The link to the server: calls that are tried again while there is hope, and the time since when
//! there is none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ears::{Ears, Told};
use super::fault::{Fault, Stage};
use super::http::{CallError, Client};
use super::operations::Operation;
use super::wire::Misshapen;

/// A server that lets no call through for so long has failed.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// How long the first call waits; each that waits in vain doubles it.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// A link.
pub(super) struct Link {
    pub client: Client,
    heard: Instant,
    patience: Duration,
    last: Option<CallError>,
    /// Of each operation, the whole answers in a row that were no JSON.
    garbled: BTreeMap<String, u32>,
    /// Of each operation that does not come through, since when, though others do.
    failing: BTreeMap<String, Instant>,
}

/// So many whole answers in a row that are no JSON were not cut on their way.
const GARBLED: u32 = 5;

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            heard: Instant::now(),
            patience: FIRST_PATIENCE,
            last: None,
            garbled: BTreeMap::new(),
            failing: BTreeMap::new(),
        }
    }

    /// One try. `None`: it did not come through, which passes for now.
    pub(super) fn attempt(
        &mut self,
        operation: &'static Operation,
        id: &str,
        body: Option<&Value>,
    ) -> Result<Option<Value>, CallError> {
        let patience = self.patience();
        match self.client.call(operation, id, body, patience) {
            Ok(value) => {
                self.heard = Instant::now();
                self.last = None;
                self.garbled.remove(&operation.to_string());
                self.failing.remove(&operation.to_string());
                Ok(Some(value))
            }
            Err(error)
                if error.is_passing()
                    && !self.is_garbled(operation, &error)
                    && !self.is_hopeless(operation) =>
            {
                if matches!(error, CallError::TimedOut { .. }) {
                    self.patience = (patience * 2).min(SILENCE);
                }
                self.last = Some(error);
                Ok(None)
            }
            Err(error) => {
                self.heard = Instant::now();
                Err(error)
            }
        }
    }

    /// Whether this operation has let nothing through for as long as a whole server may.
    fn is_hopeless(&mut self, operation: &Operation) -> bool {
        let since = self.failing.entry(operation.to_string()).or_insert_with(Instant::now);
        since.elapsed() >= SILENCE
    }

    /// Whether this is no accident any more.
    fn is_garbled(&mut self, operation: &Operation, error: &CallError) -> bool {
        if !matches!(error, CallError::NotJson { .. }) {
            return false;
        }
        let count = self.garbled.entry(operation.to_string()).or_default();
        *count += 1;
        *count >= GARBLED
    }

    /// How long one call may wait now: never much longer than there is hope.
    pub(super) fn patience(&self) -> Duration {
        let left = SILENCE.saturating_sub(self.heard.elapsed());
        self.patience.min(left.max(Duration::from_secs(1)))
    }

    /// The fault of a server that does not answer any more, once it is one.
    pub(super) fn silence(&self) -> Result<(), Fault> {
        if self.heard.elapsed() < SILENCE {
            return Ok(());
        }
        Err(Fault::Silent { sec: SILENCE.as_secs(), last: self.last() })
    }

    /// What the last try that failed said.
    pub(super) fn last(&self) -> String {
        self.last.as_ref().map_or_else(|| "no error".to_owned(), ToString::to_string)
    }

    /// A call that changes nothing, tried until it comes through.
    pub(super) fn get(
        &mut self,
        operation: &'static Operation,
        id: &str,
        (ears, stage): (&mut Ears, Stage),
    ) -> Result<Value, Fault> {
        loop {
            match self.attempt(operation, id, None) {
                Ok(Some(value)) => return Ok(value),
                Ok(None) => self.silence()?,
                Err(error) => return Err(refused(error, stage)),
            }
            ears.pause(RETRY).map_err(|Told| Fault::Told)?;
        }
    }
}

/// What was not done, in words for a message.
fn undone(stage: Stage) -> &'static str {
    match stage {
        Stage::Negotiation => {
            "no session was made; use a version of opencode that dcli was tested with: 'dcli \
             capabilities --json' names them"
        }
        Stage::Work => "the tree was ended; what the agent did up to then is there",
    }
}

/// The server refused a call.
pub(super) fn refused(error: CallError, stage: Stage) -> Fault {
    Fault::Call { error, stage, undone: undone(stage) }
}

/// Reads an answer.
pub(super) fn read<T>(
    operation: &'static str,
    stage: Stage,
    read: Result<T, Misshapen>,
) -> Result<T, Fault> {
    read.map_err(|misshapen| Fault::Shape { operation, misshapen, stage, undone: undone(stage) })
}
