//! From inside a pid namespace there is nothing else to see, and its init cannot be hurt.

use crate::stage::{KINDS, everywhere, until};

const NAMESPACE: [&str; 1] = ["pid-namespace"];

#[test]
fn inside_only_the_namespace_is_visible() {
    everywhere(&NAMESPACE, |stage, kind| {
        let mut host = stage.shell(kind, "echo $$; ls -d /proc/[0-9]*; cat /proc/1/comm");
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        assert_eq!(stage.output(), "2\n/proc/1\n/proc/2\ndcli-init\n", "{kind}");
    });
}

#[test]
fn the_init_cannot_be_killed_or_stopped_from_inside() {
    everywhere(&NAMESPACE, |stage, kind| {
        let script = "for signal in KILL STOP TERM INT HUP SEGV CHLD USR1; do \
                      kill -$signal 1 || echo refused $signal; done; echo done; exit 9";
        let mut host = stage.shell(kind, script);
        host.start();
        assert_eq!(host.ask("wait"), "code 9", "{kind}");
        assert_eq!(stage.output(), "done\n", "{kind}");
        assert!(host.ask("end").contains("survivors 0"), "{kind}");
    });
}

#[test]
fn killing_all_that_is_visible_kills_the_tree_alone() {
    everywhere(&NAMESPACE, |stage, kind| {
        let mut host = stage.shell(
            kind,
            "sleep 100 & setsid sleep 100 & sleep 100 & echo up; read x; kill -9 -1; exit 4",
        );
        host.start();
        assert!(["code 4", "signal 9"].contains(&host.ask("wait").as_str()), "{kind}");
        assert!(host.ask("end").contains("survivors 0"), "{kind}");
    });
}

#[test]
fn the_init_cannot_be_traced_or_read_from_inside() {
    everywhere(&NAMESPACE, |stage, kind| {
        let mut host = stage.shell(
            kind,
            "readlink /proc/1/fd/3 || echo closed; cat /proc/1/environ 2>/dev/null | wc -c",
        );
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        if stage.is_ordinary() {
            assert_eq!(stage.output(), "closed\n0\n", "{kind}");
        }
    });
}

#[test]
fn signals_of_a_terminal_do_not_reach_the_init() {
    everywhere(&KINDS[..2], |stage, kind| {
        let mut host = stage.shell(kind, "echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        for pid in host.spawned().into_iter().filter_map(rustix::process::Pid::from_raw) {
            for signal in [2, 15, 1, 20, 21, 22] {
                let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
                rustix::process::kill_process(pid, signal).unwrap();
            }
        }
        assert!(host.ask("tree").starts_with("tree 1 "), "{kind}");
        assert!(host.ask("end").contains("leader signal 9"), "{kind}");
    });
}
