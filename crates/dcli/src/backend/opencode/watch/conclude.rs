//! The end of a session: whether it has come to it, and what is told of it then.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::fault::Fault;
use super::super::judge::{End, end};
use super::super::project;
use super::{Goes, Watch};
use crate::backend::session::Heard;

/// A session of which nothing was seen for so long is looked into.
const UNSEEN: Duration = Duration::from_secs(30);
/// A message that is not ended although its session is idle is waited for so long.
const UNFINISHED: Duration = Duration::from_secs(10);
/// How 1.18.33 says that a refusal ended a turn.
const REJECTED: &str = "The user rejected permission";

impl Watch {
    pub(super) fn judge(&mut self) -> Result<Goes, Fault> {
        if self.activity.is_unseen() && self.times.prompted.elapsed() >= UNSEEN {
            self.look_into()?;
        }
        if !self.activity.is_idle() {
            self.times.unfinished = None;
            return Ok(Goes::Continue(()));
        }
        let root = self.root.clone();
        let Some(all) = self.messages(&root)? else { return Ok(Goes::Continue(())) };
        let children: Vec<String> = self.tree.keys().filter(|id| **id != root).cloned().collect();
        for child in children {
            if self.messages(&child)?.is_none() {
                return Ok(Goes::Continue(()));
            }
        }
        if self.is_aborted {
            return Ok(Goes::Break(()));
        }
        self.conclude(end(&all, &self.prompt))
    }

    fn conclude(&mut self, end: End) -> Result<Goes, Fault> {
        let record = match end {
            End::Answered => self.projection.release(),
            End::Failed(error) => {
                self.error = Some(error);
                self.told_error()?
            }
            End::Stopped => self.told_error()?,
            End::Unfinished => {
                let since = *self.times.unfinished.get_or_insert_with(Instant::now);
                if since.elapsed() < UNFINISHED && self.error.is_none() {
                    return Ok(Goes::Continue(()));
                }
                self.told_error()?
            }
            End::Unanswered => match self.told_error()? {
                Some(error) => Some(error),
                None if self.times.prompted.elapsed() < UNSEEN => return Ok(Goes::Continue(())),
                None => {
                    self.look_into()?;
                    return Ok(Goes::Continue(()));
                }
            },
        };
        if let Some(record) = record {
            self.say(Heard::Record(record.to_string()))?;
        }
        Ok(Goes::Break(()))
    }

    /// What the server said went wrong. Of a refusal that ended the turn it says no more than that.
    fn told_error(&mut self) -> Result<Option<Value>, Fault> {
        let Some(error) = self.error.take() else { return Ok(None) };
        let said = error.pointer("/data/message").and_then(Value::as_str).unwrap_or_default();
        match self.asks.refused(&self.root) {
            Some(what) if said.starts_with(REJECTED) => {
                Err(Fault::Refused { what: what.to_owned() })
            }
            _ => Ok(Some(project::error(&self.root, &error))),
        }
    }

    /// Nothing was seen of the session: its model may not exist, for which the server says nothing
    /// that a poll would show.
    fn look_into(&mut self) -> Result<(), Fault> {
        if self.is_looked_into {
            return Ok(());
        }
        let root = self.root.clone();
        let Some(all) = self.messages(&root)? else { return Ok(()) };
        self.is_looked_into = true;
        let asked = all.iter().find(|message| message.id == self.prompt);
        let Some(asked) = asked else {
            let last = "the server had accepted it".to_owned();
            return Err(Fault::Unconfirmed { sec: UNSEEN.as_secs(), last });
        };
        match &asked.model {
            Some(model) => {
                self.ground.has_model(model, "the prompt was sent and nothing came of it")
            }
            None => Ok(()),
        }
    }
}
