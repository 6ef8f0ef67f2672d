//! The live snapshot: who is there, and how much processor time the tree has used.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use std::cell::RefCell;

use crate::stage::{KINDS, everywhere, until};

fn cpu(answer: &str) -> u64 {
    answer.split(' ').nth(3).and_then(|number| number.parse().ok()).unwrap()
}

#[test]
fn a_snapshot_shows_the_tree_without_its_init() {
    everywhere(&KINDS, |stage, kind| {
        let mut host = stage.shell(kind, "sleep 100 & until grep -q sleep /proc/$!/comm; do :; done; echo up; while :; do sleep 0.01; done");
        host.start();
        until("the target is up", || stage.output() == "up\n");
        let answer = host.ask("tree");
        assert!(answer.contains("sleep") && answer.contains("sh"), "{kind}: {answer}");
        assert!(!answer.contains("dcli-"), "{kind}: {answer}");
        host.ask("end");
        assert!(host.ask("tree").starts_with("tree 0 "), "{kind}");
        stage.clear();
    });
}

#[test]
fn processor_time_counts_children_that_are_gone() {
    everywhere(&["pid-namespace", "guardian"], |stage, kind| {
        // An orphan burns, ends, and is reaped by the init alone.
        let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo burnt";
        let script = format!("(sh -c '{burn}' &); exec sleep 100");
        let mut host = stage.shell(kind, &script);
        host.start();
        let host = RefCell::new(host);
        let look = || host.borrow_mut().ask("tree");
        until("the child is gone", || stage.output() == "burnt\n" && look().starts_with("tree 1 "));
        let answer = look();
        assert!(cpu(&answer) >= 20, "{kind}: {answer}");
    });
}
