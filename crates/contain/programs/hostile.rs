//! A process tree that does what it can to survive: own sessions, double forks, ignored signals,
//! children that replace each other, a fork storm, and processes that change their pid all the time.
//!
//! `contain-hostile stay|leave [settled]`: the leader stays, or exits 3 once the tree is up. It writes
//! `up` then. A settled tree does without the processes that change their pid: uncontained, each of their
//! thousand former selves would be left to pid 1 of the machine, and some do not reap.
//! Every process ends by itself after a while, so that a failing test leaks for a bounded time only.

use std::io::Write;
use std::time::{Duration, Instant};

const LIFE: Duration = Duration::from_secs(60);
const HOPPERS: usize = 4;
/// 200 forks a second, as measured trees do; more would fill the pid table of a machine whose pid 1 reaps
/// slowly, should a containment under test not hold.
const STORM_PAUSE: Duration = Duration::from_millis(5);
const HOP_PAUSE: Duration = Duration::from_millis(4);
const STORM_CHILD_LIFE: Duration = Duration::from_millis(300);

fn main() -> std::io::Result<()> {
    let end = Instant::now() + LIFE;
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    apart(move || linger(end));
    apart(move || apart(move || linger(end)));
    apart(move || apart(move || respawn(end)));
    let settled = std::env::args().nth(2).as_deref() == Some("settled");
    for _hopper in 0..if settled { 0 } else { HOPPERS } {
        apart(move || hop(end));
    }
    apart(move || storm(end));
    let mut out = std::io::stdout();
    out.write_all(b"up\n")?;
    out.flush()?;
    if std::env::args().nth(1).as_deref() == Some("leave") {
        std::process::exit(3);
    }
    linger(end);
    Ok(())
}

/// Runs `life` in a forked process with a session of its own.
fn apart(life: impl FnOnce()) {
    forked(|| {
        // SAFETY: takes no pointer.
        unsafe { libc::setsid() };
        life();
    });
}

/// Returns in the parent only, with the child's pid.
fn forked(life: impl FnOnce()) -> libc::pid_t {
    // SAFETY: this program never starts a thread.
    match unsafe { libc::fork() } {
        0 => {
            life();
            // SAFETY: takes no pointer.
            unsafe { libc::_exit(0) }
        }
        pid => pid,
    }
}

fn linger(end: Instant) {
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Puts a new child in the place of each that dies.
fn respawn(end: Instant) {
    while Instant::now() < end {
        let child = forked(|| linger(end));
        // SAFETY: a null status pointer is allowed.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

/// A new pid every few milliseconds.
fn hop(end: Instant) {
    while Instant::now() < end {
        // SAFETY: this program never starts a thread; `_exit` takes no pointer.
        unsafe {
            match libc::fork() {
                0 | -1 => {}
                _ => libc::_exit(0),
            }
        }
        std::thread::sleep(HOP_PAUSE);
    }
}

fn storm(end: Instant) {
    // SAFETY: ignoring SIGCHLD makes the kernel reap these children.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    while Instant::now() < end {
        forked(|| std::thread::sleep(STORM_CHILD_LIFE));
        std::thread::sleep(STORM_PAUSE);
    }
}
