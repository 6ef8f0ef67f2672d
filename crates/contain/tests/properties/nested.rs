//! A contained program can contain another one, and the outer end takes the inner tree with it.

use crate::stage::{HOLDING, Host, Stage, everywhere, until};

/// A host as the target of a host, obeying `commands`.
fn nested(stage: &Stage, kind: &str, target: &str, commands: &str) -> Host {
    let host = stage.program(env!("CARGO_BIN_EXE_contain-host"));
    let script = format!(
        "(printf '{commands}'; exec sleep 100) | \
         CONTAIN_MARK=$CONTAIN_TEST CONTAIN_OUT=$PWD/inner {} {kind} null /bin/sh -c '{target}'",
        host.display()
    );
    let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", &script]);
    command.env("CONTAIN_CWD", stage.path(""));
    Host::spawn(command)
}

#[test]
fn an_inner_tree_relays_its_exit_and_its_end() {
    everywhere(&HOLDING, |stage, kind| {
        let target = "sleep 100 & exit 21";
        let mut host = nested(stage, kind, target, "start\\nwait\\nend\\n");
        host.start();
        until("the inner host answered", || stage.output().lines().count() == 4);
        let output = stage.output();
        let answers: Vec<&str> = output.lines().skip(2).collect();
        assert_eq!(answers, ["code 21", "left 1 survivors 0 leader code 21"], "{kind}");
    });
}

#[test]
fn an_inner_tree_does_not_survive_the_outer_end() {
    everywhere(&HOLDING, |stage, kind| {
        let target = "setsid sleep 100 & echo up; exec sleep 100";
        let mut host = nested(stage, kind, target, "start\\n");
        host.start();
        let up = || std::fs::read_to_string(stage.path("inner")).is_ok_and(|text| text == "up\n");
        until("the inner tree is up", up);
        assert!(host.ask("end").contains("survivors 0"), "{kind}");
        stage.wait_empty();
    });
}

#[test]
fn an_inner_tree_does_not_survive_the_outer_controller() {
    everywhere(&HOLDING, |stage, kind| {
        let target = "setsid sleep 100 & echo up; exec sleep 100";
        let mut host = nested(stage, kind, target, "start\\n");
        host.start();
        let up = || std::fs::read_to_string(stage.path("inner")).unwrap_or_default() == "up\n";
        until("the inner tree is up", up);
        host.kill();
        stage.wait_empty();
    });
}
