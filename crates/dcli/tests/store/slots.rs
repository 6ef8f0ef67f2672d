//! Places: so many and no more, given by turn, and free again however their holder ends.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use dcli::store::slots::{SlotLimits, Turn, pause, take_descendant, take_now};
use dcli_testkit::hang::HANG_LIMIT;

use crate::role::Player;
use crate::{Scratch, id};

fn limits(global: usize, per_backend: usize) -> SlotLimits {
    SlotLimits { global, per_backend, backends: BTreeMap::new() }
}

/// A waiting process that has its turn when this returns.
fn queued(scratch: &Scratch, number: u32, backend: &str, most: [&str; 2]) -> Player {
    let root = scratch.root.path().to_str().unwrap();
    let player = Player::start(&["wait", root, &number.to_string(), backend, most[0], most[1]]);
    assert_eq!(player.hear(), "queued");
    player
}

#[test]
fn a_place_goes_to_the_oldest_that_waits_and_lives() {
    let scratch = Scratch::new();
    let mut players = Vec::new();
    // The newest ids come first: turns count, not names.
    for number in [9, 8, 7, 6, 5] {
        players.push(queued(&scratch, number, "one", ["1", "1"]));
        if players.len() == 1 {
            assert_eq!(players[0].hear(), "taken");
        }
    }
    players[2].kill();
    players[0].kill();
    assert_eq!(players[1].hear(), "taken");
    assert!(matches!(take_now(&scratch.root, &limits(1, 1), "one").unwrap(), Turn::Wait { .. }));
    players[1].release();
    assert_eq!(players[3].hear(), "taken", "the third one died before its turn came");
    players[3].kill();
    assert_eq!(players[4].hear(), "taken");
    players[4].release();
    assert!(matches!(take_now(&scratch.root, &limits(1, 1), "one").unwrap(), Turn::Taken(_)));
}

#[test]
fn a_younger_job_passes_an_older_one_only_where_that_could_not_run_anyway() {
    let scratch = Scratch::new();
    let mut first = queued(&scratch, 1, "one", ["2", "1"]);
    assert_eq!(first.hear(), "taken");
    let second = queued(&scratch, 2, "one", ["2", "1"]);
    let third = queued(&scratch, 3, "two", ["2", "1"]);
    assert_eq!(third.hear(), "taken", "the second one's backend is full");
    let of_two = take_now(&scratch.root, &limits(2, 1), "three").unwrap();
    assert!(matches!(of_two, Turn::Wait { ahead: 1 }), "{of_two:?}");
    // With one more place in all, the second one still cannot run, and does not keep it.
    assert!(matches!(take_now(&scratch.root, &limits(3, 1), "three").unwrap(), Turn::Taken(_)));
    // With one more for its backend it could, and the place is kept for it.
    assert!(matches!(take_now(&scratch.root, &limits(3, 2), "three").unwrap(), Turn::Wait { .. }));
    first.kill();
    assert_eq!(second.hear(), "taken");
}

#[test]
fn never_more_than_the_limit_run_and_all_get_their_place_though_many_are_killed() {
    let scratch = Scratch::new();
    let root = scratch.root.path().to_str().unwrap();
    let (tell, hear) = channel();
    let start = |number: u32| {
        let words = ["wait", root, &number.to_string(), "one", "3", "3"];
        (number, Player::numbered(&words, number, tell.clone()))
    };
    let mut players: BTreeMap<u32, Player> = (1..=16).map(start).collect();
    let (mut running, mut killed, mut served) = (Vec::new(), 0, 0);
    while !players.is_empty() {
        let (number, said) = hear.recv_timeout(HANG_LIMIT).unwrap();
        match said.as_str() {
            // One in four dies while it waits.
            "queued" if number % 4 == 0 => {
                players.remove(&number).unwrap().kill();
                running.retain(|one| *one != number);
                killed += 1;
            }
            "queued" => {}
            _ if !players.contains_key(&number) => {}
            _ => running.push(number),
        }
        assert!(running.len() <= 3, "{running:?}");
        // All three places are taken before one is given back, as long as there are so many.
        while !running.is_empty() && running.len() == players.len().min(3) {
            let mut player = players.remove(&running.remove(0)).unwrap();
            if served % 2 == 0 {
                player.kill()
            } else {
                player.release()
            }
            served += 1;
        }
    }
    assert_eq!((killed, served), (4, 12));
    let all_free = take_now(&scratch.root, &limits(1, 1), "one").unwrap();
    assert!(matches!(all_free, Turn::Taken(_)), "{all_free:?}");
}

#[test]
fn whoever_knows_a_lower_limit_counts_what_runs_beyond_it() {
    let scratch = Scratch::new();
    let take = |most| take_now(&scratch.root, &limits(most, most), "one").unwrap();
    let mut held: Vec<Turn> = (0..4).map(|_| take(4)).collect();
    assert!(held.iter().all(|turn| matches!(turn, Turn::Taken(_))));
    held.drain(..2);
    assert!(matches!(take(2), Turn::Wait { .. }), "two of four still run, in the upper places");
    held.pop();
    assert!(matches!(take(2), Turn::Taken(_)));
    assert!(matches!(take(0), Turn::Wait { .. }));
}

#[test]
fn a_backend_may_have_a_limit_and_a_name_of_its_own() {
    let scratch = Scratch::new();
    let mut limits = limits(9, 3);
    limits.backends.insert("global".to_owned(), 1);
    let take = |backend| take_now(&scratch.root, &limits, backend).unwrap();
    let _first = take("global");
    assert!(matches!(take("global"), Turn::Wait { .. }));
    let others: Vec<Turn> = (0..4).map(|_| take("other")).collect();
    let taken = others.iter().filter(|turn| matches!(turn, Turn::Taken(_))).count();
    assert_eq!(taken, 3);
}

#[test]
fn descendants_of_one_job_share_so_many_places() {
    let scratch = Scratch::new();
    let take = |job| take_descendant(&scratch.root, &id(job), 2).unwrap();
    let (one, two) = (take(1), take(1));
    assert!(one.is_some() && two.is_some());
    assert!(take(1).is_none());
    assert!(take(2).is_some(), "another job has its own");
    drop(one);
    assert!(take(1).is_some());
}

#[test]
fn the_pause_grows_with_those_ahead_and_has_an_end() {
    assert!((20..=50).contains(&pause(0).as_millis()));
    assert!((0..300).all(|ahead| pause(ahead) <= pause(ahead + 1)));
    assert_eq!(pause(usize::MAX), Duration::from_secs(2));
    let looks_per_second: f64 = (0..200).map(|ahead| 1.0 / pause(ahead).as_secs_f64()).sum();
    assert!(looks_per_second < 300.0, "200 waiters look {looks_per_second} times a second");
}
