//! The init itself: what it exposes, what it holds, and what happens when it is killed.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{HOLDING, Host, children, everywhere, skip, state, until};

/// An init forbids tracing, and so hides its descriptors and environment from its own user.
fn may_look() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("a look into the init: only root may");
    }
    root
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn the_inits_arguments_and_environment_show_nothing_of_the_target() {
    if !may_look() {
        return;
    }
    everywhere(&HOLDING, |stage, kind| {
        let mut host =
            stage.host(kind, &["/bin/sh", "-c", "echo up; exec sleep 100", "a secret prompt"]);
        host.start();
        until("the target is up", || stage.output() == "up\n");
        let outer = host.spawned()[0];
        let arguments = std::fs::read(format!("/proc/{outer}/cmdline")).unwrap();
        let role = if kind == "guardian" { "guardian" } else { "namespace" };
        assert_eq!(arguments, format!("dcli-contained-init\0{role}\0").as_bytes());
        let environment = std::fs::read(format!("/proc/{outer}/environ"));
        assert!(environment.is_ok_and(|environment| environment.is_empty()), "{kind}");
    });
}

#[test]
fn the_inits_hold_none_of_the_targets_descriptors() {
    if !may_look() {
        return;
    }
    everywhere(&HOLDING, |stage, kind| {
        let mut host = stage.shell(kind, "echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        let outer = host.spawned();
        let inner = if kind == "guardian" { Vec::new() } else { children(outer[0]) };
        let out = stage.path("out");
        for pid in outer.into_iter().chain(inner) {
            let held = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
            let held = held.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            let held: Vec<_> = held.collect();
            assert!(!held.contains(&out), "{kind}: {held:?}");
            assert!(
                !held.iter().any(|file| file.to_string_lossy().contains("memfd")),
                "{kind}: {held:?}"
            );
        }
    });
}

#[test]
fn no_zombie_of_an_init_is_left_to_others() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = stage.shell(kind, "setsid sleep 100 & echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        let outer = host.spawned();
        let all: Vec<i32> = outer.iter().copied().chain(children(outer[0])).collect();
        host.ask("end");
        for pid in all {
            assert_eq!(state(pid), None, "{kind}");
        }
    });
}

#[test]
fn a_killed_outer_init_is_a_loss_and_takes_the_tree_with_it() {
    everywhere(&HOLDING[..1], |stage, kind| {
        let mut host = stage.shell(kind, "setsid sleep 100 & echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        kill(host.spawned()[0]);
        assert_eq!(host.ask("wait"), "lost", "{kind}");
        assert_eq!(host.ask("end"), "left 0 survivors 0 leader unknown", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}

#[test]
fn a_killed_inner_init_is_a_loss_and_takes_the_tree_with_it() {
    everywhere(&HOLDING[..1], |stage, kind| {
        let mut host = stage.shell(kind, "setsid sleep 100 & echo up; exec sleep 100");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        kill(children(host.spawned()[0])[0]);
        assert_eq!(host.ask("wait"), "lost", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
        assert_eq!(host.ask("end"), "left 0 survivors 0 leader unknown", "{kind}");
    });
}

#[test]
fn a_killed_guardian_is_a_loss_and_what_is_left_is_found_by_its_mark() {
    everywhere(&HOLDING[1..], |stage, kind| {
        let script = "setsid sh -c 'echo up; exec sleep 100' & exec sleep 100";
        let mut host = Host::spawn(stage.host_command(kind, "null", &["/bin/sh", "-c", script]));
        host.start();
        until("the target is up", || stage.output() == "up\n");
        kill(host.spawned()[0]);
        assert_eq!(host.ask("wait"), "lost", "{kind}");
        until("the leader died with its guardian", || stage.survivors().len() == 1);
        assert_eq!(host.ask("end"), "left 1 survivors 0 leader unknown", "{kind}");
        assert_eq!(stage.survivors(), [], "{kind}");
    });
}
