//! Keeps a job's record while it runs: every event is in the journal before anything follows from
//! it, every fact in its file, every byte of output in a redacted log.

use std::time::Duration;

use dcli_contain::Identity;
use dcli_core::attempt::Effect as AttemptEffect;
use dcli_core::envelope::{AccessEnforcement, ContainmentReport};
use dcli_core::executor::Scan;
use dcli_core::fact::{Fact, FactLine, Tokens};
use dcli_core::interaction::Decision;
use dcli_core::job::event::{BackendStarted, Event};
use dcli_core::job::machine::{Effect, Input, Job};
use dcli_core::job::status::Status;
use dcli_core::milestone::Milestone;
use serde_json::{Value, json};

use super::fault;
use crate::exec::stamp::now;
use crate::exec::{OnFact, Serving, StartedReport, Stream, Witness};
use crate::store::attempt::LogName;
use crate::store::job_writer::JobWriter;
use crate::store::journal::Journal;
use crate::store::log::Log;
use crate::store::record::Durability;
use crate::store::root::WritableRoot;
use crate::store::servers::{self, ServerRecord};

/// Between two heartbeats.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// The most that is kept of each stream of a server: 8 MiB. All of it is read.
const SERVER_LOG: usize = 8 << 20;

/// A job and its record.
pub(super) struct Keeper {
    pub writer: JobWriter,
    pub job: Job,
    facts: Option<Journal<FactLine>>,
    logs: [Option<Log>; 3],
    access_enforcement: AccessEnforcement,
    on_fact: Option<OnFact>,
    tokens: Tokens,
    /// Where the address of a server is kept, once there is one.
    pub root: Option<WritableRoot>,
    leader: Option<Identity>,
}

impl Keeper {
    pub(super) fn new(writer: JobWriter, job: Job, on_fact: Option<OnFact>) -> Self {
        let none = AccessEnforcement { kind: "none".into(), verified: false };
        Self {
            writer,
            job,
            facts: None,
            logs: [None, None, None],
            access_enforcement: none,
            on_fact,
            tokens: Tokens::default(),
            root: None,
            leader: None,
        }
    }

    /// Takes one input in and writes what follows from it; the rest is for the caller to do.
    ///
    /// # Errors
    /// It is illegal here, or could not be written; in words.
    pub(super) fn step(&mut self, input: Input) -> Result<Vec<Effect>, String> {
        let at = now();
        let mut next = self.job.clone();
        let effects = next.step(&at, input).map_err(|illegal| illegal.to_string())?;
        let is_turn =
            |effect: &Effect| matches!(effect, Effect::Append(event) if event.is_synced());
        // A new state is on the disk in both; a phase is progress, and made again from the journal.
        let durability = match effects.iter().any(is_turn) {
            true => Durability::Synced,
            false => Durability::Unsynced,
        };
        // A rule's own decision is no news for whoever looks; the next heartbeat tells of it.
        let is_minor = effects.iter().all(is_decided_at_once) && !effects.is_empty();
        let mut rest = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append(event) => self.append(&at, event)?,
                other => rest.push(other),
            }
        }
        let is_changed = next != self.job;
        self.job = next;
        if is_changed && !is_minor {
            // The journal has it: whoever finds no worker here reads that one.
            let _ = self.project(durability);
        }
        Ok(rest)
    }

    fn append(&mut self, at: &str, event: Event) -> Result<(), String> {
        let name = event.name();
        let appended = match self.writer.append_event(at, &event) {
            // No space, perhaps: nothing needs the captured output any more, and the end has to be told.
            Err(_) if matches!(event, Event::BackendEnded(_) | Event::Ended(_)) => {
                let _ = self.writer.remove_scratch();
                self.writer.append_event(at, &event)
            }
            appended => appended,
        };
        appended.map_err(|error| error.to_string())?;
        fault::point(&format!("append {name}"));
        Ok(())
    }

    /// Writes the projection.
    pub(super) fn project(&mut self, durability: Durability) -> Result<(), String> {
        let written = self.writer.write_status(&self.status(), durability);
        written.map_err(|error| format!("status.json cannot be written: {error}"))?;
        fault::point("project");
        Ok(())
    }

    /// The job's status with what only a living worker knows.
    pub(super) fn status(&self) -> Status {
        let mut status = self.job.status().clone();
        if !status.state.is_terminal() {
            status.heartbeat_at = Some(now());
            status.tokens = self.tokens;
        }
        status
    }

    /// Opens what the attempt writes to.
    pub(super) fn open(
        &mut self,
        access_enforcement: AccessEnforcement,
        is_server: bool,
    ) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        self.writer.make_scratch().map_err(failed)?;
        self.facts = Some(self.writer.facts().map_err(|error| error.to_string())?);
        if is_server {
            // Each stream has a log of its own, since a secret may be cut between two of its reads.
            let names = [LogName::Server, LogName::Server, LogName::Events];
            for (log, name) in self.logs.iter_mut().zip(names) {
                *log = Some(self.writer.capped_log(name, SERVER_LOG).map_err(failed)?);
            }
        } else {
            for (log, name) in self.logs.iter_mut().zip([LogName::Stdout, LogName::Stderr]) {
                *log = Some(self.writer.log(name).map_err(failed)?);
            }
        }
        self.access_enforcement = access_enforcement;
        Ok(())
    }

    /// Puts facts and logs on the disk; nothing is written to them any more.
    pub(super) fn close(&mut self) -> Result<(), String> {
        let facts = self.facts.take().map_or(Ok(()), |mut facts| facts.sync());
        let logs = self.logs.iter_mut().filter_map(Option::take).map(Log::finish);
        let logs = logs.collect::<std::io::Result<()>>().map_err(|error| error.to_string());
        facts.map_err(|error| error.to_string()).and(logs)
    }

    fn keep_command(&self, started: &StartedReport<'_>) -> std::io::Result<()> {
        let names = started.env.iter().map(|(name, _)| name.to_string_lossy());
        self.writer.write_command(&json!({
            "schema_version": 1,
            "program": started.program.display().to_string(),
            "args": self.without_prompt(started.args),
            "cwd": started.cwd.display().to_string(),
            "env_names": names.collect::<Vec<_>>(),
            "containment": started.kind.to_string(),
            "leader": started.leader,
        }))
    }

    /// The arguments, the prompt in them by the name of the file that has it: it is kept in one place.
    fn without_prompt(&self, args: &[String]) -> Vec<String> {
        let mut kept = args.to_vec();
        let prompt = std::fs::read_to_string(self.writer.attempt().prompt()).unwrap_or_default();
        // A prompt that is an argument is the last one, whole or behind its option.
        if let Some(last) = kept.last_mut()
            && let Some(option) = last.strip_suffix(&prompt)
            && !prompt.is_empty()
            && (option.is_empty() || option.ends_with('='))
        {
            *last = format!("{option}«prompt.md»");
        }
        kept
    }

    /// What only waits for the journal.
    fn note(&mut self, input: Input) -> Result<(), String> {
        self.step(input).map(drop)
    }
}

/// Whether an event is of an interaction for which nobody has to be there.
fn is_decided_at_once(effect: &Effect) -> bool {
    use dcli_core::fact::InteractionOutcome::AwaitingAuthorizedResponder as Awaiting;
    match effect {
        Effect::Append(Event::InteractionPending { outcome, .. }) => outcome.is_none(),
        Effect::Append(Event::InteractionResolved { outcome, .. }) => *outcome != Awaiting,
        _ => false,
    }
}

impl Witness for Keeper {
    fn started(&mut self, started: &StartedReport<'_>) -> Result<(), String> {
        self.leader = Some(started.leader.clone());
        self.keep_command(started).map_err(|error| format!("command.json: {error}"))?;
        self.note(Input::BackendStarted(Box::new(BackendStarted {
            backend_pid: u32::try_from(started.leader.pid).ok(),
            backend_version: started.version.map(str::to_owned),
            containment: ContainmentReport {
                kind: started.kind.to_string(),
                degraded: started.degraded,
            },
            access_enforcement: self.access_enforcement.clone(),
            is_server: started.is_server,
        })))
    }

    fn fact(&mut self, line: &FactLine) -> Result<(), String> {
        if let Some(facts) = &mut self.facts {
            let kept = facts.push(line);
            kept.map_err(|error| format!("facts.jsonl cannot be written: {error}"))?;
        }
        if let Some(on_fact) = &self.on_fact {
            on_fact(line);
        }
        match &line.fact {
            Fact::Started { backend_session_id: Some(id), .. }
                if self.job.status().backend_session_id.as_ref() != Some(id) =>
            {
                self.note(Input::SessionNamed(id.clone()))
            }
            Fact::InteractionPending { interaction_id, kind, detail, outcome } => {
                self.note(Input::InteractionPending {
                    interaction_id: interaction_id.clone(),
                    kind: *kind,
                    detail: detail.clone(),
                    outcome: *outcome,
                })
            }
            Fact::InteractionResolved { interaction_id, outcome, decision, responder }
                // What a backend denies by itself was never asked here.
                if self.job.status().is_open(interaction_id) =>
            {
                self.note(Input::InteractionResolved {
                    interaction_id: interaction_id.clone(),
                    outcome: *outcome,
                    decision: decision.as_deref().and_then(Decision::named),
                    responder: responder.clone(),
                })
            }
            Fact::UsageReported { tokens, .. } => {
                self.tokens = *tokens;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn serving(&mut self, serving: &Serving) -> Result<(), String> {
        let (Some(leader), Some(root)) = (&self.leader, &self.root) else { return Ok(()) };
        let server = ServerRecord {
            schema_version: servers::SCHEMA_VERSION,
            job_id: self.job.status().job_id.clone(),
            url: serving.url.clone(),
            pid: u32::try_from(leader.pid).unwrap_or_default(),
            pid_namespace: leader.pid_namespace,
            boot_id: leader.boot_id.clone(),
            started_at: now(),
        };
        let announced = servers::announce(root, &server);
        announced.map_err(|error| format!("the server's record cannot be written: {error}"))
    }

    fn state(&mut self, state: &Value) -> Result<(), String> {
        self.note(Input::BackendState(state.clone()))
    }

    fn caught_up(&mut self) -> Result<(), String> {
        let written = self.facts.as_mut().map_or(Ok(()), Journal::flush);
        written.map_err(|error| format!("facts.jsonl cannot be written: {error}"))
    }

    fn milestone(&mut self, milestone: &Milestone) -> Result<(), String> {
        self.note(match *milestone {
            // An exit is a completion too: what comes after it, cancel or deadline, changes nothing.
            Milestone::Completed | Milestone::Settled | Milestone::LeaderEnded { .. } => {
                Input::Completed
            }
            Milestone::Resumed => Input::Resumed,
            Milestone::CancelRequested => Input::CancelAsked { by: "user".to_owned() },
            Milestone::DeadlineReached(limit) => Input::DeadlineReached(limit),
        })
    }

    fn performed(&mut self, effect: AttemptEffect) {
        fault::point(&fault::name(effect));
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), String> {
        let log = match stream {
            Stream::Stdout => &mut self.logs[0],
            Stream::Stderr => &mut self.logs[1],
            Stream::Events => &mut self.logs[2],
        };
        let kept = log.as_mut().map_or(Ok(()), |log| log.push(bytes));
        kept.map_err(|error| format!("the log of the output cannot be written: {error}"))
    }

    fn pulse(&mut self, _scan: &Scan) -> Result<(), String> {
        // A heartbeat that is missed is an answer, and no reason to end anything.
        let _ = self.project(Durability::Unsynced);
        Ok(())
    }

    fn pulse_every(&self) -> Option<Duration> {
        Some(HEARTBEAT)
    }
}
