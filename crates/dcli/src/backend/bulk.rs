//! How many bytes one start may carry, arguments and environment together: beyond it execve(2)
//! fails with E2BIG, and a caller should hear which number it was.

use std::ffi::OsString;

use rustix::process::{Resource, getrlimit};
use thiserror::Error;

/// A quarter of the stack limit, and no more than this: 6 MiB (execve(2), "Limits on size").
const MOST: u64 = 6 << 20;
/// No less than this, whatever the stack limit: 32 pages.
const LEAST: u64 = 128 << 10;
/// What the kernel puts beside them: the program's path, auxiliary values, alignment.
const BESIDE: u64 = 8 << 10;

/// More than this system takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "arguments and environment together have {bytes} bytes and this system starts a program with \
     at most {bound}"
)]
pub(crate) struct TooMuch {
    bytes: u64,
    bound: u64,
}

/// Whether the system starts a program with these.
///
/// # Errors
/// It would refuse them.
pub(crate) fn check(args: &[String], env: &[(OsString, OsString)]) -> Result<(), TooMuch> {
    // Each is kept with its NUL and a pointer to it; a variable has a `=` too.
    let kept = |length: usize| length as u64 + 1 + size_of::<usize>() as u64;
    let arguments: u64 = args.iter().map(|argument| kept(argument.len())).sum();
    let variables: u64 = env.iter().map(|(name, value)| kept(name.len() + 1 + value.len())).sum();
    let bytes = arguments + variables + BESIDE;
    let stack = getrlimit(Resource::Stack).current.map_or(MOST, |stack| stack / 4);
    let bound = stack.clamp(LEAST, MOST);
    if bytes > bound { Err(TooMuch { bytes, bound }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_real_start_refuses_is_refused_and_what_it_takes_is_not() {
        for megabytes in [1, 16] {
            let args = vec!["x".repeat(100_000); megabytes * 10];
            let started = std::process::Command::new("/bin/true").args(&args).env_clear().status();
            assert_eq!(check(&args, &[]).is_ok(), started.is_ok(), "{megabytes} MB");
        }
    }
}
