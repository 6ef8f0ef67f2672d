//! An interrupt reaches the leader and nothing else.

use crate::stage::{KINDS, everywhere, until};

#[test]
fn an_interrupt_reaches_the_leader_alone() {
    everywhere(&KINDS, |stage, kind| {
        let script = "sh -c 'trap \"echo child heard\" INT; echo child; while :; do sleep 0.01; done' & \
                      trap 'echo leader heard; exit 8' INT; echo leader; while :; do sleep 0.01; done";
        let mut host = stage.shell(kind, script);
        host.start();
        until("both are up", || {
            let output = stage.output();
            output.contains("child\n") && output.contains("leader\n")
        });
        assert_eq!(host.ask("interrupt"), "sent", "{kind}");
        assert_eq!(host.ask("wait"), "code 8", "{kind}");
        assert!(stage.output().contains("leader heard"), "{kind}");
        assert!(!stage.output().contains("child heard"), "{kind}");
        assert_eq!(host.ask("interrupt"), "the leader has already ended", "{kind}");
        host.ask("end");
        stage.clear();
    });
}

#[test]
fn an_interrupt_can_be_sent_while_another_thread_waits() {
    everywhere(&KINDS, |stage, kind| {
        let mut host =
            stage.shell(kind, "trap 'exit 8' INT; echo up; while :; do sleep 0.01; done");
        host.start();
        until("the leader is up", || stage.output() == "up\n");
        assert_eq!(host.ask("interrupt while waiting"), "code 8", "{kind}");
    });
}
