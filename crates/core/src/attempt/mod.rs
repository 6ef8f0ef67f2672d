//! One attempt as a pure state machine: what was seen goes in, what to do comes out.
//!
//! Times are `Duration` since the process was started. The same function is used live and in
//! recovery, so it never asks a clock.

mod parts;

use std::time::Duration;

use crate::executor::record::RungKind;
use crate::milestone::Milestone;
use crate::outcome::{Ending, Limit};

pub use parts::{Effect, Input, Limits, Progress};

/// The most time a rung gets when a deadline, and not a person, ends the run: the overshoot of a
/// hard deadline is at most a second.
const DEADLINE_RUNG: Duration = Duration::from_millis(400);

/// The longest pause between two looks at the tree's CPU use.
const SAMPLE_MOST: Duration = Duration::from_secs(5);

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The process runs and has not completed.
    Working,
    /// Completion was seen; the process has a short time to exit.
    Lingering { since: Duration },
    /// The leader is gone without completion; its descendants may still write.
    Draining { since: Duration },
    /// The ladder is walked; `rung` was climbed at `since`.
    Climbing { rung: usize, since: Duration },
    /// The tree is being ended.
    EndingTree,
    /// Over.
    Ended,
}

/// The whole state of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    limits: Limits,
    phase: Phase,
    progress: Progress,
    last_activity: Duration,
    next_sample: Duration,
    ending: Option<Ending>,
    by_deadline: bool,
    cancel_noted: bool,
    rung_reached: Option<RungKind>,
}

/// An input that makes no sense where the attempt stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{input:?} is illegal in {phase:?}")]
pub struct Illegal {
    /// Where it stood.
    pub phase: Phase,
    /// What came.
    pub input: Input,
}

impl Attempt {
    /// A process that was just started.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut attempt = Self {
            limits,
            phase: Phase::Working,
            progress: Progress::default(),
            last_activity: Duration::ZERO,
            next_sample: Duration::ZERO,
            ending: None,
            by_deadline: false,
            cancel_noted: false,
            rung_reached: None,
        };
        attempt.next_sample = attempt.sample_pause();
        attempt
    }

    /// Where it stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Why it ended; known once the tree is being ended.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The last rung that was climbed.
    #[must_use]
    pub fn rung_reached(&self) -> Option<RungKind> {
        self.rung_reached
    }

    /// When [`Input::Ticked`] is due at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Working => self.working_deadlines().into_iter().flatten().min(),
            Phase::Lingering { since } => Some((since + self.limits.grace).min(self.hard_end())),
            Phase::Draining { since } => Some((since + self.limits.drain).min(self.hard_end())),
            Phase::Climbing { rung, since } => Some(since + self.rung_wait(rung)),
            Phase::EndingTree | Phase::Ended => None,
        }
    }

    /// Takes one input in, at `at` since the start.
    ///
    /// # Errors
    /// The input is illegal where the attempt stands; nothing changed.
    pub fn step(&mut self, at: Duration, input: Input) -> Result<Vec<Effect>, Illegal> {
        match (self.phase, input) {
            (Phase::Ended, input) => Err(Illegal { phase: self.phase, input }),
            (Phase::EndingTree, Input::TreeEnded) => {
                self.phase = Phase::Ended;
                Ok(Vec::new())
            }
            (Phase::EndingTree, _) => Ok(Vec::new()),
            (phase, input @ Input::TreeEnded) => Err(Illegal { phase, input }),
            (_, Input::Read(progress)) => Ok(self.read(at, progress)),
            (_, Input::Sampled { busy, tool_session }) => {
                if busy || tool_session {
                    self.last_activity = at;
                }
                Ok(self.tick(at))
            }
            (_, Input::LeaderEnded { code, signal }) => Ok(self.leader_ended(at, code, signal)),
            (Phase::Draining { .. }, Input::TreeEmpty) => Ok(self.end_tree()),
            (_, Input::TreeEmpty) => Ok(Vec::new()),
            (_, Input::Settled) => Ok(self.settled()),
            (_, Input::CancelAsked) => Ok(self.cancel(at)),
            (phase, Input::Broken(ending)) => {
                match phase {
                    Phase::Lingering { .. } => self.ending = Some(Ending::AfterResult),
                    Phase::Climbing { .. } => {}
                    _ => self.ending = Some(ending),
                }
                Ok(self.end_tree())
            }
            (_, Input::Ticked) => Ok(self.tick(at)),
        }
    }

    fn read(&mut self, at: Duration, progress: Progress) -> Vec<Effect> {
        if progress.activity > self.progress.activity {
            self.last_activity = at;
        }
        self.progress = progress;
        let noted = match self.phase {
            Phase::Working if progress.complete => {
                self.phase = Phase::Lingering { since: at };
                Milestone::Completed
            }
            Phase::Lingering { .. } if !progress.complete => {
                self.phase = Phase::Working;
                Milestone::Resumed
            }
            Phase::Draining { .. } if progress.complete => {
                return self.end_tree_after(Milestone::Completed);
            }
            _ => return self.tick(at),
        };
        let mut effects = vec![Effect::Note(noted)];
        effects.extend(self.tick(at));
        effects
    }

    fn leader_ended(
        &mut self,
        at: Duration,
        code: Option<i32>,
        signal: Option<i32>,
    ) -> Vec<Effect> {
        let seen = match (code, signal) {
            (Some(code), _) => Ending::Exited(code),
            (None, Some(signal)) => Ending::Signalled(signal),
            (None, None) => Ending::Lost("no exit was reported".to_owned()),
        };
        let ended = Milestone::LeaderEnded { code, signal };
        match self.phase {
            Phase::Working if !self.progress.complete && !self.progress.failed => {
                self.ending = Some(seen);
                self.phase = Phase::Draining { since: at };
                vec![Effect::Note(ended), Effect::LookForRest]
            }
            Phase::Working | Phase::Lingering { .. } => {
                self.ending = Some(seen);
                self.end_tree_after(ended)
            }
            Phase::Climbing { .. } => self.end_tree_after(ended),
            _ => self.end_tree(),
        }
    }

    /// A cancel or a deadline that came first keeps its ending.
    fn settled(&mut self) -> Vec<Effect> {
        match self.phase {
            Phase::Working => {
                self.ending = Some(Ending::Settled);
                self.end_tree_after(Milestone::Settled)
            }
            Phase::Lingering { .. } => {
                self.ending = Some(Ending::Settled);
                self.end_tree()
            }
            _ => self.end_tree(),
        }
    }

    fn cancel(&mut self, at: Duration) -> Vec<Effect> {
        let is_first = !std::mem::replace(&mut self.cancel_noted, true);
        let mut effects = Vec::new();
        effects.extend(is_first.then_some(Effect::Note(Milestone::CancelRequested)));
        effects.extend(match self.phase {
            Phase::Working => {
                self.ending = Some(Ending::Cancelled);
                self.climb(0, at)
            }
            Phase::Lingering { .. } => {
                self.ending = Some(Ending::AfterResult);
                self.end_tree()
            }
            Phase::Climbing { .. } => {
                self.rung_reached = Some(RungKind::HardKill);
                self.end_tree()
            }
            _ => self.end_tree(),
        });
        effects
    }

    fn tick(&mut self, at: Duration) -> Vec<Effect> {
        match self.phase {
            Phase::Working => self.tick_working(at),
            Phase::Lingering { since }
                if at >= (since + self.limits.grace).min(self.hard_end()) =>
            {
                self.ending = Some(Ending::AfterResult);
                self.end_tree()
            }
            Phase::Draining { since } if at >= (since + self.limits.drain).min(self.hard_end()) => {
                self.end_tree()
            }
            Phase::Climbing { rung, since } if at >= since + self.rung_wait(rung) => {
                self.climb(rung + 1, at)
            }
            _ => Vec::new(),
        }
    }

    fn tick_working(&mut self, at: Duration) -> Vec<Effect> {
        let [hard, startup, idle, _] = self.working_deadlines();
        let due = |deadline: Option<Duration>| deadline.is_some_and(|deadline| at >= deadline);
        let limit = if due(hard) {
            Limit::Hard
        } else if due(startup) {
            Limit::Startup
        } else if due(idle) {
            Limit::Idle
        } else if self.limits.idle.is_some() && at >= self.next_sample {
            self.next_sample = at + self.sample_pause();
            return vec![Effect::Sample];
        } else {
            return Vec::new();
        };
        self.ending = Some(Ending::Deadline(limit));
        self.by_deadline = true;
        let mut effects = vec![Effect::Note(Milestone::DeadlineReached(limit))];
        effects.extend(self.climb(0, at));
        effects
    }

    /// Hard, startup, idle, and the next look at the tree.
    fn working_deadlines(&self) -> [Option<Duration>; 4] {
        let startup = self.limits.startup.filter(|_| self.progress.records == 0);
        let open = self.progress.open_tools > 0;
        let idle = self.limits.idle.filter(|_| !open).map(|idle| self.last_activity + idle);
        let sample = self.limits.idle.map(|_| self.next_sample);
        [Some(self.hard_end()), startup, idle, sample]
    }

    fn hard_end(&self) -> Duration {
        self.limits.hard
    }

    fn sample_pause(&self) -> Duration {
        self.limits.idle.map_or(SAMPLE_MOST, |idle| (idle / 4).min(SAMPLE_MOST))
    }

    fn rung_wait(&self, rung: usize) -> Duration {
        let wait = self.limits.ladder.get(rung).map_or(Duration::ZERO, |rung| rung.1);
        if self.by_deadline { wait.min(DEADLINE_RUNG) } else { wait }
    }

    fn climb(&mut self, rung: usize, at: Duration) -> Vec<Effect> {
        match self.limits.ladder.get(rung).map(|rung| rung.0) {
            None | Some(RungKind::HardKill) => {
                self.rung_reached = Some(RungKind::HardKill);
                self.end_tree()
            }
            Some(kind) => {
                self.rung_reached = Some(kind);
                self.phase = Phase::Climbing { rung, since: at };
                vec![Effect::Climb(kind)]
            }
        }
    }

    fn end_tree_after(&mut self, milestone: Milestone) -> Vec<Effect> {
        let mut effects = vec![Effect::Note(milestone)];
        effects.extend(self.end_tree());
        effects
    }

    fn end_tree(&mut self) -> Vec<Effect> {
        self.phase = Phase::EndingTree;
        vec![Effect::EndTree]
    }
}
