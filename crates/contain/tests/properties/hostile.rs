//! A tree that does all it can to survive does not survive.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use crate::stage::{HOLDING, Host, Stage, everywhere, until};

const TRIALS: usize = 4;

fn hostile_host(stage: &Stage, kind: &str, mode: &str) -> Host {
    let program = stage.program(env!("CARGO_BIN_EXE_contain-hostile"));
    let mut host = stage.host(kind, &[program.to_str().unwrap(), mode]);
    host.start();
    until("the hostile tree is up", || stage.output().contains("up"));
    host
}

#[test]
fn nothing_of_a_hostile_tree_survives_its_end() {
    everywhere(&HOLDING, |stage, kind| {
        for _trial in 0..TRIALS {
            let mut host = hostile_host(stage, kind, "stay");
            assert!(!stage.alive().is_empty(), "{kind}: the tree can be seen");
            let aftermath = host.ask("end");
            assert_eq!(stage.survivors(), [], "{kind}: {aftermath}");
            assert!(aftermath.contains("survivors 0 leader signal 9"), "{kind}: {aftermath}");
        }
    });
}

#[test]
fn nothing_of_a_hostile_tree_survives_when_its_leader_left_first() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = hostile_host(stage, kind, "leave");
        assert_eq!(host.ask("wait"), "code 3", "{kind}");
        assert!(!stage.survivors().is_empty(), "{kind}: the leader's exit alone ends nothing");
        let aftermath = host.ask("end");
        assert_eq!(stage.survivors(), [], "{kind}: {aftermath}");
    });
}

#[test]
fn nothing_of_a_hostile_tree_survives_a_killed_controller() {
    everywhere(&HOLDING, |stage, kind| {
        for _trial in 0..TRIALS {
            let mut host = hostile_host(stage, kind, "stay");
            host.kill();
            stage.wait_empty();
        }
    });
}

#[test]
fn nothing_of_a_tree_survives_a_controller_killed_while_it_starts() {
    everywhere(&HOLDING, |stage, kind| {
        for _trial in 0..TRIALS * 5 {
            let mut host = stage.shell(kind, "setsid sleep 100 & sleep 100");
            host.say("start");
            until("something was spawned", || !host.spawned().is_empty());
            host.kill();
            stage.wait_empty();
        }
    });
}

#[test]
fn dropping_a_contained_tree_ends_it() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = hostile_host(stage, kind, "stay");
        assert_eq!(host.ask("drop"), "dropped");
        assert_eq!(stage.survivors(), [], "{kind}");
        assert_eq!(host.spawned(), [], "{kind}: and no init is left");
    });
}
