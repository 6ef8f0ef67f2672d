//! What may go, what goes, and what is left by those who died on the way.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dcli::model::redact::Redactor;
use dcli::store::new_job::NewJob;
use dcli::store::orphans::{self, OrphanKind};
use dcli::store::retention::{RemovalError, Rule, remove, survey};
use dcli::store::root::StateRoot;
use dcli::store::{groups, jobs, queue};

use crate::role::{Player, say};
use crate::{Scratch, ended, id, published, repo};

#[test]
fn old_jobs_and_those_beyond_a_number_may_go_and_no_other() {
    let scratch = Scratch::new();
    for day in 1..=5 {
        ended(&scratch.root, &id(day), &format!("2026-11-0{day}T00:00:00.000Z"));
    }
    let busy = published(&scratch.root, &id(6));
    busy.write_status(
        &serde_json::json!({"state": "running"}),
        dcli::store::record::Durability::Unsynced,
    )
    .unwrap();
    fs::write(published(&scratch.root, &id(7)).dir().status_path(), "{").unwrap();
    let now = "2026-11-06T00:00:00.000Z".parse().unwrap();
    let may_go = |older_than: Option<u64>, beyond| {
        let rule =
            Rule { older_than: older_than.map(|days| Duration::from_hours(24 * days)), beyond };
        let survey = survey(&scratch.root, Some(&repo()), &rule, now).unwrap();
        assert_eq!(survey.damaged.len(), 1, "the one that cannot be read is named");
        assert!(survey.candidates.iter().all(|candidate| candidate.bytes > 0));
        survey.candidates.iter().map(|one| one.job.id().clone()).collect::<Vec<_>>()
    };
    assert!(may_go(None, None).is_empty());
    assert_eq!(may_go(Some(3), None), [id(2), id(1)]);
    assert_eq!(may_go(None, Some(4)), [id(1)]);
    assert_eq!(may_go(Some(3), Some(2)), [id(3), id(2), id(1)]);
}

#[test]
fn only_a_terminal_job_that_nobody_holds_goes_with_all_that_belongs_to_it() {
    let scratch = Scratch::new();
    let root = &scratch.root;
    ended(root, &id(1), "2026-11-01T00:00:00.000Z");
    let dir = jobs::find(root, &id(1)).unwrap();
    groups::join(root, &"night".parse().unwrap(), &dir).unwrap();
    queue::enter(root, &dir, "one").unwrap();
    fs::create_dir_all(root.path().join("nested").join(id(1).as_str())).unwrap();
    let locked = dir.attempt(1).path().join("tmp");
    fs::create_dir_all(locked.join("own/deep")).unwrap();
    fs::set_permissions(locked.join("own"), std::os::unix::fs::PermissionsExt::from_mode(0o000))
        .unwrap();

    let held = dir.claim(root, Redactor::none()).unwrap();
    assert!(matches!(remove(root, &dir), Err(RemovalError::Busy)));
    drop(held);
    fs::write(dir.status_path(), r#"{"state": "queued"}"#).unwrap();
    assert!(matches!(remove(root, &dir), Err(RemovalError::NotTerminal(_))));
    fs::write(dir.status_path(), r#"{"state": "done"}"#).unwrap();
    let journal = fs::read(dir.journal_path()).unwrap();
    fs::write(dir.journal_path(), b"nonsense\n").unwrap();
    assert!(matches!(remove(root, &dir), Err(RemovalError::Record(_))));
    fs::write(dir.journal_path(), journal).unwrap();

    remove(root, &dir).unwrap();
    assert!(matches!(jobs::find(root, &id(1)), Err(jobs::JobsError::Absent(_))));
    assert!(queue::waiting(root).unwrap().is_empty());
    assert!(!root.path().join("groups/night").exists());
    assert!(!root.path().join("nested").join(id(1).as_str()).exists());
    let repository = root.path().join("jobs").join(repo().as_str());
    assert_eq!(fs::read_dir(repository).unwrap().count(), 0);
    assert!(orphans::find(root).unwrap().is_empty());
}

#[test]
fn what_the_dead_left_behind_is_found_and_what_the_living_make_is_not() {
    let scratch = Scratch::new();
    let root = &scratch.root;
    let path = root.path().to_str().unwrap();
    let mut making = Player::start(&["stage", path, "1"]);
    assert_eq!(making.hear(), "staged");
    let mut dead = Player::start(&["stage", path, "2"]);
    assert_eq!(dead.hear(), "staged");
    dead.kill();
    let repository = root.path().join("jobs").join(repo().as_str());
    fs::create_dir(repository.join(format!(".new-{}", id(3)))).unwrap();
    fs::create_dir_all(repository.join(format!(".gone-{}/attempts", id(4)))).unwrap();
    fs::create_dir_all(root.path().join("nested").join(id(5).as_str())).unwrap();
    drop(published(root, &id(6)));

    let kinds = || {
        let mut found: Vec<_> = orphans::find(root).unwrap();
        found.sort_by_key(|orphan| orphan.kind);
        found
    };
    let found = kinds();
    let expected = [OrphanKind::Staged, OrphanKind::Discarded, OrphanKind::Nested];
    assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), expected, "{found:?}");
    found.iter().for_each(|orphan| orphans::remove(root, orphan).unwrap());
    // Only now are the dead one's entries nobody's.
    let found = kinds();
    let expected = [OrphanKind::QueueEntry, OrphanKind::GroupEntry];
    assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), expected, "{found:?}");
    found.iter().for_each(|orphan| orphans::remove(root, orphan).unwrap());
    assert!(kinds().is_empty());
    let staged = orphans::Orphan {
        kind: OrphanKind::Staged,
        path: repository.join(format!(".new-{}", id(1))),
        bytes: 0,
    };
    assert!(orphans::remove(root, &staged).is_err(), "its maker lives");
    making.release();
    assert_eq!(jobs::list(root, None).unwrap().count(), 2);
}

/// Makes a job up to the moment before it is seen, and then lets it be seen.
pub(crate) fn stage(path: PathBuf, number: &str) {
    let root = StateRoot::writing(path).unwrap();
    let id = id(number.parse().unwrap());
    let mut new = NewJob::create(&root, &repo(), &id, Redactor::none()).unwrap();
    groups::join(&root, &"night".parse().unwrap(), new.writer().dir()).unwrap();
    queue::enter(&root, new.writer().dir(), "one").unwrap();
    say("staged");
    let mut rest = String::new();
    std::io::stdin().read_line(&mut rest).unwrap();
    new.publish().unwrap();
}

#[test]
fn a_job_whose_backend_failed_at_length_may_go_too() {
    let scratch = Scratch::new();
    let (reason, finished) = ("x".repeat(5 << 20), "2026-11-01T00:00:00.000Z");
    let job = published(&scratch.root, &id(1));
    let status = serde_json::json!({
        "state": "failed", "finished_at": finished, "failure_reason": reason,
    });
    job.write_status(&status, dcli::store::record::Durability::Unsynced).unwrap();
    let dir = job.dir().clone();
    drop(job);
    remove(&scratch.root, &dir).unwrap();
    assert!(jobs::find(&scratch.root, &id(1)).is_err());
}
