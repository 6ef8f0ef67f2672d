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

/// The number of the controlling terminal of this process, zero without one: the fifth field
/// after the command name in `/proc/self/stat`, which may itself hold blanks and brackets.
pub(crate) fn own_terminal() -> i64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    after.split(' ').nth(4).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// All process ids that are there now.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc")) else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(Result::ok).filter_map(number).collect()
}
