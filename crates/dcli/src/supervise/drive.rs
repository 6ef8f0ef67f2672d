//! The loop: receive with the next deadline as the timeout, step, perform the effects.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use dcli_contain::{Aftermath, Exit, Lost};
use dcli_core::attempt::{Attempt, Effect, Input, Limits, Phase};
use dcli_core::executor::Scan;
use dcli_core::executor::record::{Record, RungKind};
use dcli_core::fact::Fact;
use dcli_core::interaction::Answer;
use dcli_core::outcome::Ending;

use super::cancel::Cancel;
use super::capture::Captures;
use super::intake::Intake;
use super::talk::{Partner, Talk, Turn};
use super::watch::{Lookout, Pending};
use super::witness::{StartedReport, Testimony, Witness};
use crate::backend::session::Heard;
use crate::backend::spawn::Running;

/// Under this share of one core a tree counts as idle.
const BUSY_SHARE: f64 = 0.05;

/// What a run is driven with.
pub(crate) struct Setup<'a> {
    pub record: Arc<Record>,
    pub limits: Limits,
    pub captures: Captures,
    pub output_cap: u64,
    pub cancel: Cancel,
    pub started: StartedReport<'a>,
    /// Whom the run talks with, where it does.
    pub partner: Option<Partner>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Driven {
    pub ending: Ending,
    pub exit: Option<Exit>,
    pub rung_reached: Option<RungKind>,
    pub scan: Scan,
    pub stderr: String,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    pub aftermath: Aftermath,
    /// Why the witness could not keep all of it.
    pub unrecorded: Option<String>,
}

enum Wake {
    Output,
    Leader(Result<Exit, Lost>),
    Cancel,
    Heard(Heard),
    Answered(Answer),
}

/// Drives a started run until its tree has ended.
pub(crate) fn drive(run: &dyn Running, setup: Setup<'_>, witness: &mut dyn Witness) -> Driven {
    let (sender, wakes) = channel();
    let pending = Pending::default();
    let cancelled = sender.clone();
    setup.cancel.listen(move || cancelled.send(Wake::Cancel).is_ok());
    let paths = [setup.captures.stdout.proc_path(), setup.captures.stderr.proc_path()];
    let output = sender.clone();
    let lookout = Lookout::new(paths, pending.clone(), move || drop(output.send(Wake::Output)));
    std::thread::scope(|scope| {
        let (leader, heard, answered): (Sender<Wake>, _, _) =
            (sender.clone(), sender.clone(), sender);
        scope.spawn(move || drop(leader.send(Wake::Leader(run.wait_leader()))));
        let _ended = EndedAtLast(run);
        let mut testimony = Testimony::new(witness);
        testimony.started(&setup.started);
        let mut setup = setup;
        let partner = setup.partner.take();
        let is_protocol = partner.as_ref().is_none_or(|partner| !partner.is_server);
        let mut drive = Drive::new(run, setup, (lookout, is_protocol), testimony);
        drive.testimony.fact(Fact::Started {
            backend_pid: u32::try_from(run.leader().pid).ok(),
            backend_session_id: None,
        });
        drive.talk = partner.map(|partner| {
            let hear = move |said| heard.send(Wake::Heard(said)).is_ok();
            Talk::begin(partner, run, hear, move |answer| {
                answered.send(Wake::Answered(answer)).is_ok()
            })
        });
        drive.run(&wakes, &pending);
        drive.end()
    })
}

/// Ends the tree even if a caller's hook panics: the scope waits for the leader.
struct EndedAtLast<'r>(&'r dyn Running);

impl Drop for EndedAtLast<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

struct Drive<'r> {
    run: &'r dyn Running,
    attempt: Attempt,
    intake: Intake,
    testimony: Testimony<'r>,
    /// The witness failed, and the attempt has heard of it.
    is_broken: bool,
    started: Instant,
    lookout: Lookout,
    sampled: (Duration, Duration),
    announces_tools: bool,
    is_server: bool,
    talk: Option<Talk>,
    exit: Option<Exit>,
    frozen: Option<Scan>,
    aftermath: Option<Aftermath>,
}

impl<'r> Drive<'r> {
    fn new(
        run: &'r dyn Running,
        setup: Setup<'_>,
        (lookout, is_protocol): (Lookout, bool),
        testimony: Testimony<'r>,
    ) -> Self {
        Self {
            talk: None,
            run,
            attempt: Attempt::new(setup.limits),
            is_server: !is_protocol,
            // A server shows what its session does.
            announces_tools: setup.record.liveness.tool_starts_announced || !is_protocol,
            intake: Intake::new(setup.record, setup.captures, setup.output_cap, is_protocol),
            testimony,
            is_broken: false,
            started: Instant::now(),
            lookout,
            sampled: (Duration::ZERO, Duration::ZERO),
            exit: None,
            frozen: None,
            aftermath: None,
        }
    }

    fn run(&mut self, wakes: &Receiver<Wake>, pending: &Pending) {
        self.testimony.caught_up();
        self.heed_witness();
        while self.attempt.phase() != Phase::Ended {
            match self.receive(wakes) {
                Some(Wake::Cancel) => self.step(Input::CancelAsked),
                Some(Wake::Leader(ended)) => self.leader_ended(ended),
                Some(Wake::Heard(heard)) => self.hear(heard),
                Some(Wake::Answered(answer)) => self.answered(&answer),
                Some(Wake::Output) | None => {
                    pending.clear();
                    self.read();
                    self.step(Input::Ticked);
                }
            }
            self.tick_talk();
            self.testimony.caught_up();
            self.testimony.pulse(self.started.elapsed(), self.intake.scan());
            self.heed_witness();
        }
    }

    /// A run whose record cannot be kept ends.
    fn heed_witness(&mut self) {
        if let (false, Some(reason)) = (self.is_broken, self.testimony.fault()) {
            let ending = Ending::Unrecorded(reason.to_owned());
            self.is_broken = true;
            self.step(Input::Broken(ending));
        }
    }

    fn receive(&mut self, wakes: &Receiver<Wake>) -> Option<Wake> {
        let now = self.started.elapsed();
        let deadline = self.attempt.next_deadline().map(|at| at.saturating_sub(now));
        let look = self.lookout.pause(now);
        let is_behind = self.intake.is_behind() || self.talk.as_ref().is_some_and(Talk::is_behind);
        let look = if is_behind { Some(Duration::ZERO) } else { look };
        let pulse = self.testimony.until_pulse(now);
        let answer = self.talk.as_ref().and_then(Talk::next_deadline);
        let answer = answer.map(|at| at.saturating_sub(now));
        let wait = deadline.into_iter().chain(look).chain(pulse).chain(answer).min();
        let received = match wait {
            Some(wait) => wakes.recv_timeout(wait),
            None => wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        received.ok()
    }

    fn leader_ended(&mut self, ended: Result<Exit, Lost>) {
        self.read_all();
        match ended {
            Ok(exit) => {
                self.exit = Some(exit);
                self.step(Input::LeaderEnded { code: exit.code, signal: exit.signal });
            }
            Err(lost) => self.step(Input::Broken(Ending::Lost(lost.to_string()))),
        }
    }

    /// Reads both captures to the ends that they have now, whoever goes on writing.
    fn read_all(&mut self) {
        let ends = self.intake.ends();
        loop {
            self.read();
            // A deadline may have ended the tree within the read: then nothing is read any more.
            if self.attempt.phase() == Phase::Ended || self.intake.has_reached(ends) {
                break;
            }
        }
    }

    /// Reads what an ended tree has left. Where it was too late or not wanted anyway, a flood of
    /// output is not waited for.
    fn read_rest(&mut self) {
        if !matches!(self.attempt.ending(), Some(Ending::Deadline(_) | Ending::Cancelled)) {
            return self.read_all();
        }
        self.read();
        self.intake.truncated[0] |= self.intake.is_behind();
    }

    /// Reads what is new in both captures, or a part of it.
    fn read(&mut self) {
        if self.attempt.phase() == Phase::Ended {
            return;
        }
        let broken = self.intake.read(&mut self.testimony);
        self.take_requests();
        self.look();
        if let Some(ending) = broken {
            self.step(Input::Broken(ending));
        }
    }

    /// Steps with what is known now.
    fn look(&mut self) {
        let open = self.talk.as_ref().map_or(0, Talk::open);
        let mut progress = self.intake.progress();
        // Whoever waits for an answer is not idle.
        progress.open_tools += open;
        // Also after a last record without a result: nothing comes after it.
        let scan = self.intake.scan();
        let is_over = scan.terminal && scan.open_tasks.is_empty();
        if let Some(talk) = &mut self.talk
            && (is_over || progress.failed)
        {
            talk.close();
        }
        self.step(Input::Read(progress));
    }

    /// What was asked on standard output, while there is somebody to tell.
    fn take_requests(&mut self) {
        let (requests, at) = (self.intake.take_requests(), self.started.elapsed());
        if let Some(talk) = &mut self.talk {
            talk.requests(at, requests, &mut self.intake, &mut self.testimony);
        }
    }

    fn hear(&mut self, heard: Heard) {
        let at = self.started.elapsed();
        let Some(talk) = &mut self.talk else { return };
        match talk.hear(at, heard, &mut self.intake, &mut self.testimony) {
            Turn::Look => self.look(),
            Turn::Settled => {
                self.look();
                self.step(Input::Settled);
            }
        }
    }

    fn answered(&mut self, answer: &Answer) {
        if let Some(talk) = &mut self.talk {
            talk.answered(answer, &mut self.intake, &mut self.testimony);
            self.look();
        }
    }

    fn tick_talk(&mut self) {
        let at = self.started.elapsed();
        if let Some(talk) = &mut self.talk
            && talk.next_deadline().is_some_and(|due| at >= due)
        {
            talk.tick(at, &mut self.intake, &mut self.testimony);
            self.look();
        }
    }

    fn step(&mut self, input: Input) {
        if self.attempt.phase() == Phase::Ended {
            return;
        }
        let at = self.started.elapsed();
        // An illegal input changes nothing; every input here is legal in every phase but Ended.
        let effects = self.attempt.step(at, input).unwrap_or_default();
        for effect in effects {
            self.perform(effect);
            self.testimony.performed(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Note(milestone) => self.testimony.milestone(&milestone),
            Effect::Climb(RungKind::Interrupt) => {
                // One that has ended already is on its way into the channel.
                let _ = self.run.interrupt();
            }
            Effect::Climb(RungKind::SessionAbort) => {
                if let Some(talk) = &mut self.talk {
                    talk.abort();
                }
            }
            Effect::Climb(RungKind::HardKill) => {}
            Effect::Sample => self.sample(),
            Effect::LookForRest => {
                let tree = self.run.tree();
                if !tree.processes.iter().any(|process| process.state != 'Z') {
                    self.read_all();
                    self.step(Input::TreeEmpty);
                }
            }
            Effect::EndTree => self.end_tree(),
        }
    }

    fn sample(&mut self) {
        let tree = self.run.tree();
        let now = self.started.elapsed();
        let leader = self.run.leader().pid;
        // A server is busy with nothing but being asked; what its tools use is work.
        let own = tree.processes.iter().find(|process| self.is_server && process.pid == leader);
        let used = tree.cpu.saturating_sub(own.map_or(Duration::ZERO, |process| process.cpu));
        let (then, cpu) = std::mem::replace(&mut self.sampled, (now, used));
        let spent = used.saturating_sub(cpu).as_secs_f64();
        let busy = spent > BUSY_SHARE * now.saturating_sub(then).as_secs_f64();
        let tool_session = !self.announces_tools
            && tree.processes.iter().any(|p| p.session != leader && p.state != 'Z');
        self.step(Input::Sampled { busy, tool_session });
    }

    fn end_tree(&mut self) {
        if self.intake.scan().complete() {
            // What comes after completion changes nothing but usage.
            self.frozen = Some(self.intake.scan().clone());
        }
        let aftermath = self.run.end();
        self.exit = self.exit.or(aftermath.leader);
        self.aftermath = Some(aftermath);
        self.read_rest();
        self.step(Input::TreeEnded);
    }

    fn end(mut self) -> Driven {
        let (stderr, truncated) = (self.intake.stderr(), self.intake.truncated);
        let testimony = &mut self.testimony;
        let mut scan = self.intake.finish(|fact| testimony.fact(fact));
        if let Some(frozen) = self.frozen.take() {
            let (usage, tokens, cost) = (scan.usage, scan.tokens, scan.cost);
            scan = Scan { usage, tokens, cost, ..frozen };
        }
        let (code, signal) = self.exit.map_or((None, None), |exit| (exit.code, exit.signal));
        testimony.fact(Fact::ProcessExited { code, signal });
        let unrecorded = testimony.fault().map(str::to_owned);
        Driven {
            ending: ending(self.attempt.ending(), unrecorded.as_deref()),
            exit: self.exit,
            rung_reached: self.attempt.rung_reached(),
            scan,
            stderr,
            stdout_truncated: truncated[0],
            stderr_truncated: truncated[1],
            aftermath: self.aftermath.unwrap_or(Aftermath {
                left_behind: 0,
                survivors: None,
                leader: None,
            }),
            unrecorded,
        }
    }
}

/// A run that could not be recorded worked in no case; one that was ended anyway keeps its reason.
fn ending(seen: Option<&Ending>, unrecorded: Option<&str>) -> Ending {
    match (seen, unrecorded) {
        (Some(ended @ (Ending::Cancelled | Ending::Deadline(_))), _) => ended.clone(),
        (_, Some(reason)) => Ending::Unrecorded(reason.to_owned()),
        (Some(seen), None) => seen.clone(),
        (None, None) => Ending::AfterResult,
    }
}
