//! A detached process has nothing of whoever started it, and nothing of that takes it along.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use std::os::unix::process::CommandExt;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::stage::{HANG_LIMIT, Host, Stage};

/// One number of `/proc/PID/stat`: 1 parent, 2 group, 3 session, 4 terminal.
fn number(pid: i32, place: usize) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(place).unwrap().parse().unwrap()
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < HANG_LIMIT, "hung");
        std::thread::yield_now();
    }
}

/// A host that was started with further descriptors open and SIGHUP ignored, in a group of its own;
/// and the pid of the process that it detached.
fn detached(stage: &Stage) -> (Host, i32) {
    let plain = stage.host_command("none", "null", &["/bin/true"]);
    let mut command = stage.command("/bin/sh".as_ref());
    command.arg("-c").arg("trap '' HUP; exec 8< /dev/null 9> /dev/null; exec \"$0\" \"$@\"");
    command.arg(plain.get_program()).args(plain.get_args()).process_group(0);
    let mut host = Host::spawn(command);
    assert_eq!(host.ask("detach"), "detached");
    let said = until(|| {
        let said = std::fs::read_to_string(stage.path("detached")).ok()?;
        said.ends_with('\n').then_some(said)
    });
    let mut words = said.split_whitespace();
    let pid = words.next().unwrap().parse().unwrap();
    assert_eq!(
        words.collect::<Vec<_>>(),
        ["one", "two words"].join(" ").split(' ').collect::<Vec<_>>()
    );
    (host, pid)
}

#[test]
fn it_has_its_own_session_no_terminal_and_no_descriptor_but_three() {
    let stage = Stage::new(0);
    let (host, pid) = detached(&stage);
    assert_ne!(number(pid, 1), host.pid());
    assert_ne!(number(pid, 2), number(host.pid(), 2));
    assert_ne!(number(pid, 3), number(host.pid(), 3));
    assert_ne!(number(pid, 3), pid, "it leads no session, so no terminal becomes its own");
    assert_eq!(number(pid, 4), 0);
    let held = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut held: Vec<String> =
        held.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    held.sort();
    assert_eq!(held, ["0", "1", "2"]);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 1, 0, "SIGHUP is heard again");
    let environment = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(environment.split('\0').any(|variable| variable == "CONTAIN_GIVEN=1"));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn it_outlives_its_starter_and_the_group_of_that() {
    let stage = Stage::new(0);
    let (host, pid) = detached(&stage);
    let group = Pid::from_raw(number(host.pid(), 2)).unwrap();
    kill_process_group(group, Signal::HUP).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
    until(|| (!std::path::Path::new(&format!("/proc/{}/cwd", host.pid())).exists()).then_some(()));
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(!state.rsplit_once(") ").unwrap().1.starts_with(['Z', 'X']), "{state}");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}
