//! A ledger that cannot be read, written or locked: nothing is started and nothing is overwritten.

use std::fs;

use dcli::store::ledger::DurableLedger;
use dcli::store::lock::Lock;
use dcli_core::gate::{AdmitError, Budget, Caps, Cost, Ledger, LedgerError};

use crate::books::Books;
use crate::desk::Desk;

const CONFIG: &str = "[caps]\nmax_invocations_per_day = 100";

#[test]
fn a_damaged_sheet_ends_in_17_names_its_remedy_and_is_not_touched() {
    let desk = Desk::new(CONFIG);
    desk.run_well(&[]);
    let sheet = desk.days().pop().unwrap();
    for damage in ["", "{", "[]", r#"{"schema_version":1}"#, "\0\0\0\0"] {
        fs::write(&sheet, damage).unwrap();
        let needles = [sheet.to_str().unwrap(), "is damaged", "move it away"];
        let outcome = desk.refused(&[], 17, &needles);
        assert_eq!(outcome.envelope["errors"][0]["code"], "executorUnavailable");
        assert_eq!(outcome.envelope["data"]["run"]["failure"]["class"], "lock");
        assert_eq!(fs::read_to_string(&sheet).unwrap(), damage);
    }
    fs::remove_file(&sheet).unwrap();
    desk.run_well(&[]);
}

#[test]
fn a_sheet_cut_at_any_byte_is_refused_and_not_touched() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    let ticket = ledger.admit(&Caps::UNLIMITED, Cost::new(5.0).unwrap()).unwrap();
    for name in ["day-2026-11-30.json", "group-a.json"] {
        let path = books.path(name);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let refused = ledger.admit(&Caps::UNLIMITED, Cost::ZERO).unwrap_err();
            let is_named = matches!(&refused, AdmitError::Ledger(LedgerError::Unavailable { reason })
                if reason.contains(name) && reason.contains("damaged"));
            assert!(is_named, "cut at {cut}: {refused:?}");
            assert_eq!(fs::read(&path).unwrap(), &whole[..cut]);
        }
        fs::write(&path, &whole).unwrap();
    }
    ledger.settle(ticket, Cost::ZERO).unwrap();
    assert_eq!(books.sheet("group-a.json")["spent"], 5.0);
}

#[test]
fn what_a_newer_dcli_wrote_is_refused_and_not_touched() {
    let desk = Desk::new(CONFIG);
    desk.run_well(&[]);
    let newer = r#"{"schema_version": 2, "all": "different"}"#;
    let sheet = desk.days().pop().unwrap();
    let ticket = desk.room.state().join("ledger/open/0123456789abcdef");
    let old = fs::read(&sheet).unwrap();
    for path in [&sheet, &ticket] {
        fs::write(path, newer).unwrap();
        let needles = [path.to_str().unwrap(), "a newer dcli wrote it", "schema_version 2"];
        desk.refused(&[], 17, &needles);
        assert_eq!(fs::read_to_string(path).unwrap(), newer);
        fs::write(&sheet, &old).unwrap();
    }
    fs::remove_file(&ticket).unwrap();
    desk.run_well(&[]);
}

#[test]
fn a_state_root_that_cannot_be_written_ends_in_15_with_the_way_out() {
    let desk = Desk::new(CONFIG);
    let file = desk.room.file("no-directory", "").unwrap();
    let output = desk.exec(&[]).env("DCLI_STATE_ROOT", &file).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(15), "{stderr}");
    assert!(stderr.contains(file.to_str().unwrap()), "{stderr}");
    assert!(stderr.contains("DCLI_STATE_ROOT") && stderr.contains("nothing was started"));
    assert_eq!(desk.starts(), 0);
}

#[test]
fn a_lock_that_somebody_keeps_ends_in_17_and_names_them() {
    let desk = Desk::new(CONFIG);
    desk.run_well(&[]);
    let lock = Lock::take(&desk.room.state().join("locks/ledger")).unwrap();
    let holder = format!("process {}", std::process::id());
    desk.refused(&[], 17, &["locks/ledger", &holder]);
    drop(lock);
    desk.run_well(&[]);
}

#[test]
fn a_sheet_that_nobody_asks_for_does_not_hold_up_others_and_gets_its_charge_once_it_is_whole() {
    let books = Books::new();
    let old = books.ledger("2026-11-29", Some("a"));
    old.admit(&Caps::UNLIMITED, Cost::new(5.0).unwrap()).unwrap();
    drop(old);
    let sheet = books.path("day-2026-11-29.json");
    let whole = fs::read(&sheet).unwrap();
    fs::write(&sheet, "damaged").unwrap();
    let ledger = books.ledger("2026-11-30", Some("a"));
    ledger.admit(&Caps::UNLIMITED, Cost::ZERO).unwrap();
    assert_eq!(books.sheet("group-a.json")["spent"], 5.0);
    assert_eq!((fs::read(&sheet).unwrap(), books.tickets()), (b"damaged".to_vec(), 2));
    fs::write(&sheet, whole).unwrap();
    ledger.admit(&Caps::UNLIMITED, Cost::ZERO).unwrap();
    assert_eq!(books.sheet("day-2026-11-29.json")["spent"], 5.0);
    assert_eq!(books.sheet("group-a.json")["spent"], 5.0, "charged once");
}

#[test]
fn a_ticket_is_settled_once_and_by_whoever_holds_it() {
    let books = Books::new();
    let (mine, theirs) = (books.ledger("2026-11-30", None), books.ledger("2026-11-30", None));
    let ticket = mine.admit(&Caps::UNLIMITED, Cost::ZERO).unwrap();
    assert_eq!(theirs.settle(ticket, Cost::ZERO), Err(LedgerError::NotOpen { ticket }));
    mine.settle(ticket, Cost::ZERO).unwrap();
    assert_eq!(mine.settle(ticket, Cost::ZERO), Err(LedgerError::NotOpen { ticket }));
    let empty = DurableLedger::new(Budget::default(), None);
    assert_eq!(empty.settle(ticket, Cost::ZERO), Err(LedgerError::NotOpen { ticket }));
}
