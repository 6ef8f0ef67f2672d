//! Jobs: made unseen, found, listed newest first, in groups.

use std::collections::BTreeSet;
use std::fs;

use dcli::model::job::id::{GroupName, JobId, RepoKey};
use dcli::model::redact::Redactor;
use dcli::store::new_job::NewJob;
use dcli::store::root::StateRoot;
use dcli::store::{groups, jobs};

use crate::{Scratch, id, published, repo};

/// Scrambles without a random source: an odd factor permutes the residues.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn long_ago(number: u64) -> JobId {
    let seconds = scattered(number) % 86_400;
    let day = 1 + scattered(number) / 86_400 % 28;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("202601{day:02}T{hour:02}{minute:02}{second:02}Z-{number:08}").parse().unwrap()
}

#[test]
fn the_newest_twenty_of_a_hundred_thousand_are_the_newest_twenty() {
    let memory = ["/dev/shm", "/tmp"].map(std::path::Path::new);
    let place = memory.into_iter().find(|place| place.is_dir()).unwrap();
    let directory = tempfile::tempdir_in(place).unwrap();
    let root = StateRoot::writing(directory.path().join("state")).unwrap();
    let repos: Vec<RepoKey> = (0..40).map(|byte| RepoKey::from_digest([byte; 32])).collect();
    let path = |repo: &RepoKey| root.path().join("jobs").join(repo.as_str());
    for repo in &repos {
        fs::create_dir_all(path(repo).join("no-job")).unwrap();
        fs::create_dir_all(path(repo).join(".new-20991231T000000Z-abcdefgh")).unwrap();
        fs::create_dir_all(path(repo).join("99991231T000000Z-ABCDEFGH")).unwrap();
    }
    fs::set_permissions(
        root.path().join("jobs"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let mut all = BTreeSet::new();
    for number in 0..100_000 {
        let (id, repo) = (long_ago(number), &repos[usize::try_from(number).unwrap() % repos.len()]);
        fs::create_dir(path(repo).join(id.as_str())).unwrap();
        all.insert((id, repo.clone()));
    }
    assert_eq!(all.len(), 100_000);
    let newest = |only: Option<&RepoKey>, most: usize| -> Vec<_> {
        let listed = jobs::list(&root, only).unwrap().take(most);
        listed.map(|job| (job.id().clone(), job.repo().clone())).collect()
    };
    let expected = |only: Option<&RepoKey>, most: usize| -> Vec<_> {
        let wanted = all.iter().rev().filter(|(_, repo)| only.is_none_or(|only| only == repo));
        wanted.take(most).cloned().collect()
    };
    assert_eq!(newest(None, 20), expected(None, 20));
    let one = &repos[7];
    assert_eq!(newest(Some(one), usize::MAX), expected(Some(one), usize::MAX));
    assert_eq!(newest(None, usize::MAX).len(), 100_000);
    let (id, repo) = all.iter().nth(50_000).unwrap();
    assert_eq!(jobs::find(&root, id).unwrap().repo(), repo);
}

#[test]
fn a_job_is_absent_only_if_every_repository_could_be_looked_into() {
    let scratch = Scratch::new();
    let dir = published(&scratch.root, &id(1)).dir().clone();
    assert_eq!(jobs::find(&scratch.root, &id(1)).unwrap(), dir);
    assert!(matches!(jobs::find(&scratch.root, &id(2)), Err(jobs::JobsError::Absent(_))));
    // Nothing can be looked up in a file, for root neither.
    fs::write(scratch.root.path().join("jobs/000000000000"), b"").unwrap();
    let error = jobs::find(&scratch.root, &id(2)).unwrap_err();
    assert!(matches!(error, jobs::JobsError::Unreadable { .. }), "{error}");
    assert!(error.class().is_some());
}

#[test]
fn a_job_is_seen_with_its_lease_held_or_not_at_all() {
    let scratch = Scratch::new();
    let seen = || jobs::list(&scratch.root, None).unwrap().count();
    let mut new = NewJob::create(&scratch.root, &repo(), &id(1), Redactor::none()).unwrap();
    new.writer().write_prompt(b"x").unwrap();
    assert_eq!(seen(), 0);
    let twice = NewJob::create(&scratch.root, &repo(), &id(1), Redactor::none());
    assert!(twice.is_err(), "a second one of that id is refused");
    let writer = new.publish().unwrap();
    assert_eq!(seen(), 1);
    assert!(writer.dir().is_held().unwrap());
    assert_eq!(fs::read(writer.attempt().prompt()).unwrap(), b"x");
    let again = NewJob::create(&scratch.root, &repo(), &id(1), Redactor::none());
    assert!(again.is_err(), "nor while the first one is there");
    assert!(writer.dir().is_held().unwrap());
}

#[test]
fn a_job_that_is_not_published_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let repository = scratch.root.path().join("jobs").join(repo().as_str());
    drop(NewJob::create(&scratch.root, &repo(), &id(1), Redactor::none()).unwrap());
    assert_eq!(fs::read_dir(&repository).unwrap().count(), 0);
    let new = NewJob::create(&scratch.root, &repo(), &id(2), Redactor::none()).unwrap();
    // Somebody else's job of that name is in the way: it stays, this one goes.
    let other = repository.join(id(2).as_str());
    fs::create_dir(&other).unwrap();
    fs::write(other.join("theirs"), b"").unwrap();
    assert!(new.publish().is_err());
    assert_eq!(fs::read_dir(&repository).unwrap().count(), 1);
    assert!(other.join("theirs").exists());
}

#[test]
fn a_group_has_its_jobs_oldest_first_and_none_that_is_gone() {
    let scratch = Scratch::new();
    let night: GroupName = "night".parse().unwrap();
    let members = || -> Vec<JobId> {
        let members = groups::members(&scratch.root, &night).unwrap();
        members.iter().map(|job| job.id().clone()).collect()
    };
    assert!(members().is_empty());
    for number in [3, 1, 2] {
        let mut new =
            NewJob::create(&scratch.root, &repo(), &id(number), Redactor::none()).unwrap();
        groups::join(&scratch.root, &night, new.writer().dir()).unwrap();
        if number != 2 {
            new.publish().unwrap();
        }
    }
    assert_eq!(members(), [id(1), id(3)]);
    let file = scratch.root.path().join("groups/night").join(id(3).as_str());
    fs::write(&file, b"{").unwrap();
    assert_eq!(members(), [id(1), id(3)], "a damaged entry is found by its name");
    groups::forget(&scratch.root, &id(3)).unwrap();
    assert_eq!(members(), [id(1)]);
}
