//! Claude Code's control channel: it asks on standard output and is answered on standard input.

mod ask;
mod pen;
mod place;
mod shell;
mod speech;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use dcli_contain::Identity;
use dcli_core::executor::scan::Request;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::interaction::policy::Saying;
use dcli_core::interaction::{Policy, Reply, Verdict};
use serde_json::Value;

use self::ask::Use;
use self::pen::Pen;
use super::session::{Hear, Heard, Session};

/// A session whose backend reads `stdin` and works in `directory`, which is canonical. The prompt is
/// its first line. What `policy` says anything of is asked also where the backend's own rules would
/// let it pass.
pub(crate) fn session(
    stdin: OwnedFd,
    prompt: &str,
    directory: PathBuf,
    policy: Policy,
) -> Box<dyn Session> {
    Box::new(Conversation::new(stdin, prompt, directory, policy))
}

struct Conversation {
    pen: Pen,
    directory: PathBuf,
    policy: Policy,
    /// What waits for an answer, by the backend's name for it.
    open: BTreeMap<String, Asked>,
    /// The turn was stopped from here; whatever goes on beside it is to end too.
    is_stopped: bool,
}

/// What an answer is made of.
struct Asked {
    input: Value,
    questions: Vec<String>,
    is_child: bool,
}

impl Conversation {
    fn new(stdin: OwnedFd, prompt: &str, directory: PathBuf, policy: Policy) -> Self {
        let pen = Pen::new(stdin);
        if !policy.is_empty() {
            pen.write(&speech::hook());
        }
        pen.write(&speech::prompt(prompt));
        Self { pen, directory, policy, open: BTreeMap::new(), is_stopped: false }
    }

    fn asked(&mut self, key: String, request: &Value) -> Heard {
        let Some(ask) = ask::asked(&key, request, &self.directory) else {
            self.pen.write(&speech::unreadable(&key));
            self.is_stopped = true;
            let message = "Claude Code asked for leave in a form that this dcli cannot read; it was \
                           refused, and the run ended";
            return failed(FailureClass::Protocol, message);
        };
        let questions = Use::of(request, "input").map(|tool_use| tool_use.questions());
        let asked = Asked {
            input: request["input"].clone(),
            questions: questions.unwrap_or_default(),
            is_child: ask::is_child(request),
        };
        self.open.insert(key, asked);
        Heard::Asked(ask)
    }

    /// Before any tool is used: whether the backend has to ask, whatever its own rules say.
    fn hooked(&self, key: &str, request: &Value) {
        let tool_use = request.get("input").and_then(|input| Use::of(input, "tool_input"));
        let ask = tool_use.and_then(|tool_use| tool_use.ask(&self.directory));
        let says = ask.as_ref().map(|ask| self.policy.on(ask));
        self.pen.write(&speech::hooked(key, says != Some(Saying::Silent)));
    }

    /// What the backend answers to what was asked of it here.
    fn answered(&mut self, key: &str) -> Option<Heard> {
        if key != speech::HOOK {
            return None;
        }
        self.is_stopped = true;
        let message = "Claude Code refused to say what it is about to do, so that the policy of the \
                       job cannot be kept; the run ended";
        Some(failed(FailureClass::Protocol, message))
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.pen.write(&speech::interrupt());
    }
}

fn failed(class: FailureClass, message: &str) -> Heard {
    Heard::Failed(Failure::seen(class, message.to_owned()))
}

impl Session for Conversation {
    fn begin(&mut self, _leader: &Identity, hear: Hear) {
        if let Err(error) = self.pen.begin() {
            let message = format!("no thread could be started to answer Claude Code: {error}");
            hear(failed(FailureClass::Internal, &message));
        }
    }

    fn read(&mut self, request: Request) -> Option<Heard> {
        let (key, detail) = match request {
            Request::Asked { key, detail } => (key, detail),
            Request::Withdrawn { key } => {
                self.open.remove(&key);
                return Some(Heard::Withdrawn(key));
            }
        };
        match detail.get("subtype").and_then(Value::as_str) {
            Some("can_use_tool") => return Some(self.asked(key, &detail)),
            Some("hook_callback") => self.hooked(&key, &detail),
            Some("error") => return self.answered(&key),
            _ => self.pen.write(&speech::unreadable(&key)),
        }
        None
    }

    fn reply(&mut self, reply: Reply) {
        let Some(asked) = self.open.remove(&reply.key) else { return };
        match reply.verdict {
            // A denial that interrupts ends the agent that asked, and the main one would go on.
            Verdict::Deny(None) if asked.is_child => self.stop(),
            verdict => {
                self.is_stopped |= verdict == Verdict::Deny(None);
                let answer = speech::answer(verdict, asked.input, &asked.questions);
                self.pen.write(&speech::response(&reply.key, &answer));
            }
        }
    }

    fn abort(&mut self) {
        self.stop();
    }

    /// The end of the input alone lets a turn go on that a background task has begun; after a turn
    /// that was stopped such tasks would go on for ever (2.1.332).
    fn close(&mut self) {
        if self.is_stopped {
            self.pen.write(&speech::end());
        }
        self.pen.close();
    }
}

#[cfg(test)]
mod tests;
