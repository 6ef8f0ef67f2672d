//! Leases across processes: held for life, handed over, never mistaken because somebody looked.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use dcli::model::redact::Redactor;
use dcli::store::job_dir::Claim;
use dcli::store::job_writer::JobWriter;
use dcli::store::lease::Lease;
use dcli::store::lock::{Lock, LockError};

use crate::role::Player;
use crate::{Scratch, id, published};

fn lease_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lease");
    drop(Lease::create(&path).unwrap());
    (directory, path)
}

#[test]
fn a_lease_is_held_as_long_as_its_process_lives_however_that_ends() {
    let (_directory, path) = lease_file();
    assert!(!Lease::is_held(&path).unwrap());
    for end in [Player::kill, Player::release] {
        let mut holder = Player::start(&["hold", path.to_str().unwrap()]);
        assert_eq!(holder.hear(), "held");
        assert!(Lease::is_held(&path).unwrap());
        assert!(Lease::take(&path).unwrap().is_none());
        assert_eq!(Player::start(&["hold", path.to_str().unwrap()]).hear(), "refused");
        end(&mut holder);
        assert!(!Lease::is_held(&path).unwrap());
        assert!(Lease::take(&path).unwrap().is_some());
    }
}

#[test]
fn who_only_looks_is_never_taken_for_a_worker() {
    let (_directory, path) = lease_file();
    let done = AtomicBool::new(false);
    let all_look = Barrier::new(5);
    let looks = || {
        all_look.wait();
        while !done.load(Ordering::Relaxed) {
            Lease::is_held(&path).unwrap();
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(looks)));
        all_look.wait();
        let taken = (0..2000).filter(|_| Lease::take(&path).unwrap().is_some()).count();
        done.store(true, Ordering::Relaxed);
        assert_eq!(taken, 2000);
    });
}

#[test]
fn a_lease_handed_over_is_never_free_in_between() {
    let (_directory, path) = lease_file();
    let lease = Lease::take(&path).unwrap().unwrap();
    let copy = lease.as_fd().try_clone_to_owned().unwrap();
    let mut heir = Player::with_stdin(&["adopt", path.to_str().unwrap()], copy);
    drop(lease);
    assert!(Lease::is_held(&path).unwrap(), "before the heir has said anything");
    assert_eq!(heir.hear(), "adopted");
    assert!(Lease::take(&path).unwrap().is_none());
    heir.kill();
    assert!(Lease::take(&path).unwrap().is_some());
}

#[test]
fn a_descriptor_of_another_file_or_of_a_lease_held_elsewhere_is_not_adopted() {
    let (directory, path) = lease_file();
    let other = directory.path().join("other");
    drop(Lease::create(&other).unwrap());
    let stranger = std::fs::File::open(&other).unwrap();
    assert!(Lease::adopt(stranger.into(), &path).is_err());
    let _holder = Lease::take(&path).unwrap().unwrap();
    let second = std::fs::File::open(&path).unwrap();
    assert!(Lease::adopt(second.into(), &path).is_err());
}

#[test]
fn a_lease_of_a_file_that_was_replaced_says_nothing_of_the_new_one() {
    let (_directory, path) = lease_file();
    let _old = Lease::take(&path).unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(!Lease::is_held(&path).unwrap());
    assert_eq!(Lease::take(&path).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let _new = Lease::create(&path).unwrap();
    assert!(Lease::create(&path).is_err(), "one that is there is not made again");
    assert!(Lease::take(&path).unwrap().is_none());
}

#[test]
fn of_many_who_want_to_write_one_may() {
    let scratch = Scratch::new();
    let dir = published(&scratch.root, &id(1)).dir().clone();
    let writers: Vec<Claim> = std::thread::scope(|scope| {
        let claim = || dir.claim(&scratch.root, Redactor::none()).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(claim)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let owned = writers.iter().filter(|claim| matches!(claim, Claim::Owned(_))).count();
    assert_eq!(owned, 1);
    assert!(dir.is_held().unwrap());
    drop(writers);
    assert!(!dir.is_held().unwrap());
}

#[test]
fn a_worker_goes_on_with_the_lease_it_was_given() {
    let scratch = Scratch::new();
    let maker = published(&scratch.root, &id(1));
    let dir = maker.dir().clone();
    let descriptor = maker.lease().try_clone_to_owned().unwrap();
    drop(maker);
    let worker =
        JobWriter::adopt(&scratch.root, dir.clone(), descriptor, Redactor::none()).unwrap();
    assert_eq!(worker.next_seq(), 2);
    assert!(matches!(dir.claim(&scratch.root, Redactor::none()).unwrap(), Claim::Held));
    let second = worker.next_attempt().unwrap();
    assert_eq!(dir.latest_attempt().unwrap().number(), 2);
    assert!(dir.is_held().unwrap());
    drop(second);
    assert!(!dir.is_held().unwrap());
}

#[test]
fn a_short_lock_that_is_held_too_long_is_named_with_its_holder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("locks/one");
    let held = Lock::take(&path).unwrap();
    let error = Lock::take_within(&path, std::time::Duration::ZERO).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LockError::Busy { .. }));
    assert!(text.contains("locks/one"), "{text}");
    assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    drop(held);
    Lock::take(&path).unwrap();
}

#[test]
fn a_short_lock_writes_over_nothing_that_a_link_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("lock"), directory.path().join("other"));
    std::fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    assert!(matches!(Lock::take(&path).unwrap_err(), LockError::Io { .. }));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
}
