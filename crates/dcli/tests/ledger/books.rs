//! The ledger as a value: days, groups, estimates, and settlements that were cut in two.

use std::path::PathBuf;
use std::sync::{Arc, Barrier, Mutex};

use dcli::store::ledger::{DurableLedger, Lost};
use dcli_core::gate::{AdmitError, Budget, Caps, Cost, Ledger, Rule};
use serde_json::{Value, json};

/// A state root of its own.
pub(crate) struct Books {
    root: tempfile::TempDir,
    limits: Budget,
}

impl Books {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), limits: Budget::default() }
    }

    fn with(self, rule: Rule, number: f64) -> Self {
        let limits = self.limits.with(rule, number, "a file").unwrap();
        Self { limits, ..self }
    }

    /// The ledger as one process has it, at noon of a day.
    pub(crate) fn ledger(&self, day: &str, group: Option<&str>) -> DurableLedger {
        let now = format!("{day}T12:00:00Z").parse().unwrap();
        let group = group.map(|group| group.parse().unwrap());
        DurableLedger::new(self.limits.clone(), group)
            .in_root(self.root.path())
            .with_clock(Arc::new(move || now))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("ledger").join(name)
    }

    pub(crate) fn sheet(&self, name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn tickets(&self) -> usize {
        std::fs::read_dir(self.path("open")).unwrap().count()
    }

    /// The only ticket.
    fn ticket(&self) -> PathBuf {
        assert_eq!(self.tickets(), 1);
        std::fs::read_dir(self.path("open")).unwrap().next().unwrap().unwrap().path()
    }
}

fn tokens(number: f64) -> Cost {
    Cost::new(number).unwrap()
}

fn refusal(ledger: &DurableLedger, estimate: f64) -> String {
    match ledger.admit(&Caps::UNLIMITED, tokens(estimate)).unwrap_err() {
        AdmitError::Exceeded(exceeded) => exceeded.to_string(),
        AdmitError::Ledger(error) => error.to_string(),
    }
}

fn admit(ledger: &DurableLedger, estimate: f64) -> dcli_core::gate::Ticket {
    ledger.admit(&Caps::UNLIMITED, tokens(estimate)).unwrap()
}

#[test]
fn the_next_day_begins_anew_and_keeps_the_one_before() {
    let books = Books::new().with(Rule::MaxInvocationsPerDay, 1.0);
    let (monday, tuesday) = (books.ledger("2026-11-30", None), books.ledger("2026-12-01", None));
    let ticket = admit(&monday, 0.0);
    monday.settle(ticket, tokens(3.0)).unwrap();
    assert!(refusal(&monday, 0.0).starts_with("max_invocations_per_day on 2026-11-30 (UTC)"));
    admit(&tuesday, 0.0);
    assert!(refusal(&tuesday, 0.0).contains("on 2026-12-01"));
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 3.0);
}

#[test]
fn a_run_over_midnight_is_under_way_on_both_days_and_charged_to_the_first() {
    let books = Books::new().with(Rule::MaxConcurrent, 1.0);
    let (monday, tuesday) = (books.ledger("2026-11-30", None), books.ledger("2026-12-01", None));
    let ticket = admit(&monday, 0.0);
    assert!(refusal(&tuesday, 0.0).contains("max_concurrent"));
    monday.settle(ticket, tokens(9.0)).unwrap();
    admit(&tuesday, 0.0);
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 9.0);
    assert_eq!(books.sheet("day-2026-12-01.json")["spent"], 0.0);
}

#[test]
fn estimates_are_reserved_and_a_charge_is_never_below_them() {
    let books = Books::new().with(Rule::MaxTokensPerDay, 45.0);
    let barrier = Barrier::new(12);
    let admitted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let ledger = books.ledger("2026-11-30", None);
                barrier.wait();
                let ticket = ledger.admit(&Caps::UNLIMITED, tokens(10.0));
                admitted.lock().unwrap().extend(ticket.ok().map(|ticket| (ledger, ticket)));
            });
        }
    });
    let admitted = admitted.into_inner().unwrap();
    assert_eq!(admitted.len(), 4);
    for (ledger, ticket) in &admitted {
        ledger.settle(*ticket, tokens(1.0)).unwrap();
    }
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 40.0);
}

#[test]
fn caps_of_the_gate_hold_for_the_day_beside_those_of_the_budget() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    let caps = Caps::UNLIMITED.with_max_invocations(1.0).unwrap();
    ledger.admit(&caps, Cost::ZERO).unwrap();
    assert!(matches!(ledger.admit(&caps, Cost::ZERO), Err(AdmitError::Exceeded(_))));
    assert_eq!(books.sheet("group-a.json")["invocations"], 1);
}

/// Ends a process's life without a settlement, as SIGKILL does: its locks go.
fn dies(ledger: DurableLedger) {
    drop(ledger);
}

/// The next admission, and the lost runs that it tells of.
fn sweep(books: &Books) -> Vec<Lost> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&told);
    let ledger = books.ledger("2026-12-01", None);
    let ledger = ledger.with_on_lost(Arc::new(move |lost: &Lost| {
        to.lock().unwrap().push(lost.clone());
    }));
    let ticket = admit(&ledger, 0.0);
    ledger.settle(ticket, Cost::ZERO).unwrap();
    told.lock().unwrap().clone()
}

#[test]
fn a_run_that_died_is_charged_its_estimate_in_its_own_day_and_group_and_told_once() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    admit(&ledger, 6.0);
    dies(ledger);
    let lost = sweep(&books);
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].since.as_str(), lost[0].charge), ("2026-11-30T12:00:00.000Z", None));
    for name in ["day-2026-11-30.json", "group-a.json"] {
        let sheet = books.sheet(name);
        assert_eq!((&sheet["spent"], &sheet["lost"]), (&json!(6.0), &json!(1)), "{name}");
        assert_eq!((&sheet["invocations"], &sheet["open"]), (&json!(1), &json!([])), "{name}");
    }
    assert_eq!((sweep(&books), books.tickets()), (vec![], 0));
}

#[test]
fn a_settlement_that_was_cut_between_its_two_sheets_is_finished_with_its_own_charge() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    admit(&ledger, 6.0);
    let mut slip: Value = serde_json::from_slice(&std::fs::read(books.ticket()).unwrap()).unwrap();
    slip["charge"] = json!(30.0);
    std::fs::write(books.ticket(), slip.to_string()).unwrap();
    let mut day = books.sheet("day-2026-11-30.json");
    day["open"] = json!([]);
    day["spent"] = json!(30.0);
    std::fs::write(books.path("day-2026-11-30.json"), day.to_string()).unwrap();
    dies(ledger);
    assert_eq!(sweep(&books)[0].charge, Some(tokens(30.0)));
    assert_eq!(books.sheet("group-a.json")["spent"], 30.0);
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 30.0, "charged once");
}

#[test]
fn a_settlement_that_failed_is_made_up_for_with_its_own_charge() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    let ticket = admit(&ledger, 6.0);
    let whole = std::fs::read(books.path("group-a.json")).unwrap();
    std::fs::write(books.path("group-a.json"), "damaged").unwrap();
    let error = ledger.settle(ticket, tokens(30.0)).unwrap_err().to_string();
    assert!(error.contains("group-a.json"), "{error}");
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 30.0);
    std::fs::write(books.path("group-a.json"), whole).unwrap();
    dies(ledger);
    assert_eq!(sweep(&books)[0].charge, Some(tokens(30.0)));
    assert_eq!(books.sheet("group-a.json")["spent"], 30.0);
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 30.0, "charged once");
}

#[test]
fn a_settlement_that_failed_can_be_tried_again() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", None);
    let ticket = admit(&ledger, 6.0);
    let whole = std::fs::read(books.path("day-2026-11-30.json")).unwrap();
    std::fs::write(books.path("day-2026-11-30.json"), "damaged").unwrap();
    ledger.settle(ticket, tokens(30.0)).unwrap_err();
    std::fs::write(books.path("day-2026-11-30.json"), whole).unwrap();
    ledger.settle(ticket, tokens(30.0)).unwrap();
    assert_eq!(
        (books.sheet("day-2026-11-30.json")["spent"].as_f64(), books.tickets()),
        (Some(30.0), 0)
    );
}

#[test]
fn an_admission_that_was_cut_between_its_two_sheets_is_charged_where_it_was_counted() {
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    admit(&ledger, 6.0);
    std::fs::remove_file(books.path("group-a.json")).unwrap();
    dies(ledger);
    assert_eq!(sweep(&books).len(), 1);
    assert_eq!(books.sheet("day-2026-11-30.json")["spent"], 6.0);
    assert!(!books.path("group-a.json").exists());
}

#[test]
fn a_ticket_cut_at_any_byte_is_charged_the_estimate_where_its_sheet_is_read_next() {
    let books = Books::new();
    let ledger = books.ledger("2026-12-01", None);
    admit(&ledger, 1.0);
    let ticket = books.ticket();
    let whole = std::fs::read(&ticket).unwrap();
    dies(ledger);
    let sheet = std::fs::read(books.path("day-2026-12-01.json")).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(books.path("day-2026-12-01.json"), &sheet).unwrap();
        std::fs::write(&ticket, &whole[..cut]).unwrap();
        sweep(&books);
        let sheet = books.sheet("day-2026-12-01.json");
        assert_eq!((&sheet["spent"], &sheet["lost"]), (&json!(1.0), &json!(1)), "cut at {cut}");
        assert_eq!(books.tickets(), 0, "cut at {cut}");
    }
}

#[test]
fn sheets_and_tickets_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let books = Books::new();
    let ledger = books.ledger("2026-11-30", Some("a"));
    admit(&ledger, 0.0);
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    for name in ["day-2026-11-30.json", "group-a.json"] {
        assert_eq!(mode(books.path(name)), 0o600, "{name}");
    }
    assert_eq!((mode(books.ticket()), mode(books.path("open"))), (0o600, 0o700));
}
