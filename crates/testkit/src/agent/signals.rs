//! Ignored and caught signals without a signal handler.
//!
//! Dispositions and masks survive exec, so the agent starts itself anew through `env(1)` (GNU
//! coreutils 8.31 and later), which sets them and changes nothing else: same pid, same
//! environment. A caught SIGINT is a blocked one that is seen pending in `/proc/self/status`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Signal;

use super::script::{Script, Step};
use crate::proc;

/// Starts the process anew when the script wants signals treated otherwise than they are now.
/// Returns when nothing is to be changed.
pub(super) fn prepare(script: &Script, arguments: &[OsString]) -> io::Result<()> {
    let status = proc::status("self").unwrap_or_default();
    let ignored = ignored(script)?;
    let mask = |field: &str| proc::mask(&status, field);
    let missing = ignored.iter().any(|(_, signal)| mask("SigIgn") & bit(*signal) == 0);
    let unblocked = catches_interrupt(script) && mask("SigBlk") & bit(Signal::INT) == 0;
    if !missing && !unblocked {
        return Ok(());
    }
    let mut env = Command::new("env");
    if missing {
        let names: Vec<&str> = ignored.iter().map(|(name, _)| name.as_str()).collect();
        env.arg(format!("--ignore-signal={}", names.join(",")));
    }
    if unblocked {
        env.arg("--block-signal=INT");
    }
    Err(env.arg(std::env::current_exe()?).args(arguments).exec())
}

/// Whether a SIGINT has come since it was blocked.
pub(super) fn interrupted() -> bool {
    let status = proc::status("self").unwrap_or_default();
    (proc::mask(&status, "ShdPnd") | proc::mask(&status, "SigPnd")) & bit(Signal::INT) != 0
}

pub(super) fn catches_interrupt(script: &Script) -> bool {
    script.steps.iter().any(|step| matches!(step, Step::OnInterrupt(_)))
}

fn ignored(script: &Script) -> io::Result<Vec<(String, Signal)>> {
    let lists = script.steps.iter().filter_map(|step| match step {
        Step::Ignore(names) => Some(names),
        _ => None,
    });
    let known = |name: &String| {
        let unknown = || io::Error::other(format!("cannot ignore a signal {name}"));
        Ok((name.clone(), named(name).ok_or_else(unknown)?))
    };
    lists.flatten().map(known).collect()
}

fn named(name: &str) -> Option<Signal> {
    match name.trim_start_matches("SIG") {
        "INT" => Some(Signal::INT),
        "TERM" => Some(Signal::TERM),
        "HUP" => Some(Signal::HUP),
        "QUIT" => Some(Signal::QUIT),
        "PIPE" => Some(Signal::PIPE),
        "USR1" => Some(Signal::USR1),
        "USR2" => Some(Signal::USR2),
        _ => None,
    }
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}
