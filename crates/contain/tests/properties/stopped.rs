//! Stopped processes delay nothing: neither a stopped tree nor a stopped init.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{HOLDING, Host, Stage, children, everywhere, state, until};

fn stopped(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    until("it is stopped", || matches!(state(pid), Some('T')));
}

fn pair(stage: &Stage, kind: &str) -> Host {
    let mut host = stage.shell(kind, "setsid sleep 100 & echo up; exec sleep 100");
    host.start();
    until("the tree is up", || stage.output().contains("up") && stage.alive().len() == 2);
    host
}

#[test]
fn a_stopped_tree_is_ended() {
    everywhere(&["pid-namespace", "guardian", "process-group"], |stage, kind| {
        let mut host = pair(stage, kind);
        for pid in stage.alive() {
            stopped(pid);
        }
        assert_eq!(host.ask("end"), "left 1 survivors 0 leader signal 9", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}

/// The outer init and, in a namespace, its child.
fn inits(host: &Host, kind: &str) -> Vec<i32> {
    let outer = host.spawned();
    assert_eq!(outer.len(), 1, "{kind}");
    let inner = if kind == "guardian" { Vec::new() } else { children(outer[0]) };
    outer.into_iter().chain(inner).collect()
}

#[test]
fn stopped_inits_still_end_the_tree_on_command() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = pair(stage, kind);
        for pid in inits(&host, kind) {
            stopped(pid);
        }
        assert_eq!(host.ask("end"), "left 1 survivors 0 leader signal 9", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}

#[test]
fn stopped_inits_still_end_the_tree_when_the_controller_is_killed() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = pair(stage, kind);
        for pid in inits(&host, kind) {
            stopped(pid);
        }
        host.kill();
        stage.wait_empty();
    });
}
