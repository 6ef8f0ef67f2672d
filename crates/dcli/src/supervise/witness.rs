//! Who hears what a run does, in its order, and ends it by failing to keep it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcli_contain::{Identity, Kind};
use dcli_core::attempt::Effect;
use dcli_core::executor::Scan;
use dcli_core::fact::{Fact, FactLine, Warning};
use dcli_core::milestone::Milestone;

use serde_json::Value;

use super::stamp::Stamp;
use crate::backend::session::Serving;

/// Hears every fact, as it comes.
pub type OnFact = Arc<dyn Fn(&FactLine) + Send + Sync>;

/// A process that was started, as it runs now. Nothing in it is redacted.
#[derive(Debug)]
#[expect(dead_code, reason = "for jobs; a one-shot run keeps nothing")]
pub(crate) struct StartedReport<'a> {
    /// The backend's own process, seen from this pid namespace.
    pub leader: Identity,
    /// How its tree is held.
    pub kind: Kind,
    /// Weaker than a pid namespace.
    pub degraded: bool,
    /// The executable.
    pub program: &'a Path,
    /// Its arguments, without the program's own name. The prompt may be among them.
    pub args: &'a [String],
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its whole environment.
    pub env: &'a [(OsString, OsString)],
    /// The program's version, where it is known.
    pub version: Option<&'a str>,
    /// What the caller should know up to now.
    pub warnings: &'a [Warning],
    /// Whether it is a server, on which a session is opened next.
    pub is_server: bool,
}

/// An output of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// What a server sends beside its records.
    Events,
}

/// Keeps what a run does. All calls come from the thread that drives the run, one after another.
///
/// The first error ends the run's tree, and the run is none that worked: a run whose record cannot
/// be written is not done. Nothing but [`Witness::performed`] is called after it.
pub(crate) trait Witness {
    /// The process runs. Comes first.
    ///
    /// # Errors
    /// It could not be kept; the reason in words.
    fn started(&mut self, _started: &StartedReport<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Output was read: all of it, in its order, in pieces of any size, before the facts that are in
    /// it. Nothing in it is redacted. Standard error that its writer truncated comes again from its
    /// start.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn output(&mut self, _stream: Stream, _bytes: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// A fact came.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn fact(&mut self, line: &FactLine) -> Result<(), String>;

    /// A server is reached.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn serving(&mut self, _serving: &Serving) -> Result<(), String> {
        Ok(())
    }

    /// What this backend alone has changed.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn state(&mut self, _state: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Everything that was read so far has been told. What was gathered for one write is written
    /// now: somebody may be looking.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn caught_up(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The run took a turn; nothing that follows from it was done yet.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn milestone(&mut self, milestone: &Milestone) -> Result<(), String>;

    /// An effect was performed, a note among them.
    fn performed(&mut self, _effect: Effect) {}

    /// The run goes on; this is what its stream has shown.
    ///
    /// # Errors
    /// As with [`Witness::started`].
    fn pulse(&mut self, _scan: &Scan) -> Result<(), String> {
        Ok(())
    }

    /// How long a run may go on without a [`Witness::pulse`]; `None`: it needs none.
    fn pulse_every(&self) -> Option<Duration> {
        None
    }

    /// Whether [`Witness::fact`] does anything: numbering and timing facts for nobody costs time.
    fn hears_facts(&self) -> bool {
        true
    }
}

/// A witness that its owner gets back.
pub(crate) type SharedWitness = Arc<Mutex<dyn Witness + Send>>;

/// Facts to a callback, and nothing kept.
pub(crate) struct Listener(pub Option<OnFact>);

impl Witness for Listener {
    fn fact(&mut self, line: &FactLine) -> Result<(), String> {
        if let Some(on_fact) = &self.0 {
            on_fact(line);
        }
        Ok(())
    }

    fn milestone(&mut self, _milestone: &Milestone) -> Result<(), String> {
        Ok(())
    }

    fn hears_facts(&self) -> bool {
        self.0.is_some()
    }
}

/// What a witness was told, up to its first error.
pub(super) struct Testimony<'w> {
    witness: &'w mut dyn Witness,
    stamp: Stamp,
    hears_facts: bool,
    pulse_every: Option<Duration>,
    next_pulse: Option<Duration>,
    fault: Option<String>,
}

impl<'w> Testimony<'w> {
    pub(super) fn new(witness: &'w mut dyn Witness) -> Self {
        let (hears_facts, pulse_every) = (witness.hears_facts(), witness.pulse_every());
        let next_pulse = pulse_every;
        Self { witness, stamp: Stamp::default(), hears_facts, pulse_every, next_pulse, fault: None }
    }

    /// Why the witness can keep nothing any more.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    pub(super) fn started(&mut self, started: &StartedReport<'_>) {
        self.tell(|witness| witness.started(started));
    }

    pub(super) fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.tell(|witness| witness.output(stream, bytes));
    }

    pub(super) fn fact(&mut self, fact: Fact) {
        if self.hears_facts && self.fault.is_none() {
            let line = self.stamp.line(fact);
            self.tell(|witness| witness.fact(&line));
        }
    }

    pub(super) fn serving(&mut self, serving: &Serving) {
        self.tell(|witness| witness.serving(serving));
    }

    pub(super) fn state(&mut self, state: &Value) {
        self.tell(|witness| witness.state(state));
    }

    pub(super) fn caught_up(&mut self) {
        self.tell(|witness| witness.caught_up());
    }

    pub(super) fn milestone(&mut self, milestone: &Milestone) {
        self.tell(|witness| witness.milestone(milestone));
    }

    pub(super) fn performed(&mut self, effect: Effect) {
        self.witness.performed(effect);
    }

    /// How long after `now` the next pulse is due.
    pub(super) fn until_pulse(&self, now: Duration) -> Option<Duration> {
        self.next_pulse.map(|at| at.saturating_sub(now))
    }

    /// A pulse, if one is due at `now`.
    pub(super) fn pulse(&mut self, now: Duration, scan: &Scan) {
        if self.next_pulse.is_some_and(|at| now >= at) {
            self.next_pulse = self.pulse_every.map(|every| now + every);
            self.tell(|witness| witness.pulse(scan));
        }
    }

    fn tell(&mut self, told: impl FnOnce(&mut dyn Witness) -> Result<(), String>) {
        if self.fault.is_none() {
            self.fault = told(self.witness).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it is told in words, and fails from the third call on.
    #[derive(Default)]
    struct Forgetful(Vec<String>);

    impl Forgetful {
        fn keep(&mut self, what: String) -> Result<(), String> {
            self.0.push(what);
            if self.0.len() < 3 { Ok(()) } else { Err(format!("no room for {}", self.0.len())) }
        }
    }

    impl Witness for Forgetful {
        fn fact(&mut self, line: &FactLine) -> Result<(), String> {
            self.keep(format!("fact {}", line.seq))
        }

        fn milestone(&mut self, milestone: &Milestone) -> Result<(), String> {
            self.keep(format!("{milestone:?}"))
        }

        fn performed(&mut self, effect: Effect) {
            self.0.push(format!("{effect:?}"));
        }

        fn pulse(&mut self, _scan: &Scan) -> Result<(), String> {
            self.keep("pulse".to_owned())
        }

        fn pulse_every(&self) -> Option<Duration> {
            Some(Duration::from_secs(5))
        }
    }

    fn reasoned() -> Fact {
        Fact::Reasoning { message_id: None }
    }

    #[test]
    fn after_its_first_error_a_witness_hears_of_performed_effects_alone() {
        let mut witness = Forgetful::default();
        let mut testimony = Testimony::new(&mut witness);
        testimony.fact(reasoned());
        testimony.milestone(&Milestone::Completed);
        assert_eq!(testimony.fault(), None);
        testimony.fact(reasoned());
        testimony.fact(reasoned());
        testimony.milestone(&Milestone::Resumed);
        testimony.pulse(Duration::from_secs(9), &Scan::default());
        testimony.performed(Effect::EndTree);
        assert_eq!(testimony.fault(), Some("no room for 3"));
        assert_eq!(witness.0, ["fact 1", "Completed", "fact 2", "EndTree"]);
    }

    #[test]
    fn a_pulse_is_due_as_long_after_the_last_as_the_witness_says() {
        let mut witness = Forgetful::default();
        let mut testimony = Testimony::new(&mut witness);
        let s = Duration::from_secs;
        testimony.pulse(s(4), &Scan::default());
        assert_eq!(testimony.until_pulse(s(4)), Some(s(1)));
        testimony.pulse(s(7), &Scan::default());
        assert_eq!(testimony.until_pulse(s(7)), Some(s(5)));
        assert_eq!(witness.0, ["pulse"]);
    }
}
