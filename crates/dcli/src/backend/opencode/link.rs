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
    /// The operations that do not come through now, though others may.
    troubled: BTreeMap<(&'static str, &'static str), Trouble>,
}

/// Why an operation is still hoped for, up to a point.
struct Trouble {
    since: Instant,
    /// Whole answers that were no JSON.
    garbled: u32,
}

/// So many whole answers that are no JSON, and none that is, were not cut on their way.
const GARBLED: u32 = 5;

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            heard: Instant::now(),
            patience: FIRST_PATIENCE,
            last: None,
            troubled: BTreeMap::new(),
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
                self.troubled.remove(&operation.name());
                Ok(Some(value))
            }
            Err(error) if error.is_passing() && self.is_hoped_for(operation, &error) => {
                if matches!(error, CallError::TimedOut { .. }) {
                    self.patience = (patience * 2).min(SILENCE);
                }
                self.last = Some(error);
                Ok(None)
            }
            Err(error) => {
                self.heard = Instant::now();
                // A refusal is an answer.
                self.troubled.remove(&operation.name());
                Err(error)
            }
        }
    }

    /// Whether one more failure in passing may still be an accident: not once the operation has let
    /// nothing through for as long as a whole server may, nor once its answers are no JSON.
    fn is_hoped_for(&mut self, operation: &Operation, error: &CallError) -> bool {
        let new = || Trouble { since: Instant::now(), garbled: 0 };
        let trouble = self.troubled.entry(operation.name()).or_insert_with(new);
        trouble.garbled += u32::from(matches!(error, CallError::NotJson { .. }));
        trouble.since.elapsed() < SILENCE && trouble.garbled < GARBLED
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

#[cfg(test)]
mod tests {
    use super::super::operations::{MESSAGES, STATUS};
    use super::*;

    fn passing() -> CallError {
        CallError::Unreachable { operation: "x".to_owned(), reason: "cut".to_owned() }
    }

    #[test]
    fn an_operation_is_hoped_for_by_itself_and_not_once_it_was_answered_with_no_json_again_and_again()
     {
        let mut link = Link::new(Client::new("http://127.0.0.1:1", b"/", "secret"));
        let garbled = CallError::NotJson { operation: "x".to_owned(), reason: "html".to_owned() };
        for _ in 1..GARBLED {
            assert!(link.is_hoped_for(&MESSAGES, &garbled));
        }
        assert!(!link.is_hoped_for(&MESSAGES, &garbled));
        assert!(link.is_hoped_for(&STATUS, &passing()), "another operation has its own count");
        let long_ago = Instant::now().checked_sub(SILENCE).unwrap();
        link.troubled.get_mut(&STATUS.name()).unwrap().since = long_ago;
        assert!(!link.is_hoped_for(&STATUS, &passing()));
    }
}
