//! The loop: receive with the next deadline as the timeout, step, perform the effects.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use dcli_contain::{Aftermath, Exit, Lost};
use dcli_core::attempt::{Attempt, Effect, Input, Limits, Phase, Progress};
use dcli_core::decode::DEFAULT_LINE_CAP;
use dcli_core::executor::record::{Record, RungKind};
use dcli_core::executor::{Scan, Scanner};
use dcli_core::fact::{Fact, FactLine};
use dcli_core::outcome::Ending;

use super::cancel::Cancel;
use super::capture::{Captures, FREE_FLOOR, Reached};
use super::stamp::Stamp;
use super::watch::{Lookout, Pending};
use crate::backend::spawn::Running;

/// Under this share of one core a tree counts as idle.
const BUSY_SHARE: f64 = 0.05;
/// The most of standard error that is kept, from its end: 64 KiB.
const STDERR_KEPT: usize = 64 * 1024;
/// The most of standard error that is read: 64 MiB.
const STDERR_CAP: u64 = 64 << 20;
/// Free space is looked at each time this much more was captured: 16 MiB.
const SPACE_STEP: u64 = 16 << 20;

/// Why a truncated standard output ends a run.
const SHRUNK: &str = "the backend truncated its own standard output, and records may be lost";

/// Hears every fact, as it comes.
pub type OnFact = Arc<dyn Fn(&FactLine) + Send + Sync>;

/// What a run is driven with.
pub(crate) struct Setup {
    pub record: Arc<Record>,
    pub limits: Limits,
    pub captures: Captures,
    pub output_cap: u64,
    pub cancel: Cancel,
    pub on_fact: Option<OnFact>,
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
}

enum Wake {
    Output,
    Leader(Result<Exit, Lost>),
    Cancel,
}

/// Drives a started run until its tree has ended.
pub(crate) fn drive(run: &dyn Running, setup: Setup) -> Driven {
    let (sender, wakes) = channel();
    let pending = Pending::default();
    let cancelled = sender.clone();
    setup.cancel.listen(move || cancelled.send(Wake::Cancel).is_ok());
    let paths = [setup.captures.stdout.proc_path(), setup.captures.stderr.proc_path()];
    let output = sender.clone();
    let lookout = Lookout::new(paths, pending.clone(), move || drop(output.send(Wake::Output)));
    std::thread::scope(|scope| {
        let leader: Sender<Wake> = sender;
        scope.spawn(move || drop(leader.send(Wake::Leader(run.wait_leader()))));
        let _ended = EndedAtLast(run);
        let mut drive = Drive::new(run, setup, lookout);
        drive.note(Fact::Started {
            backend_pid: u32::try_from(run.leader().pid).ok(),
            backend_session_id: None,
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
    scanner: Scanner,
    captures: Captures,
    output_cap: u64,
    stamp: Stamp,
    on_fact: Option<OnFact>,
    started: Instant,
    lookout: Lookout,
    /// The last read left something unread.
    is_behind: bool,
    stderr: Vec<u8>,
    truncated: [bool; 2],
    space_checked_at: u64,
    sampled: (Duration, Duration),
    announces_tools: bool,
    exit: Option<Exit>,
    frozen: Option<Scan>,
    aftermath: Option<Aftermath>,
}

impl<'r> Drive<'r> {
    fn new(run: &'r dyn Running, setup: Setup, lookout: Lookout) -> Self {
        Self {
            run,
            attempt: Attempt::new(setup.limits),
            announces_tools: setup.record.liveness.tool_starts_announced,
            scanner: Scanner::new(setup.record, DEFAULT_LINE_CAP),
            captures: setup.captures,
            output_cap: setup.output_cap,
            stamp: Stamp::default(),
            on_fact: setup.on_fact,
            started: Instant::now(),
            lookout,
            is_behind: false,
            stderr: Vec::new(),
            truncated: [false; 2],
            space_checked_at: 0,
            sampled: (Duration::ZERO, Duration::ZERO),
            exit: None,
            frozen: None,
            aftermath: None,
        }
    }

    fn run(&mut self, wakes: &Receiver<Wake>, pending: &Pending) {
        while self.attempt.phase() != Phase::Ended {
            match self.receive(wakes) {
                Some(Wake::Cancel) => self.step(Input::CancelAsked),
                Some(Wake::Leader(ended)) => self.leader_ended(ended),
                Some(Wake::Output) | None => {
                    pending.clear();
                    self.read();
                    self.step(Input::Ticked);
                }
            }
        }
    }

    fn receive(&mut self, wakes: &Receiver<Wake>) -> Option<Wake> {
        let now = self.started.elapsed();
        let deadline = self.attempt.next_deadline().map(|at| at.saturating_sub(now));
        let look = self.lookout.pause(now);
        let look = if self.is_behind { Some(Duration::ZERO) } else { look };
        let wait = deadline.into_iter().chain(look).min();
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
        let captures = &self.captures;
        // One whose length is not known fails to be read too, and that is reported.
        let ends = [&captures.stdout, &captures.stderr].map(|one| one.length().unwrap_or(0));
        loop {
            self.read();
            let read = [self.captures.stdout.offset(), self.captures.stderr.offset()];
            if !self.is_behind || (read[0] >= ends[0] && read[1] >= ends[1]) {
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
        self.truncated[0] |= self.is_behind;
    }

    /// Reads what is new in both captures, or a part of it.
    fn read(&mut self) {
        self.is_behind = false;
        if self.attempt.phase() == Phase::Ended {
            return;
        }
        let Self { scanner, captures, stamp, on_fact, stderr, truncated, .. } = self;
        let out = captures.stdout.read(self.output_cap, |bytes| {
            scanner.push(bytes, |fact| tell(stamp, on_fact.as_ref(), fact));
        });
        let err = captures.stderr.read(STDERR_CAP, |bytes| keep_end(stderr, bytes));
        let broken = match (out, err) {
            (Err(error), _) | (_, Err(error)) => Some(Ending::Capture(error.to_string())),
            (Ok(Reached::Shrunk), _) => Some(Ending::Capture(SHRUNK.to_owned())),
            (Ok(out), Ok(err)) => {
                self.is_behind = out == Reached::Pause || err == Reached::Pause;
                truncated[1] |= matches!(err, Reached::Cap | Reached::Shrunk);
                if err == Reached::Shrunk {
                    // A tool that opened /dev/stderr anew; no evidence is in it.
                    captures.stderr.rewind();
                }
                let over = out == Reached::Cap;
                (over && !std::mem::replace(&mut truncated[0], over)).then_some(Ending::Capped)
            }
        };
        let broken = broken.or_else(|| self.overrun());
        let scan = self.scanner.scan();
        let progress = Progress {
            records: scan.records,
            activity: scan.activity,
            open_tools: scan.open_tools,
            complete: scan.complete(),
            failed: scan.failure.is_some(),
        };
        self.step(Input::Read(progress));
        if let Some(ending) = broken {
            self.truncated[0] = true;
            self.step(Input::Broken(ending));
        }
    }

    /// What was written counts, not what was read of it: the rest fills the disk as well.
    fn overrun(&mut self) -> Option<Ending> {
        let (stdout, stderr) = (&self.captures.stdout, &self.captures.stderr);
        let [out, err] = [stdout, stderr].map(|capture| capture.length().unwrap_or(0));
        if err > self.output_cap {
            return Some(Ending::Capped);
        }
        let written = out.saturating_add(err);
        if written < self.space_checked_at.saturating_add(SPACE_STEP) {
            return None;
        }
        self.space_checked_at = written;
        let free = self.captures.stdout.free_space().ok()?;
        let message = format!("{free} bytes are free where it is captured");
        (free < FREE_FLOOR).then_some(Ending::Capture(message))
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
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Climb(RungKind::Interrupt) => {
                // One that has ended already is on its way into the channel.
                let _ = self.run.interrupt();
            }
            Effect::Climb(_) => {}
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
        let (then, cpu) = std::mem::replace(&mut self.sampled, (now, tree.cpu));
        let spent = tree.cpu.saturating_sub(cpu).as_secs_f64();
        let busy = spent > BUSY_SHARE * now.saturating_sub(then).as_secs_f64();
        let leader = self.run.leader().pid;
        let tool_session = !self.announces_tools
            && tree.processes.iter().any(|p| p.session != leader && p.state != 'Z');
        self.step(Input::Sampled { busy, tool_session });
    }

    fn end_tree(&mut self) {
        if self.scanner.scan().complete() {
            // What comes after completion changes nothing but usage.
            self.frozen = Some(self.scanner.scan().clone());
        }
        let aftermath = self.run.end();
        self.exit = self.exit.or(aftermath.leader);
        self.aftermath = Some(aftermath);
        self.read_rest();
        self.step(Input::TreeEnded);
    }

    fn note(&mut self, fact: Fact) {
        tell(&mut self.stamp, self.on_fact.as_ref(), fact);
    }

    fn end(mut self) -> Driven {
        let (stamp, on_fact) = (&mut self.stamp, self.on_fact.as_ref());
        let mut scan = self.scanner.finish(|fact| tell(stamp, on_fact, fact));
        if let Some(frozen) = self.frozen.take() {
            let (usage, tokens, cost) = (scan.usage, scan.tokens, scan.cost);
            scan = Scan { usage, tokens, cost, ..frozen };
        }
        let (code, signal) = self.exit.map_or((None, None), |exit| (exit.code, exit.signal));
        tell(stamp, on_fact, Fact::ProcessExited { code, signal });
        Driven {
            ending: self.attempt.ending().cloned().unwrap_or(Ending::AfterResult),
            exit: self.exit,
            rung_reached: self.attempt.rung_reached(),
            scan,
            stderr: String::from_utf8_lossy(&self.stderr).into_owned(),
            stdout_truncated: self.truncated[0],
            stderr_truncated: self.truncated[1],
            aftermath: self.aftermath.unwrap_or(Aftermath {
                left_behind: 0,
                survivors: None,
                leader: None,
            }),
        }
    }
}

fn tell(stamp: &mut Stamp, on_fact: Option<&OnFact>, fact: Fact) {
    if let Some(on_fact) = on_fact {
        on_fact(&stamp.line(fact));
    }
}

fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(&bytes[bytes.len().saturating_sub(STDERR_KEPT)..]);
    let over = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..over);
}
