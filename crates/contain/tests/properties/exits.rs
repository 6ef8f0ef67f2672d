//! Exit codes and signals come back exactly.

use crate::stage::{Host, KINDS, everywhere};

#[test]
fn every_kind_of_exit_code_is_relayed_exactly() {
    everywhere(&KINDS, |stage, kind| {
        for code in [0, 1, 2, 3, 42, 111, 126, 127, 128, 130, 137, 254, 255] {
            let mut host = stage.shell(kind, &format!("exit {code}"));
            host.start();
            assert_eq!(host.ask("wait"), format!("code {code}"), "{kind}");
            assert_eq!(host.ask("wait"), format!("code {code}"), "{kind}: asked again");
        }
    });
}

#[test]
fn every_deadly_signal_is_relayed_exactly() {
    everywhere(&KINDS, |stage, kind| {
        for signal in [2, 6, 9, 11, 13, 15] {
            let mut host = stage.shell(kind, &format!("ulimit -c 0; kill -{signal} $$"));
            host.start();
            assert_eq!(host.ask("wait"), format!("signal {signal}"), "{kind}");
        }
    });
}

#[test]
fn the_exit_is_known_before_and_after_the_end_of_the_tree() {
    everywhere(&KINDS, |stage, kind| {
        let mut host = stage.shell(kind, "exit 7");
        host.start();
        assert_eq!(host.ask("wait"), "code 7", "{kind}");
        assert!(host.ask("end").ends_with("leader code 7"), "{kind}");
        assert_eq!(host.ask("wait"), "code 7", "{kind}: after the end");
    });
}

#[test]
fn a_leader_that_end_kills_is_reported_as_killed() {
    everywhere(&KINDS, |stage, kind| {
        let mut host =
            stage.shell(kind, "trap '' TERM INT HUP; while :; do read x < /dev/zero; done");
        host.start();
        assert!(host.ask("end").ends_with("leader signal 9"), "{kind}");
        assert_eq!(host.ask("wait"), "signal 9", "{kind}");
    });
}

#[test]
fn an_exit_is_learned_even_by_a_host_that_was_started_with_child_signals_ignored() {
    everywhere(&KINDS, |stage, kind| {
        let plain = stage.host_command(kind, "null", &["/bin/sh", "-c", "exit 12"]);
        let mut command = stage.command("/usr/bin/env".as_ref());
        command.arg("--ignore-signal=CHLD");
        command.arg(plain.get_program()).args(plain.get_args());
        let mut host = Host::spawn(command);
        host.start();
        assert_eq!(host.ask("wait"), "code 12", "{kind}");
    });
}
