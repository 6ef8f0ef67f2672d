//! Ending a tree counts what was left, can be repeated, and needs no cooperation.

use crate::stage::{HOLDING, everywhere, until};

#[test]
fn what_the_leader_left_behind_is_counted_without_zombies() {
    everywhere(&["pid-namespace", "guardian", "process-group"], |stage, kind| {
        // Two that stay, one of them in a session of its own; one that is over.
        let script = "sleep 100 & setsid sh -c 'echo up; exec sleep 100' & (exit 0) & wait %3; \
                      until grep -q up \"$0\"; do sleep 0.01; done; exit 0";
        let out = stage.path("out");
        let mut host = stage.host(kind, &["/bin/bash", "-c", script, out.to_str().unwrap()]);
        host.start();
        assert_eq!(host.ask("wait"), "code 0", "{kind}");
        assert_eq!(host.ask("end"), "left 2 survivors 0 leader code 0", "{kind}");
        assert_eq!(host.ask("end"), "left 2 survivors 0 leader code 0", "{kind}: again");
        assert_eq!(stage.survivors(), [], "{kind}");
        assert_eq!(host.spawned(), [], "{kind}: no init is left");
    });
}

#[test]
fn a_tree_that_ended_by_itself_left_nothing_behind() {
    everywhere(&["pid-namespace", "guardian", "process-group"], |stage, kind| {
        let mut host = stage.shell(kind, "sh -c 'exit 0'; exit 0");
        host.start();
        assert_eq!(host.ask("wait"), "code 0", "{kind}");
        assert_eq!(host.ask("end"), "left 0 survivors 0 leader code 0", "{kind}");
    });
}

#[test]
fn without_containment_no_claim_about_survivors_is_made() {
    everywhere(&["none"], |stage, kind| {
        let mut host = stage.shell(kind, "sleep 100 & echo up; exec sleep 100");
        host.start();
        until("the tree is up", || stage.output() == "up\n");
        assert_eq!(host.ask("end"), "left 0 survivors unknown leader signal 9", "{kind}");
        assert!(!stage.survivors().is_empty(), "{kind}");
        stage.clear();
    });
}

#[test]
fn the_leaders_exit_alone_ends_nothing() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = stage.shell(kind, "sleep 100 & exit 0");
        host.start();
        assert_eq!(host.ask("wait"), "code 0", "{kind}");
        assert_eq!(stage.survivors().len(), 1, "{kind}: it may still be drained");
        assert!(host.ask("tree").starts_with("tree 1 "), "{kind}");
        host.ask("end");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}
