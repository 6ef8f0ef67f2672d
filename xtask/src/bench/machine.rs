//! What the figures were measured on, without any name of a host or a directory.

use std::fs;

/// One line: processor, cores, memory, kernel.
pub(super) fn described() -> String {
    let cpu = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = value("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.trim();
    format!("{cpu}, {cores} cores, {memory} of memory, Linux {kernel}, {}", scheduled())
}

/// The load of the last minute, as the kernel tells it. Above the number of cores, others were at
/// work, and every time below is longer than on a quiet machine.
pub(super) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// How everything here is scheduled, which the programs that are started inherit: under other load
/// `chrt -r 1` in front of the bench keeps that load out of the figures.
fn scheduled() -> &'static str {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    // Field 41 of proc(5), counted from 1 with the two before the name's end left out.
    match fields.split(' ').nth(38) {
        Some("0") => "scheduled as usual",
        Some("1" | "2") => "scheduled before other work (real time)",
        _ => "scheduled in a way of its own",
    }
}

fn value(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
}
