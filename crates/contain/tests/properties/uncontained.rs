//! The tests of survival can fail: with containment switched off they see survivors.
#![cfg(debug_assertions)]
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use crate::stage::{HOLDING, Host, Stage, everywhere, until};

fn uncontained(stage: &Stage, kind: &str) -> Host {
    let program = stage.program(env!("CARGO_BIN_EXE_contain-hostile"));
    let target = [program.to_str().unwrap(), "stay", "settled"];
    let mut command = stage.host_command(kind, "null", &target);
    let mut host = Host::spawn({
        command.env("DCLI_TEST_UNCONTAINED", "1");
        command
    });
    host.start();
    until("the hostile tree is up", || stage.output().contains("up"));
    host
}

#[test]
fn without_containment_the_end_of_a_tree_leaves_survivors() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = uncontained(stage, kind);
        let aftermath = host.ask("end");
        assert!(
            aftermath.contains("survivors 0"),
            "{kind}: it claims what it did not do: {aftermath}"
        );
        assert!(!stage.survivors().is_empty(), "{kind}: the look for survivors sees nothing");
        stage.clear();
    });
}

#[test]
fn without_containment_a_killed_controller_leaves_survivors() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = uncontained(stage, kind);
        host.kill();
        until("the leader is gone", || host.spawned().is_empty());
        assert!(!stage.survivors().is_empty(), "{kind}: the look for survivors sees nothing");
        stage.clear();
    });
}
