//! Reading `/proc/PID` (proc(5)): a process that has gone reads as nothing.

use std::path::Path;

/// The text of `/proc/PID/status`.
pub(crate) fn status(pid: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

/// One line of a status text, without its name.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':').map(str::trim);
    status.lines().find_map(value)
}

/// A signal mask of a status text; zero where there is none.
pub(crate) fn mask(status: &str, name: &str) -> u64 {
    field(status, name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

/// The number of the controlling terminal of this process, zero without one.
pub(crate) fn own_terminal() -> i64 {
    numbers("self").and_then(|numbers| numbers.get(4).copied()).unwrap_or(0)
}

/// Process group and session of `pid`, zero where the leader is outside this pid namespace.
///
/// Not by getpgid(2) and getsid(2): their safe wrappers take a zero for a fault.
pub(crate) fn group_and_session(pid: &str) -> Option<(i32, i32)> {
    let numbers = numbers(pid)?;
    let narrow = |place: usize| numbers.get(place).and_then(|number| (*number).try_into().ok());
    Some((narrow(2)?, narrow(3)?))
}

/// The numbers of `/proc/PID/stat` from the one after the state on, with the state as a zero: the
/// command name before them may itself hold blanks and brackets.
fn numbers(pid: &str) -> Option<Vec<i64>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    Some(after.split_ascii_whitespace().map(|word| word.parse().unwrap_or(0)).collect())
}

/// All process ids that are there now.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc")) else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(Result::ok).filter_map(number).collect()
}
