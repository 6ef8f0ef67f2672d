//! The state root: private, of a format, writable or honestly not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use dcli::model::exit::FailureClass;
use dcli::model::redact::Redactor;
use dcli::store::attempt::LogName;
use dcli::store::lines::JournalError;
use dcli::store::record::Durability;
use dcli::store::root::{RootError, StateRoot};
use dcli::store::{groups, jobs, queue, slots};

use crate::role::{Player, say};
use crate::{Scratch, id, published};

#[test]
fn everything_in_the_root_is_its_owners_alone_whatever_the_umask() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("state");
    let shell = ["sh", "-c", "umask 000; exec \"$0\" \"$@\""];
    let player = Player::through(&shell, &["furnish", root.to_str().unwrap()]);
    assert_eq!(player.hear(), "furnished");
    let mut files = 0;
    check_modes(&root, &mut files);
    assert!(files >= 14, "{files} files");
}

fn check_modes(path: &Path, files: &mut u32) {
    let meta = path.symlink_metadata().unwrap();
    let expected = if meta.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(meta.mode() & 0o7777, expected, "{}", path.display());
    if !meta.is_dir() {
        *files += 1;
        return;
    }
    fs::read_dir(path).unwrap().for_each(|entry| check_modes(&entry.unwrap().path(), files));
}

/// One of everything that the store makes.
pub(crate) fn furnish(path: PathBuf) {
    let root = StateRoot::writing(path).unwrap();
    let writer = published(&root, &id(1));
    writer.write_request(&serde_json::json!({"schema_version": 1})).unwrap();
    writer.write_status(&serde_json::json!({"schema_version": 1}), Durability::Synced).unwrap();
    writer.write_command(&serde_json::json!({"schema_version": 1})).unwrap();
    writer.write_envelope(&serde_json::json!({"schema_version": 1})).unwrap();
    writer.write_result(b"done").unwrap();
    writer.write_findings(b"[]").unwrap();
    writer.facts().unwrap().sync().unwrap();
    writer.log(LogName::Worker).unwrap().finish().unwrap();
    writer.make_scratch().unwrap();
    writer.dir().request_cancel(&root, b"{}").unwrap();
    groups::join(&root, &"night".parse().unwrap(), writer.dir()).unwrap();
    queue::enter(&root, writer.dir(), "one").unwrap();
    let limits = slots::SlotLimits { global: 2, per_backend: 2, backends: [].into() };
    slots::take_now(&root, &limits, "one").unwrap();
    slots::take_descendant(&root, &id(1), 2).unwrap().unwrap();
    say("furnished");
}

#[test]
fn a_root_that_is_not_there_holds_nothing_and_is_not_made_by_reading() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let root = StateRoot::reading(path.clone()).unwrap();
    assert_eq!(jobs::list(&root, None).unwrap().count(), 0);
    assert!(matches!(jobs::find(&root, &id(1)), Err(jobs::JobsError::Absent(_))));
    assert!(queue::waiting(&root).unwrap().is_empty());
    assert!(!path.exists());
}

#[test]
fn a_root_that_others_can_change_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    drop(published(&scratch.root, &id(1)));
    let root = scratch.root.path().to_owned();
    for (directory, mode) in
        [(root.clone(), 0o777), (root.clone(), 0o720), (root.join("jobs"), 0o702)]
    {
        fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
        let error = StateRoot::reading(root.clone()).unwrap_err();
        assert!(error.to_string().contains(&format!("mode {mode:o}")), "{error}");
        assert_eq!(error.class(), FailureClass::PermissionOrSandbox);
        assert!(error.remedy().contains("chmod 700"), "{}", error.remedy());
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    }
    StateRoot::reading(root.clone()).unwrap();
    let is_superuser = scratch.path().metadata().unwrap().uid() == 0;
    let stranger = if is_superuser {
        chown(&root, Some(12345), None).unwrap();
        root
    } else {
        PathBuf::from("/")
    };
    let error = StateRoot::reading(stranger).unwrap_err();
    assert!(error.to_string().contains("belongs to user"), "{error}");
}

#[test]
fn a_root_of_a_newer_format_is_read_and_never_written() {
    let scratch = Scratch::new();
    drop(published(&scratch.root, &id(1)));
    let format = scratch.root.path().join("format.json");
    fs::write(&format, r#"{"schema_version": 3, "format": 2, "more": true}"#).unwrap();
    let root = StateRoot::reading(scratch.root.path().to_owned()).unwrap();
    assert_eq!(jobs::find(&root, &id(1)).unwrap().journal().unwrap().len(), 1);
    for error in [
        root.clone().writable().unwrap_err(),
        StateRoot::writing(root.path().to_owned()).unwrap_err(),
    ] {
        assert!(matches!(error, RootError::NewerFormat { found: 2, .. }), "{error}");
        assert_eq!(error.class(), FailureClass::Environment);
    }
    fs::write(&format, "{").unwrap();
    let error = StateRoot::reading(root.path().to_owned()).unwrap_err();
    assert_eq!(error.class(), FailureClass::Lock, "{error}");
}

#[test]
fn where_nothing_can_be_written_a_worker_is_still_seen_to_live() {
    let scratch = Scratch::new();
    let writer = published(&scratch.root, &id(1));
    let root = scratch.root.path().to_str().unwrap();
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" || exit; shift; \
                  exec \"$0\" \"$@\"";
    // The shell's first argument is the root, its name the program.
    let launch = format!("p=\"$0\"; set -- {root} \"$@\"; {}", script.replace("\"$0\"", "\"$p\""));
    let own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", launch.as_str()];
    let look = || Player::through(&own, &["look", root, "1"]).hear();
    let refusal = format!(
        "PermissionOrSandbox make {root} writable for you, or set DCLI_STATE_ROOT to a directory that is"
    );
    assert_eq!(look(), format!("held true, {refusal}"));
    drop(writer);
    assert_eq!(look(), format!("held false, {refusal}"));
}

#[test]
fn a_record_of_a_job_is_unreadable_damaged_newer_or_absent_and_each_is_told_apart() {
    use dcli::store::job_dir::RecordError;
    let scratch = Scratch::new();
    let dir = published(&scratch.root, &id(1)).dir().clone();
    let read = || dir.status::<dcli::model::job::status::Status>();
    assert!(matches!(read(), Err(RecordError::Unreadable { .. })), "no status in it");
    fs::write(dir.status_path(), r#"{"schema_version": 1}"#).unwrap();
    assert!(matches!(read(), Err(RecordError::Damaged { .. })));
    fs::write(dir.status_path(), r#"{"schema_version": 9}"#).unwrap();
    assert!(matches!(read(), Err(RecordError::NewerFormat { found: 9, .. })));
    fs::remove_file(dir.journal_path()).unwrap();
    assert!(matches!(dir.journal(), Err(RecordError::Journal(JournalError::Io { .. }))));
    fs::remove_dir_all(dir.path()).unwrap();
    assert!(matches!(read(), Err(RecordError::Absent(_))));
    assert!(matches!(dir.journal(), Err(RecordError::Absent(_))));
    assert!(matches!(dir.is_held(), Err(RecordError::Absent(_))));
    assert!(matches!(dir.claim(&scratch.root, Redactor::none()), Err(RecordError::Absent(_))));
}
