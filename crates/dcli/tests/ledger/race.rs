//! Many processes at once: exactly as many runs as the cap says, and a place for the next one when
//! one has ended, or was killed.

use std::process::Child;

use crate::desk::{Desk, TOKENS, ended};

/// `count` processes at once.
fn crowd(desk: &Desk, count: usize) -> Vec<Child> {
    (0..count).map(|_| desk.exec(&[]).spawn().unwrap()).collect()
}

#[test]
fn of_many_processes_at_once_as_many_run_as_the_day_has_left() {
    let (cap, processes) = (7, 20);
    let desk = Desk::new(&format!("[caps]\nmax_invocations_per_day = {cap}"));
    let outcomes = ended(&mut crowd(&desk, processes), processes);
    let with = |code| outcomes.iter().filter(|outcome| outcome.code == code).count();
    assert_eq!((with(0), with(28)), (cap, processes - cap), "{outcomes:?}");
    assert_eq!(desk.starts(), cap);
    assert_eq!(desk.of_days("invocations"), cap as f64);
    assert_eq!(desk.of_days("spent"), cap as f64 * TOKENS);
    assert_eq!((desk.of_days("lost"), desk.tickets()), (0.0, 0));
}

#[test]
fn of_many_processes_at_once_as_many_are_under_way_as_the_cap_says() {
    let (cap, processes) = (3, 9);
    let desk = Desk::new(&format!("[caps]\nmax_concurrent = {cap}"));
    desk.hold();
    let mut children = crowd(&desk, processes);
    // None of those that were admitted can end: whoever ends was refused.
    let refused = ended(&mut children, processes - cap);
    assert!(refused.iter().all(|outcome| outcome.code == 28), "{refused:?}");
    desk.started(cap);
    desk.refused(&[], 28, &["max_concurrent", "is 3, and 3 are used", "config.toml"]);
    desk.release();
    let admitted = ended(&mut children, cap);
    assert!(admitted.iter().all(|outcome| outcome.code == 0), "{admitted:?}");
    assert_eq!(desk.starts(), cap);
    desk.run_well(&[]);
}

#[test]
fn a_run_whose_dcli_was_killed_gives_its_place_back_and_is_reported() {
    let desk = Desk::new("[caps]\nmax_concurrent = 1");
    desk.hold();
    let mut first = desk.exec(&["--group", "night"]).spawn().unwrap();
    desk.started(1);
    desk.refused(&[], 28, &["max_concurrent"]);
    first.kill().unwrap();
    first.wait().unwrap();
    desk.release();
    let next = desk.run(&[]);
    assert_eq!(next.code, 0, "{next:?}");
    assert!(next.stderr.contains("a run of group night since"), "{next:?}");
    assert!(next.stderr.contains("lost its dcli; it was charged its estimate"), "{next:?}");
    assert_eq!((desk.of_days("invocations"), desk.of_days("lost")), (2.0, 1.0));
    assert_eq!(desk.sheet("group-night.json")["lost"], 1);
    assert_eq!((desk.of_days("spent"), desk.tickets()), (TOKENS, 0));
    let quiet = desk.run(&[]);
    assert!(!quiet.stderr.contains("lost"), "told twice: {quiet:?}");
}

#[test]
fn half_of_the_processes_killed_leave_no_place_taken() {
    let (cap, processes) = (4, 8);
    let desk = Desk::new(&format!("[caps]\nmax_concurrent = {cap}"));
    desk.hold();
    let mut children = crowd(&desk, processes);
    ended(&mut children, processes - cap);
    desk.started(cap);
    for child in children.iter_mut().take(cap / 2) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let again = crowd(&desk, cap / 2);
    desk.started(cap + cap / 2);
    desk.refused(&[], 28, &["is 4, and 4 are used"]);
    desk.release();
    let rest: Vec<Child> = children.drain(cap / 2..).chain(again).collect();
    for child in rest {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
    assert_eq!((desk.of_days("lost"), desk.tickets()), ((cap / 2) as f64, 0));
}
