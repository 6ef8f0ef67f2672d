//! What one process of the tree does. Each is the same binary, started again with a role.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, setsid};

use super::random::Random;

/// Live processes of one storm are never more than this.
const STORM_LIMIT: usize = 64;

/// A role, as the first argument of a part of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Sleeps, in the session it was born in.
    Sleeper,
    /// Sleeps in a session of its own.
    Leader,
    /// Starts a sleeper in another session and exits.
    Forker,
    /// Starts its partner again whenever that dies, and is started again by it.
    Partner,
    /// Starts its successor and exits, again and again.
    Hopper,
    /// Starts about 200 short-lived processes a second.
    Storm,
    /// A short-lived process of the storm.
    Drop,
    /// Kills what it can see.
    Killer,
}

const NAMES: [(&str, Role); 8] = [
    ("sleeper", Role::Sleeper),
    ("leader", Role::Leader),
    ("forker", Role::Forker),
    ("partner", Role::Partner),
    ("hopper", Role::Hopper),
    ("storm", Role::Storm),
    ("drop", Role::Drop),
    ("killer", Role::Killer),
];

impl Role {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| *name)
    }
}

/// The time at which every process of the tree exits by itself: milliseconds of the Unix epoch, so
/// that it survives being started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline(pub(super) u64);

impl Deadline {
    pub(super) fn after(life: Duration) -> Self {
        Self(now_ms().saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX)))
    }

    pub(super) fn passed(self) -> bool {
        self.rest().is_zero()
    }

    pub(super) fn rest(self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(now_ms()))
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Everything a part is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) role: Role,
    pub(super) deadline: Deadline,
    pub(super) seed: u64,
    /// Pid of the partner, for a [`Role::Partner`] that has one already; else 0.
    pub(super) partner: i32,
}

impl Part {
    /// The arguments that make this part.
    pub(super) fn arguments(self) -> [String; 5] {
        let numbers =
            [self.deadline.0.to_string(), self.seed.to_string(), self.partner.to_string()];
        let [deadline, seed, partner] = numbers;
        ["--role".to_owned(), self.role.name().to_owned(), deadline, seed, partner]
    }

    /// Reads what [`Part::arguments`] wrote, without its flag.
    pub(super) fn of_arguments(arguments: &[String]) -> Option<Self> {
        let [role, deadline, seed, partner] = arguments else { return None };
        Some(Self {
            role: Role::of_name(role)?,
            deadline: Deadline(deadline.parse().ok()?),
            seed: seed.parse().ok()?,
            partner: partner.parse().ok()?,
        })
    }

    /// A command for this part that keeps only what it inherits of standard error.
    pub(super) fn command(self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(self.arguments()).stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// Starts a part that nobody waits to hear from.
    fn start(self) -> io::Result<Child> {
        self.command()?.stderr(Stdio::null()).spawn()
    }

    /// Does what the role says until the deadline.
    pub(super) fn play(self) -> io::Result<()> {
        match self.role {
            Role::Sleeper => self.sleep(),
            Role::Leader => {
                setsid()?;
                self.sleep()
            }
            Role::Forker => {
                setsid()?;
                let sleeper = Self { role: Role::Sleeper, ..self };
                sleeper.command()?.spawn().map(drop)
            }
            Role::Partner => self.partner(),
            Role::Hopper => self.hop(),
            Role::Storm => self.storm(),
            Role::Drop => {
                let lives = Random::new(self.seed).between(5, 100);
                std::thread::sleep(Duration::from_millis(lives));
                Ok(())
            }
            Role::Killer => {
                up()?;
                super::killer::run(self.deadline).map_err(io::Error::other)
            }
        }
    }

    fn sleep(self) -> io::Result<()> {
        up()?;
        std::thread::sleep(self.deadline.rest());
        Ok(())
    }

    fn partner(self) -> io::Result<()> {
        // One of a pair in a session of its own, the other where it was born.
        if self.seed.is_multiple_of(2) {
            let _leads_already = setsid();
        }
        let mut child = None;
        let mut partner = self.partner;
        while !self.deadline.passed() {
            if partner == 0 || wait_exit(partner, self.deadline)? {
                reap(&mut child);
                let own = getpid().as_raw_nonzero().get();
                let next = Self { partner: own, seed: self.seed.wrapping_add(1), ..self };
                partner = adopt(&mut child, next.start()?);
                // Both are there now; only the first of all still has somebody to tell.
                up()?;
            }
        }
        Ok(())
    }

    fn hop(self) -> io::Result<()> {
        up()?;
        let mut random = Random::new(self.seed);
        if random.between(0, 1) == 1 {
            let _leads_already = setsid();
        }
        std::thread::sleep(Duration::from_millis(random.between(10, 30)));
        if self.deadline.passed() {
            return Ok(());
        }
        Self { seed: random.next(), ..self }.start().map(drop)
    }

    fn storm(self) -> io::Result<()> {
        let mut random = Random::new(self.seed);
        let mut drops: Vec<Child> = Vec::new();
        up()?;
        while !self.deadline.passed() {
            drops.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            if drops.len() < STORM_LIMIT {
                drops.push(Self { role: Role::Drop, seed: random.next(), ..self }.start()?);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Says on standard error that this part is up, then lets go of it.
fn up() -> io::Result<()> {
    io::stderr().write_all(b"+")?;
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

fn reap(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _status = child.wait();
    }
}

fn adopt(slot: &mut Option<Child>, child: Child) -> i32 {
    let pid = child.id().try_into().unwrap_or(0);
    *slot = Some(child);
    pid
}

/// Waits until a process has exited; false when the deadline came first.
fn wait_exit(pid: i32, deadline: Deadline) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(true) };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(true) };
    let limit = Timespec::try_from(deadline.rest()).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&limit))? > 0)
}
