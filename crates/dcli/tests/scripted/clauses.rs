//! The clauses that hold for any record: each runs for every record of the catalogue and for the records
//! that the engine has never seen.

use std::collections::BTreeSet;

use crate::common::{Dialect, Stage, shown};
use crate::listing;

/// Every clause, by the name of its test.
const CLAUSES: [&str; 23] = [
    "exact_argv",
    "command_override",
    "ok_maps_exactly",
    "bom",
    "self_reported_failure",
    "payload_at_non_zero_exit",
    "cut_output",
    "no_result_shapes",
    "missing_binary",
    "cancel_mid_run",
    "cancel_after_exit",
    "broken_stdin",
    "dash_prompt",
    "trailing_noise",
    "malformed_lines",
    "failure_then_more",
    "reasoning",
    "recovered_error",
    "background_work",
    "usage",
    "windows",
    "environment",
    "no_orphan",
];

/// Runs `check` for every record at once; one that fails fails the clause, by its id.
pub(crate) fn every(clause: &str, check: impl Fn(&Dialect) + Sync) {
    run(clause, &Dialect::all(), check);
}

/// Runs `check` for the records that have what the clause is about: at least a shipped one and one
/// that the engine has never seen.
pub(crate) fn every_with(
    clause: &str,
    has: impl Fn(&Dialect) -> bool,
    check: impl Fn(&Dialect) + Sync,
) {
    let having: Vec<Dialect> = Dialect::all().into_iter().filter(has).collect();
    for source in ["shipped", "file"] {
        assert!(having.iter().any(|d| d.source() == source), "{clause}: no {source} record has it");
    }
    run(clause, &having, check);
}

fn run(clause: &str, dialects: &[Dialect], check: impl Fn(&Dialect) + Sync) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let started: Vec<_> = dialects.iter().map(|d| (d, scope.spawn(|| check(d)))).collect();
        let ended = started.into_iter().filter_map(|(d, run)| run.join().err().map(|_| d.id()));
        ended.collect()
    });
    assert!(failed.is_empty(), "the clause {clause} fails for {failed:?}");
    let ids: Vec<&str> = dialects.iter().map(Dialect::id).collect();
    shown("4", &format!("clause-{clause}"), &ids.join(" "));
}

#[test]
fn every_clause_has_its_test() {
    let named = listing::tests("clause_");
    let missing: Vec<_> = CLAUSES.iter().filter(|c| !has_test(&named, c)).collect();
    assert!(missing.is_empty(), "clauses without a test: {missing:?}");
    assert!(!has_test(&named, "a_clause_that_nobody_wrote"));
}

fn has_test(named: &[String], clause: &str) -> bool {
    named.iter().any(|name| name.starts_with(&format!("clause_{clause}")))
}

#[test]
fn the_suite_covers_every_record_that_dcli_lists() {
    let stage = Stage::new([]);
    let outcome = stage.dcli().args(["backends", "--json"]).env("PATH", "/nowhere").run();
    let listing = outcome.json("backends");
    let listed = listing["backends"].as_array().unwrap().iter();
    let listed: BTreeSet<&str> = listed.map(|backend| backend["id"].as_str().unwrap()).collect();
    let dialects = Dialect::all();
    let shipped = dialects.iter().filter(|dialect| dialect.source() == "shipped");
    assert_eq!(listed, shipped.map(Dialect::id).collect());
    assert!(listed.len() >= 5);
    let unseen: Vec<&str> =
        dialects.iter().filter(|d| !listed.contains(d.id())).map(Dialect::id).collect();
    assert_eq!(unseen, ["unseen-single", "unseen"]);
}
