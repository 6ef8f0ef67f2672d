//! The talk with a backend that asks: what it asks is ruled on at the desk, what was decided is kept
//! before it is told.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use dcli_core::executor::scan::Request;
use dcli_core::exit::FailureClass;
use dcli_core::failure::Failure;
use dcli_core::interaction::desk::MOST;
use dcli_core::interaction::{Answer, Ask, Desk, Step};

use super::answers::Answers;
use super::intake::Intake;
use super::witness::Testimony;
use crate::backend::session::{Hear, Heard, Session};
use crate::backend::spawn::Running;

/// What a talk is made of.
pub(crate) struct Partner {
    /// The backend.
    pub session: Box<dyn Session>,
    /// Who rules.
    pub desk: Desk,
    /// Where answers from outside come in.
    pub answers: Answers,
    /// Whether the backend is a server, whose standard output is no protocol.
    pub is_server: bool,
}

/// How much of what was asked is looked at in one go.
const AT_ONCE: usize = 16;

/// The talk of one run.
pub(super) struct Talk {
    partner: Partner,
    /// What was asked on standard output and has not been looked at yet.
    asked: VecDeque<Request>,
    is_closed: bool,
}

/// What the loop of a run is to do after it heard something.
pub(super) enum Turn {
    /// Look at what is known now.
    Look,
    /// The session is over.
    Settled,
}

impl Talk {
    /// Begins to talk and to listen.
    pub(super) fn begin(
        mut partner: Partner,
        run: &dyn Running,
        hear: impl Fn(Heard) -> bool + Send + Sync + 'static,
        answered: impl Fn(Answer) -> bool + Send + 'static,
    ) -> Self {
        partner.answers.listen(answered);
        let hear: Hear = Arc::new(hear);
        partner.session.begin(&run.leader(), hear);
        Self { partner, asked: VecDeque::new(), is_closed: false }
    }

    /// How many questions wait for somebody.
    pub(super) fn open(&self) -> u64 {
        self.partner.desk.open()
    }

    /// When [`Talk::tick`] is due, since the start of the run.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.partner.desk.next_deadline()
    }

    /// What the session says.
    pub(super) fn hear(
        &mut self,
        at: Duration,
        heard: Heard,
        intake: &mut Intake,
        testimony: &mut Testimony<'_>,
    ) -> Turn {
        match heard {
            Heard::Record(record) => intake.record(&record, testimony),
            Heard::Raw(bytes) => testimony.output(super::witness::Stream::Events, &bytes),
            Heard::Asked(ask) => self.asked(at, ask, intake, testimony),
            Heard::Withdrawn(key) => {
                let steps = self.partner.desk.withdraw(&key);
                self.take(steps, intake, testimony);
            }
            Heard::Active => intake.active(),
            Heard::Serving(serving) => testimony.serving(&serving),
            Heard::State(state) => testimony.state(&state),
            Heard::Failed(failure) => intake.scanner().fail(failure),
            Heard::Settled => return Turn::Settled,
        }
        Turn::Look
    }

    /// What was asked on standard output: some of it, so that clock and cancel are looked at between.
    pub(super) fn requests(
        &mut self,
        at: Duration,
        requests: Vec<Request>,
        intake: &mut Intake,
        testimony: &mut Testimony<'_>,
    ) {
        self.asked.extend(requests);
        for _ in 0..AT_ONCE {
            let Some(request) = self.asked.pop_front() else { return };
            if let Some(heard) = self.partner.session.read(request) {
                self.hear(at, heard, intake, testimony);
            }
        }
    }

    /// Whether something asked has not been looked at yet.
    pub(super) fn is_behind(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Somebody answered.
    pub(super) fn answered(
        &mut self,
        answer: &Answer,
        intake: &mut Intake,
        testimony: &mut Testimony<'_>,
    ) {
        let steps = self.partner.desk.answer(answer);
        self.take(steps, intake, testimony);
    }

    /// Time passed.
    pub(super) fn tick(
        &mut self,
        at: Duration,
        intake: &mut Intake,
        testimony: &mut Testimony<'_>,
    ) {
        let steps = self.partner.desk.tick(at);
        self.take(steps, intake, testimony);
    }

    /// The rung of a cancel.
    pub(super) fn abort(&mut self) {
        self.partner.session.abort();
    }

    /// Nothing more is said to the backend. Asking again changes nothing.
    pub(super) fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.partner.session.close();
        }
    }

    fn asked(
        &mut self,
        at: Duration,
        ask: Ask,
        intake: &mut Intake,
        testimony: &mut Testimony<'_>,
    ) {
        let steps = self.partner.desk.ask(at, ask);
        self.take(steps, intake, testimony);
        if self.partner.desk.is_flooded() {
            let message = format!("the backend asked more than {MOST} times; its tree was ended");
            intake.scanner().fail(Failure::seen(FailureClass::Protocol, message));
        }
    }

    /// Each step in its order. What cannot be kept is not told to the backend.
    fn take(&mut self, steps: Vec<Step>, intake: &mut Intake, testimony: &mut Testimony<'_>) {
        for step in steps {
            match step {
                Step::Tell(fact) => testimony.fact(fact),
                Step::Warn(warning) => intake.scanner().warn(warning),
                Step::Refused(sentence) => intake.scanner().refused(sentence),
                Step::Close(id) => {
                    let closed = match self.partner.answers.close(&id) {
                        Some(answer) => self.partner.desk.answer(&answer),
                        None => self.partner.desk.expire(&id),
                    };
                    self.take(closed, intake, testimony);
                }
                Step::Reply(reply) if testimony.fault().is_none() => {
                    self.partner.session.reply(reply);
                }
                Step::Reply(_) => {}
            }
        }
    }
}
