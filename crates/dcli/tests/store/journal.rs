//! Journals: cut at every byte, damaged anywhere, of another format, out of turn, on a full disk.

use std::fs;
use std::path::Path;

use dcli::model::exit::FailureClass;
use dcli::model::job::event::JournalLine;
use dcli::model::redact::Redactor;
use dcli::store::journal::Journal;
use dcli::store::lease::Lease;
use dcli::store::lines::{JournalError, Lines, read};
use dcli::store::record::Durability;
use dcli::store::redacted::Redaction;

use crate::line;
use crate::role::Player;

struct Place {
    directory: tempfile::TempDir,
    lease: Lease,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lease = Lease::create(&directory.path().join("lease")).unwrap();
        Self { directory, lease }
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("journal.jsonl")
    }

    fn open(&self) -> Result<Journal<JournalLine>, JournalError> {
        Journal::open(&self.file(), &self.lease, Redaction::new(Redactor::none()))
    }

    fn seqs(&self) -> Vec<u64> {
        read::<JournalLine>(&self.file()).unwrap().iter().map(|line| line.seq).collect()
    }
}

fn whole(lines: u64) -> Vec<u8> {
    let place = Place::new();
    let mut journal = place.open().unwrap();
    (1..=lines).for_each(|seq| journal.append(&line(seq), Durability::Unsynced).unwrap());
    fs::read(place.file()).unwrap()
}

#[test]
fn a_tail_torn_at_any_byte_is_dropped_and_the_next_line_follows_the_last_whole_one() {
    let bytes = whole(3);
    let place = Place::new();
    for cut in 0..=bytes.len() {
        fs::write(place.file(), &bytes[..cut]).unwrap();
        let kept = bytes[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(place.seqs(), (1..=kept).collect::<Vec<_>>(), "read, cut at {cut}");
        assert_eq!(fs::read(place.file()).unwrap(), &bytes[..cut], "a reader changes nothing");
        let mut journal = place.open().unwrap();
        assert_eq!(journal.next_seq(), kept + 1, "cut at {cut}");
        journal.append(&line(kept + 1), Durability::Synced).unwrap();
        assert_eq!(place.seqs(), (1..=kept + 1).collect::<Vec<_>>(), "appended, cut at {cut}");
    }
}

#[test]
fn blocks_that_never_reached_the_disk_read_as_nuls_and_are_torn() {
    let bytes = whole(3);
    let last = whole(2).len();
    let place = Place::new();
    for from in last..bytes.len() {
        for newline_is_there in [false, true] {
            let mut lost = bytes.clone();
            lost[from..].fill(0);
            if newline_is_there {
                lost.extend_from_slice(b"}\n");
            }
            fs::write(place.file(), &lost).unwrap();
            assert_eq!(place.seqs(), [1, 2], "lost from {from}");
            place.open().unwrap().append(&line(3), Durability::Synced).unwrap();
            assert_eq!(fs::read(place.file()).unwrap(), bytes, "lost from {from}");
        }
    }
    let grown = [bytes.as_slice(), &[0; 9000]].concat();
    fs::write(place.file(), grown).unwrap();
    assert_eq!(place.open().unwrap().next_seq(), 4);
    assert_eq!(fs::read(place.file()).unwrap(), bytes);
}

#[test]
fn damage_that_is_no_torn_tail_is_refused_by_line_and_nothing_is_overwritten() {
    let text = String::from_utf8(whole(3)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (one, two, three) = (lines[0], lines[1], lines[2]);
    let nul = two.replace("queued", "que\0ed");
    let cases = [
        (format!("{one}\nnonsense\n{three}\n"), 2, "no JSON"),
        (format!("{one}\n{three}\n"), 2, "a gap"),
        (format!("{one}\n{two}\n{two}\n"), 3, "a repeat"),
        (format!("{one}\n\n{two}\n"), 2, "an empty line"),
        (format!("{two}\n"), 1, "a beginning that is lost"),
        (format!("{one}\n{nul}\n{three}\n"), 2, "a NUL before another line"),
        (format!("{one}\n{{\"seq\":2}}\n{three}\n"), 2, "no version"),
        (format!("{one}\nnonsense\n"), 2, "a last line that is whole and no JSON"),
        (format!("{one}\n{two}\n{three}\n\n"), 4, "an empty last line"),
    ];
    for (bytes, at, what) in cases {
        let place = Place::new();
        fs::write(place.file(), &bytes).unwrap();
        for error in [place.open().unwrap_err(), read::<JournalLine>(&place.file()).unwrap_err()] {
            assert!(
                matches!(error, JournalError::Damaged { line, .. } if line == at),
                "{what}: {error}"
            );
            assert_eq!(error.class(), FailureClass::Lock);
        }
        assert_eq!(fs::read_to_string(place.file()).unwrap(), bytes, "{what}");
    }
}

#[test]
fn a_line_that_is_no_event_is_damage_to_a_reader() {
    let place = Place::new();
    let text = String::from_utf8(whole(2)).unwrap().replace("queued", "gone_fishing");
    fs::write(place.file(), text).unwrap();
    let error = read::<JournalLine>(&place.file()).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { line: 1, .. }), "{error}");
}

#[test]
fn a_newer_journal_is_read_and_never_written() {
    let place = Place::new();
    let newer = |text: &str| {
        text.replace("\"schema_version\":1,\"seq\":2", "\"schema_version\":2,\"seq\":2")
    };
    let text = newer(&String::from_utf8(whole(2)).unwrap());
    let torn = format!("{text}{{\"schema_ver");
    fs::write(place.file(), &torn).unwrap();
    assert_eq!(place.seqs(), [1, 2]);
    let error = place.open().unwrap_err();
    assert!(matches!(error, JournalError::NewerFormat { found: 2, known: 1, .. }), "{error}");
    assert_eq!(error.class(), FailureClass::Environment);
    assert_eq!(fs::read_to_string(place.file()).unwrap(), torn, "not even its torn tail is cut");
    fs::write(place.file(), text.replace("queued", "of_tomorrow")).unwrap();
    // The first line is of today, and of today there is no such event.
    assert!(matches!(
        read::<JournalLine>(&place.file()),
        Err(JournalError::Damaged { line: 1, .. })
    ));
    let tomorrow = format!("{}\n", text.lines().nth(1).unwrap().replace("queued", "of_tomorrow"));
    fs::write(place.file(), [whole(1), tomorrow.into_bytes()].concat()).unwrap();
    let error = read::<JournalLine>(&place.file()).unwrap_err();
    assert!(matches!(error, JournalError::NewerFormat { line: 2, found: 2, .. }), "{error}");
}

#[test]
fn a_line_out_of_turn_is_not_written() {
    let place = Place::new();
    let mut journal = place.open().unwrap();
    journal.append(&line(1), Durability::Unsynced).unwrap();
    for wrong in [0, 1, 3] {
        let error = journal.append(&line(wrong), Durability::Unsynced).unwrap_err();
        assert!(matches!(error, JournalError::OutOfTurn { expected: 2, .. }), "{error}");
    }
    journal.append(&line(2), Durability::Unsynced).unwrap();
    assert_eq!(place.seqs(), [1, 2]);
}

#[test]
fn a_follower_gets_each_line_once_when_it_is_whole() {
    let bytes = whole(3);
    let place = Place::new();
    fs::write(place.file(), b"").unwrap();
    let mut lines = Lines::<JournalLine>::open(&place.file()).unwrap();
    let mut seen = Vec::new();
    for end in 1..=bytes.len() {
        fs::write(place.file(), &bytes[..end]).unwrap();
        seen.extend(lines.rest().unwrap().iter().map(|line| line.seq));
        let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(seen.len(), whole, "at {end}");
    }
    assert_eq!(seen, [1, 2, 3]);
}

#[test]
fn a_line_that_finds_no_room_is_not_there_and_the_next_one_may_be() {
    let place = Place::new();
    let path = place.file();
    // The limit is 512 or 1024 bytes, as the shell counts: a line is cut in its middle.
    let shell = ["sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""];
    let player = Player::through(&shell, &["fill", path.to_str().unwrap()]);
    let refused: u64 = player.hear().parse().unwrap();
    assert!(refused > 1, "some lines found room");
    assert_eq!(place.seqs(), (1..refused).collect::<Vec<_>>());
    assert!(fs::read(&path).unwrap().ends_with(b"\n"), "nothing of the refused line is left");
    place.open().unwrap().append(&line(refused), Durability::Synced).unwrap();
}

/// Appends until there is no room, twice, and says which line was refused.
pub(crate) fn fill(path: &Path) {
    let lease = Lease::create(&path.with_file_name("lease-of-filler")).unwrap();
    let mut journal =
        Journal::<JournalLine>::open(path, &lease, Redaction::new(Redactor::none())).unwrap();
    let refused = loop {
        let seq = journal.next_seq();
        if journal.append(&line(seq), Durability::Unsynced).is_err() {
            break seq;
        }
    };
    assert!(journal.append(&line(refused), Durability::Unsynced).is_err());
    crate::role::say(&refused.to_string());
}
