//! A turn: the steps of the script, in the messages and events that the real server makes of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use super::script::{Asking, Step, Tool};
use super::world::{Facts, Reply, World, no_tokens, now, put};

/// How a turn ends early.
enum Stop {
    /// A reject without words: idle, and nothing more is said.
    Rejected,
    /// An error object in the last message.
    Failed(Value),
    /// Somebody aborted it.
    Aborted,
}

type Played<T = ()> = Result<T, Stop>;

/// Plays a turn in a thread of its own.
pub(super) fn begin(world: &Arc<World>, session: &str, user: &str, steps: Vec<Step>) {
    let turn =
        Turn { world: Arc::clone(world), session: session.to_owned(), user: user.to_owned() };
    std::thread::spawn(move || {
        pause(turn.world.script.bootstrap_ms);
        turn.play(&steps);
    });
}

/// The turn of a model that is not there: a lonely message of the user, and errors in the events.
pub(super) fn unknown_model(world: &World, session: &str, model: &str) {
    world.with(|facts| {
        facts.busy(session, json!({"type": "busy"}));
        let error = |message: String| {
            json!({"sessionID": session, "error": {"name": "UnknownError", "data": {"message": message}}})
        };
        facts.tell("session.error", error(format!("Model not found: {model}.")));
        facts.idle(session);
        facts.tell("session.error", error(format!("ProviderModelNotFoundError: Model not found: {model}.")));
    });
}

struct Turn {
    world: Arc<World>,
    session: String,
    user: String,
}

impl Turn {
    /// All steps, and what follows from how they ended; true: to their end.
    fn play(&self, steps: &[Step]) -> bool {
        self.world.with(|facts| facts.busy(&self.session, json!({"type": "busy"})));
        let played = steps.iter().try_for_each(|step| self.step(step));
        let is_done = played.is_ok();
        self.world.with(|facts| {
            match played {
                Ok(()) | Err(Stop::Rejected) => {}
                Err(Stop::Failed(error)) => self.fail(facts, &error),
                Err(Stop::Aborted) => {
                    let aborted =
                        json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
                    self.fail(facts, &aborted);
                    facts.idle(&self.session);
                }
            }
            facts.idle(&self.session);
        });
        is_done
    }

    fn step(&self, step: &Step) -> Played {
        match step {
            Step::Text(text) => self.text(text),
            Step::Large(bytes) => self.text(&"0123456 ".repeat(bytes.div_ceil(8))[..*bytes]),
            Step::Tools(tools) => self.tools(tools),
            Step::Question(questions) => self.question(questions),
            Step::Child(steps) => self.child(steps),
            Step::Error(error) => {
                self.message();
                Err(Stop::Failed(error.clone()))
            }
            Step::Retry(attempt, wait) => self.retry(*attempt, *wait),
            Step::SleepMs(wait) => self.sleep(*wait),
            Step::WaitFile(path) => self.wait_file(path),
            Step::Touch(path) => {
                drop(std::fs::write(path, ""));
                Ok(())
            }
            Step::Stall(_) => {
                self.message();
                self.world.wait(|facts| self.aborted(facts))
            }
            Step::CutEvents(_) => {
                self.world.with(Facts::cut_events);
                Ok(())
            }
            Step::Exit(code) => std::process::exit(*code),
            Step::Kill(_) => {
                let _alive = kill_process(getpid(), Signal::KILL);
                Ok(())
            }
        }
    }

    fn aborted(&self, facts: &Facts) -> Option<Played> {
        facts.aborted.contains(&self.session).then_some(Err(Stop::Aborted))
    }

    fn fail(&self, facts: &mut Facts, error: &Value) {
        let role = |message: &Value| message.pointer("/info/role").cloned();
        let last = facts.messages.get(&self.session).and_then(|all| all.last()).and_then(role);
        if last != Some(json!("assistant")) {
            self.begin_message(facts);
        }
        facts.amend(&self.session, |info, _| {
            put(info, "error", error.clone());
            complete(info);
        });
        facts.tell("session.error", json!({"sessionID": self.session, "error": error}));
    }

    /// Begins a message of the assistant: its id.
    fn message(&self) -> String {
        self.world.with(|facts| self.begin_message(facts))
    }

    fn begin_message(&self, facts: &mut Facts) -> String {
        let (id, part) = (facts.name("msg"), facts.name("prt"));
        let info = json!({
            "id": id, "sessionID": self.session, "role": "assistant", "time": {"created": now()},
            "parentID": self.user, "modelID": "stub-model", "providerID": "stub", "mode": "build",
            "agent": "build", "path": {"cwd": self.world.directory, "root": "/"}, "cost": 0,
            "tokens": no_tokens(),
        });
        let start =
            json!({"id": part, "sessionID": self.session, "messageID": id, "type": "step-start"});
        facts.say(&self.session, info, vec![start]);
        id
    }

    /// Adds a part to the message that was begun last.
    fn part(&self, facts: &mut Facts, message: &str, mut part: Value) -> String {
        let id = facts.name("prt");
        put(&mut part, "id", json!(id));
        put(&mut part, "sessionID", json!(self.session));
        put(&mut part, "messageID", json!(message));
        facts.amend(&self.session, |_, parts| parts.push(part));
        id
    }

    fn finish(&self, message: &str, reason: &str) {
        let tokens = json!({"total": 26, "input": 14, "output": 5, "reasoning": 2,
                            "cache": {"read": 5, "write": 0}});
        self.world.with(|facts| {
            let part =
                json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0});
            self.part(facts, message, part);
            facts.amend(&self.session, |info, _| {
                put(info, "finish", json!(reason));
                put(info, "tokens", tokens);
                complete(info);
            });
        });
    }

    fn text(&self, text: &str) -> Played {
        let message = self.message();
        self.world.with(|facts| {
            let time = json!({"start": now(), "end": now()});
            self.part(facts, &message, json!({"type": "text", "text": text, "time": time}));
        });
        self.finish(&message, "stop");
        Ok(())
    }

    fn tools(&self, tools: &[Tool]) -> Played {
        let message = self.message();
        let calls: Vec<_> = tools.iter().map(|tool| self.call(&message, tool)).collect();
        let mut is_stopped = false;
        for (tool, (part, asked)) in tools.iter().zip(&calls) {
            let (error, stops) = match (asked, &tool.asks) {
                (Some(asked), Some(asks)) => self.permitted(asked, asks)?,
                _ => (None, false),
            };
            is_stopped |= stops;
            if error.is_none() {
                self.sleep(tool.runs_ms)?;
                self.write(tool);
            }
            self.ended(part, tool, error.or_else(|| tool.error.clone()));
        }
        self.finish(&message, "tool-calls");
        if is_stopped { Err(Stop::Rejected) } else { Ok(()) }
    }

    /// A tool that runs, and the name of the leave that it asks for: part, ask.
    fn call(&self, message: &str, tool: &Tool) -> (String, Option<String>) {
        self.world.with(|facts| {
            let call = facts.name("call");
            let state = json!({"status": "running", "input": tool.input, "time": {"start": now()}});
            let part = json!({"type": "tool", "callID": call, "tool": tool.tool, "state": state});
            let part = self.part(facts, message, part);
            let asked = tool.asks.as_ref().map(|asks| {
                let id = facts.name("per");
                let asked = json!({
                    "id": id, "sessionID": self.session, "permission": asks.permission,
                    "patterns": asks.patterns, "metadata": asks.metadata, "always": asks.always,
                    "tool": {"messageID": message, "callID": call},
                });
                facts.permissions.push(asked.clone());
                facts.tell("permission.asked", asked);
                id
            });
            (part, asked)
        })
    }

    /// Waits for leave: what the tool fails with, and whether the turn stops.
    fn permitted(&self, id: &str, asks: &Asking) -> Played<(Option<String>, bool)> {
        if let Some(word) = &asks.somebody {
            self.world.wait(|facts| facts.listed.contains(id).then_some(()));
            self.world.with(|facts| facts.reply(id, Reply::Word(word.clone(), None)));
        }
        const NO: &str = "The user rejected permission to use this specific tool call";
        match self.answer(id)? {
            Reply::Word(word, Some(said)) if word == "reject" => {
                Ok((Some(format!("{NO} with the following feedback: {said}")), false))
            }
            Reply::Word(word, None) if word == "reject" => Ok((Some(format!("{NO}.")), true)),
            _ => Ok((None, false)),
        }
    }

    fn answer(&self, id: &str) -> Played<Reply> {
        self.world.wait(|facts| {
            let reply = facts.replies.get(id).cloned().map(Ok);
            reply.or_else(|| facts.aborted.contains(&self.session).then_some(Err(Stop::Aborted)))
        })
    }

    fn write(&self, tool: &Tool) {
        if let Some(write) = &tool.writes {
            let path = Path::new(&self.world.directory).join(&write.path);
            drop(std::fs::write(path, &write.content));
        }
    }

    /// The state of a tool's part at its end.
    fn ended(&self, part: &str, tool: &Tool, error: Option<String>) {
        let mut state = json!({"status": "completed", "input": tool.input, "output": tool.output,
                               "title": tool.tool, "metadata": {}, "time": {"start": now(), "end": now()}});
        if let Some(error) = error {
            put(&mut state, "status", json!("error"));
            put(&mut state, "error", json!(error));
        }
        let is_it = |one: &&mut Value| one.get("id").and_then(Value::as_str) == Some(part);
        let change = |_: &mut Value, parts: &mut Vec<Value>| {
            parts
                .iter_mut()
                .find(is_it)
                .into_iter()
                .for_each(|one| put(one, "state", state.clone()));
        };
        self.world.with(|facts| facts.amend(&self.session, change));
    }

    fn question(&self, questions: &[Value]) -> Played {
        let message = self.message();
        let input = json!({"questions": questions});
        let tool = Tool { tool: "question".to_owned(), input, ..Tool::default() };
        let (part, _) = self.call(&message, &tool);
        let id = self.world.with(|facts| {
            let id = facts.name("que");
            let asked = json!({"id": id, "sessionID": self.session, "questions": questions,
                               "tool": {"messageID": message, "callID": "call_q"}});
            facts.questions.push(asked.clone());
            facts.tell("question.asked", asked);
            id
        });
        match self.answer(&id)? {
            Reply::Answers(answers) => {
                let output = format!("User has answered your questions: {answers}");
                self.ended(&part, &Tool { output, ..tool }, None);
                self.finish(&message, "tool-calls");
                Ok(())
            }
            Reply::Word(..) => {
                self.ended(&part, &tool, Some("The user dismissed this question".to_owned()));
                self.finish(&message, "tool-calls");
                Err(Stop::Rejected)
            }
        }
    }

    fn child(&self, steps: &[Step]) -> Played {
        let message = self.message();
        let input = json!({"description": "child", "prompt": "do it", "subagent_type": "general"});
        let tool = Tool { tool: "task".to_owned(), input, ..Tool::default() };
        let (part, _) = self.call(&message, &tool);
        let asked = json!({"title": "child (@general subagent)"});
        let session = self.world.open(&asked, Some(&self.session));
        let session = session.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let user = self.world.with(|facts| ask(facts, &session, None, &json!({})));
        let child = Self { world: Arc::clone(&self.world), session: session.clone(), user };
        let error = (!child.play(steps))
            .then(|| format!("Subagent failed (task_id: {session}): it was stopped"));
        let output = format!("<task id=\"{session}\" state=\"completed\">");
        self.ended(&part, &Tool { output, ..tool }, error);
        self.finish(&message, "tool-calls");
        self.world.with(|facts| self.aborted(facts)).unwrap_or(Ok(()))
    }

    fn retry(&self, attempt: u64, wait: u64) -> Played {
        let status = json!({"type": "retry", "attempt": attempt, "message": "stub says 429",
                            "next": now() + wait});
        self.world.with(|facts| facts.busy(&self.session, status));
        self.sleep(wait)?;
        self.world.with(|facts| facts.busy(&self.session, json!({"type": "busy"})));
        Ok(())
    }

    /// In short pieces, so that an abort is not waited for.
    fn sleep(&self, wait: u64) -> Played {
        for piece in
            std::iter::repeat_n(20, usize::try_from(wait / 20).unwrap_or(0)).chain([wait % 20])
        {
            pause(piece);
            if let Some(aborted) = self.world.with(|facts| self.aborted(facts)) {
                return aborted;
            }
        }
        Ok(())
    }

    fn wait_file(&self, path: &Path) -> Played {
        while !path.exists() {
            self.sleep(5)?;
        }
        Ok(())
    }
}

/// Adds the message of a user: its id.
pub(super) fn ask(facts: &mut Facts, session: &str, id: Option<&str>, body: &Value) -> String {
    let id = id.map_or_else(|| facts.name("msg"), str::to_owned);
    let default = json!({"providerID": "stub", "modelID": "stub-model"});
    let model = body.get("model").cloned().unwrap_or(default);
    let info = json!({"id": id, "sessionID": session, "role": "user", "agent": "build",
                      "time": {"created": now()}, "model": model});
    let parts = body.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
    let parts = parts.into_iter().map(|mut part| {
        let name = facts.name("prt");
        put(&mut part, "id", json!(name));
        put(&mut part, "sessionID", json!(session));
        put(&mut part, "messageID", json!(id));
        part
    });
    let parts = parts.collect();
    facts.say(session, info, parts);
    id
}

fn complete(info: &mut Value) {
    let mut time = info.get("time").cloned().unwrap_or_else(|| json!({}));
    put(&mut time, "completed", json!(now()));
    put(info, "time", time);
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
