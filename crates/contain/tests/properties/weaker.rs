//! The process group: what left it is found by descent or mark and ended; its leader dies with the controller.

use crate::stage::{everywhere, until};

const GROUP: [&str; 1] = ["process-group"];

#[test]
fn descendants_that_left_the_group_are_found_and_ended() {
    everywhere(&GROUP, |stage, kind| {
        let script = "setsid sh -c 'echo up; exec sleep 100' & \
                      setsid setsid sh -c 'echo up; exec sleep 100' & exec sleep 100";
        let mut host = stage.shell(kind, script);
        host.start();
        let up = || stage.output() == "up\nup\n" && stage.alive().len() == 3;
        until("the tree is up, and the forks on the way to it are gone", up);
        assert_eq!(host.ask("end"), "left 2 survivors 0 leader signal 9", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}

#[test]
fn a_hostile_tree_that_left_the_group_is_ended_or_named() {
    everywhere(&GROUP, |stage, kind| {
        let program = stage.program(env!("CARGO_BIN_EXE_contain-hostile"));
        let mut host = stage.host(kind, &[program.to_str().unwrap(), "leave", "settled"]);
        host.start();
        until("the hostile tree is up", || stage.output().contains("up"));
        assert_eq!(host.ask("wait"), "code 3", "{kind}");
        let aftermath = host.ask("end");
        let named = !aftermath.contains("survivors 0 ");
        assert!(named || stage.survivors().is_empty(), "{kind}: {aftermath}");
        stage.clear();
    });
}

#[test]
fn the_leader_of_a_group_dies_with_its_controller() {
    everywhere(&GROUP, |stage, _| {
        let mut host = stage.shell("process-group", "echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        host.kill();
        stage.wait_empty();
    });
}
