//! Reading `/proc`: one process, the descendants of one, and all that carry a mark in their environment.

use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;
use std::time::Duration;

use super::process::ticks_per_second;
use crate::tree::{Process, Tree};

/// One line of `proc_pid_stat(5)`.
#[derive(Debug, Clone)]
pub(crate) struct Stat {
    pub(crate) process: Process,
    pub(crate) group: i32,
    /// Ticks used by the process itself.
    pub(crate) own_ticks: u64,
    /// Ticks used by descendants that were waited for.
    pub(crate) reaped_ticks: u64,
}

impl Stat {
    pub(crate) fn is_zombie(&self) -> bool {
        matches!(self.process.state, 'Z' | 'X')
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.own_ticks.saturating_add(self.reaped_ticks)
    }
}

/// Reads the stat line of `pid`.
pub(crate) fn stat(pid: i32) -> io::Result<Stat> {
    let mut buffer = [0; 1024];
    let mut file = File::open(format!("/proc/{pid}/stat"))?;
    let read = file.read(&mut buffer)?;
    parse_stat(&buffer[..read]).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// When `pid` started, in clock ticks since boot.
pub(crate) fn start_time(pid: i32) -> io::Result<u64> {
    stat(pid).map(|stat| stat.process.start_time)
}

fn parse_stat(line: &[u8]) -> Option<Stat> {
    let line = String::from_utf8_lossy(line);
    let (pid, rest) = line.split_once(" (")?;
    let (comm, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    let id = |index: usize| i32::try_from(number(index)?).ok();
    let ticks = |index: usize| Some(u64::try_from(number(index)?).unwrap_or(0));
    let own_ticks = ticks(11)? + ticks(12)?;
    Some(Stat {
        process: Process {
            pid: pid.parse().ok()?,
            ppid: id(1)?,
            session: id(3)?,
            comm: comm.to_owned(),
            state: fields.first()?.chars().next()?,
            start_time: fields.get(19)?.parse().ok()?,
            cpu: ticks_to_duration(own_ticks),
        },
        group: id(2)?,
        own_ticks,
        reaped_ticks: ticks(13)? + ticks(14)?,
    })
}

/// A number of clock ticks as a time.
fn ticks_to_duration(ticks: u64) -> Duration {
    let rate = ticks_per_second();
    Duration::from_secs(ticks / rate)
        + Duration::from_nanos((ticks % rate).saturating_mul(1_000_000_000) / rate)
}

/// Every process that `/proc` shows. Empty if it cannot be read.
pub(crate) fn all() -> Vec<Stat> {
    pids().into_iter().filter_map(|pid| stat(pid).ok()).collect()
}

/// The pid of every process that `/proc` shows.
pub(crate) fn pids() -> Vec<i32> {
    numbered_entries("/proc")
}

fn numbered_entries(directory: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The descendants of `root`, parents before children. A tree that forks meanwhile may be
/// read incompletely: who must be sure repeats until nothing is found.
pub(crate) fn descendants(root: i32) -> Vec<Stat> {
    if kernel_lists_children() { walk(root) } else { select(all(), root) }
}

fn kernel_lists_children() -> bool {
    static LISTED: OnceLock<bool> = OnceLock::new();
    *LISTED.get_or_init(|| File::open("/proc/thread-self/children").is_ok())
}

fn walk(root: i32) -> Vec<Stat> {
    let mut found: Vec<Stat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let known = found.len();
        found.extend(children(parent).into_iter().filter_map(|pid| stat(pid).ok()));
        parents.extend(found[known..].iter().map(|stat| stat.process.pid));
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for thread in numbered_entries(&format!("/proc/{pid}/task")) {
        let path = format!("/proc/{pid}/task/{thread}/children");
        let Ok(list) = std::fs::read_to_string(path) else { continue };
        all.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    all
}

/// The descendants of `root` out of one scan.
pub(crate) fn select(mut rest: Vec<Stat>, root: i32) -> Vec<Stat> {
    let mut found: Vec<Stat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let (children, others) = rest.into_iter().partition(|stat| stat.process.ppid == parent);
        rest = others;
        let children: Vec<Stat> = children;
        parents.extend(children.iter().map(|stat| stat.process.pid));
        found.extend(children);
    }
    found
}

/// A snapshot of `found` for a caller; `reaped` counts ticks of descendants that an init waited for.
pub(crate) fn tree_of(found: Vec<Stat>, reaped: u64) -> Tree {
    let ticks = found.iter().map(Stat::ticks).fold(reaped, u64::saturating_add);
    let processes = found.into_iter().map(|stat| stat.process).collect();
    Tree { processes, cpu: ticks_to_duration(ticks) }
}

/// Whether the environment that `pid` was executed with holds an entry (`NAME=value`) like that.
pub(crate) fn environment_has(pid: i32, like: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(like)
}

/// `/proc/sys/kernel/random/boot_id`.
pub(crate) fn boot_id() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

/// The inode number of this process's pid namespace.
pub(crate) fn pid_namespace() -> io::Result<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid")?;
    let text = link.to_string_lossy();
    text.trim_start_matches("pid:[")
        .trim_end_matches(']')
        .parse()
        .map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The pid, as seen from here, of the process behind a pidfd; `None` once it was waited for.
pub(crate) fn pid_of(pidfd: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<i32>> {
    use std::os::fd::AsRawFd;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
    Ok(pid.filter(|pid| *pid > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_parentheses_and_spaces_is_read_whole() {
        let line = b"42 (a) b (c) S 7 8 9 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 12345 99 1";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.process.comm, "a) b (c");
        assert_eq!((stat.process.pid, stat.process.ppid), (42, 7));
        assert_eq!((stat.group, stat.process.session), (8, 9));
        assert_eq!((stat.own_ticks, stat.reaped_ticks), (30, 70));
        assert_eq!(stat.process.start_time, 12345);
    }

    #[test]
    fn a_torn_stat_line_is_no_process() {
        assert!(parse_stat(b"42 (a) S 7 8").is_none());
        assert!(parse_stat(b"").is_none());
    }

    #[test]
    fn both_ways_to_find_descendants_find_a_real_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let here = i32::try_from(std::process::id()).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let has = |found: Vec<Stat>| found.iter().any(|stat| stat.process.pid == pid);
        assert!(has(walk(here)));
        assert!(has(select(all(), here)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!has(walk(here)));
    }
}
