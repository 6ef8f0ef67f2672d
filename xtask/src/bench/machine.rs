//! What the figures were measured on, without any name of a host or a directory.

use std::fs;

/// One line: processor, cores, memory, kernel.
pub(super) fn described() -> String {
    let cpu = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = value("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cpu}, {cores} cores, {memory} of memory, Linux {}", kernel.trim())
}

/// The load of the last minute, as the kernel tells it. Above the number of cores, others were at
/// work, and every time below is longer than on a quiet machine.
pub(super) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

fn value(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
}
