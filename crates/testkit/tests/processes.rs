//! Markers find a tree wherever it went; a program runs as the user it was given.

use std::process::{Command, Stdio};

use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use dcli_testkit::process::{Marker, ORDINARY_USER, as_user};

#[test]
fn a_marker_finds_a_grandchild_in_another_session_and_loses_it_when_it_dies() {
    let marker = Marker::new();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "setsid sleep 60 </dev/null >/dev/null 2>&1 & echo up"]);
    marker.plant(&mut shell);
    assert_eq!(shell.output().unwrap().stdout, b"up\n");
    let alive = marker.alive();
    assert_eq!(alive.len(), 1, "{alive:?}");
    assert!(Marker::new().alive().is_empty());
    assert!(marker.wait_gone(std::time::Duration::ZERO).is_err());
    marker.kill_all(HANG_LIMIT).unwrap();
    marker.wait_gone(HANG_LIMIT).unwrap();
}

#[test]
fn a_zombie_is_not_alive() {
    let marker = Marker::new();
    let mut sleep = Command::new("sleep");
    sleep.arg("60").stdin(Stdio::null());
    marker.plant(&mut sleep);
    let mut child = sleep.spawn().unwrap();
    // A start is over before the kernel has given the new program its environment.
    wait_until("the child to be seen", HANG_LIMIT, || marker.alive().len() == 1).unwrap();
    child.kill().unwrap();
    marker.wait_gone(HANG_LIMIT).unwrap();
    child.wait().unwrap();
}

#[test]
fn as_user_takes_uid_gid_and_every_other_group_away() {
    if !rustix::process::getuid().is_root() {
        let mut id = Command::new("id");
        as_user(0, &mut id);
        assert!(id.output().is_err(), "an ordinary user became another one");
        return;
    }
    let mut id = Command::new("id");
    as_user(ORDINARY_USER, &mut id);
    let text = String::from_utf8(id.output().unwrap().stdout).unwrap();
    assert_eq!(text.trim_end(), "uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)");
}
