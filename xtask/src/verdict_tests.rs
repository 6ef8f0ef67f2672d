//! Every way in which a cell may fail, each with the row that makes it fail.

use super::*;

const FULL: Terms<'static> = Terms { open: &[], root: true, require_all: true };

fn cell(proof: Proof) -> Cell {
    Cell {
        line: "3",
        check: "no-survivor",
        cli: "codex",
        user: User::Ordinary,
        ending: "cancel",
        proof,
    }
}

fn row(observed: &str) -> Row {
    Row {
        line: "3".to_owned(),
        cli: Some("codex".to_owned()),
        uid: Some(65534),
        ending: Some("cancel".to_owned()),
        check: "no-survivor".to_owned(),
        observed: observed.to_owned(),
        red: false,
        disabled: false,
    }
}

fn control(red: bool) -> Row {
    Row { red, disabled: true, ..row("4 survivors") }
}

fn failing(cell: &Cell, rows: &[Row], word: &str) {
    match judge(cell, rows, FULL) {
        Finding::Failing(why) => assert!(why.contains(word), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(print(&[*cell], rows, FULL).is_err());
}

#[test]
fn an_observed_cell_is_shown_with_its_words() {
    let shown = judge(&cell(Proof::Observed), &[row("0 survivors")], FULL);
    assert_eq!(shown, Finding::Shown("0 survivors".to_owned()));
    let count = print(&[cell(Proof::Observed)], &[row("0 survivors")], FULL).unwrap();
    assert_eq!(count, Count { shown: 1, open: 0, failing: 0 });
}

#[test]
fn a_missing_row_fails() {
    failing(&cell(Proof::Observed), &[], "no row");
}

#[test]
fn a_row_of_another_cell_does_not_help() {
    let others = [
        Row { line: "2".to_owned(), ..row("x") },
        Row { cli: None, ..row("x") },
        Row { uid: Some(0), ..row("x") },
        Row { uid: None, ..row("x") },
        Row { ending: Some("normal".to_owned()), ..row("x") },
        Row { check: "text".to_owned(), ..row("x") },
        Row { check: "control".to_owned(), ..row("x") },
    ];
    failing(&cell(Proof::Observed), &others, "no row");
}

#[test]
fn a_skipped_row_fails_and_so_does_one_without_words() {
    for observed in ["skipped: codex is missing", "SKIPPED", "", "  "] {
        failing(&cell(Proof::Observed), &[row(observed)], "skipped");
    }
}

#[test]
fn one_red_row_fails_whatever_the_others_say() {
    let rows = [row("0"), Row { red: true, ..row("1 survivor") }, row("0")];
    failing(&cell(Proof::Observed), &rows, "RED: 1 survivor");
}

#[test]
fn containment_without_a_control_fails() {
    failing(&cell(Proof::RedWithout), &[row("0")], "no control");
}

#[test]
fn a_control_that_stayed_green_fails() {
    failing(&cell(Proof::RedWithout), &[row("0"), control(false)], "always green");
    failing(&cell(Proof::RedWithout), &[row("0"), control(true), control(false)], "always green");
}

#[test]
fn a_control_alone_is_not_an_observation() {
    failing(&cell(Proof::RedWithout), &[control(true)], "no row");
}

#[test]
fn a_red_control_proves_the_cell_of_its_own_name_alone() {
    let shown = judge(&cell(Proof::RedWithout), &[row("0 survivors"), control(true)], FULL);
    assert_eq!(shown, Finding::Shown("0 survivors · without: 4 survivors".to_owned()));
    let other = Row { check: "control".to_owned(), ..control(true) };
    failing(&cell(Proof::RedWithout), &[row("0 survivors"), other], "no control");
}

#[test]
fn a_line_without_a_suite_is_open_but_its_red_rows_still_fail() {
    let open = Terms { open: &["3"], ..FULL };
    let cell = cell(Proof::RedWithout);
    let count = print(&[cell], &[], open).unwrap();
    assert_eq!(count, Count { shown: 0, open: 1, failing: 0 });
    assert!(print(&[cell], &[Row { red: true, ..row("1 survivor") }], open).is_err());
    assert!(print(&[cell], &[], Terms { open: &["2"], ..FULL }).is_err());
}

#[test]
fn cells_of_root_may_be_missing_only_where_nobody_is_root_and_nobody_requires_them() {
    let root = Cell { user: User::Root, ..cell(Proof::Observed) };
    let ordinary = Terms { open: &[], root: false, require_all: false };
    assert!(print(&[root], &[], ordinary).is_ok());
    assert!(print(&[cell(Proof::Observed)], &[], ordinary).is_err());
    assert!(print(&[root], &[], Terms { require_all: true, ..ordinary }).is_err());
    assert!(print(&[root], &[], Terms { root: true, ..ordinary }).is_err());
}

/// A cell that no CLI, user or ending is part of.
fn bare(proof: Proof) -> Cell {
    Cell { cli: NONE, user: User::Whoever, ending: NONE, ..cell(proof) }
}

fn bare_row(observed: &str) -> Row {
    Row { cli: None, uid: None, ending: None, ..row(observed) }
}

#[test]
fn a_cell_of_whoever_is_shown_by_a_row_that_names_nobody() {
    let shown = judge(&bare(Proof::Observed), &[bare_row("none alive")], FULL);
    assert_eq!(shown, Finding::Shown("none alive".to_owned()));
    assert_eq!(title(&bare(Proof::Observed)), "3 · no-survivor · - · - · -");
    for uid in [0, 65534] {
        let somebody = Row { uid: Some(uid), ..bare_row("none alive") };
        failing(&bare(Proof::Observed), &[somebody], "no row");
    }
    failing(&bare(Proof::Observed), &[row("none alive")], "no row");
    let named = Row { uid: None, ..row("none alive") };
    failing(&bare(Proof::Observed), &[named], "no row");
}

#[test]
fn a_cell_of_whoever_may_be_missing_nowhere() {
    let lenient = Terms { open: &[], root: false, require_all: false };
    assert!(print(&[bare(Proof::Observed)], &[], lenient).is_err());
    assert!(print(&[bare(Proof::Observed)], &[bare_row("none alive")], lenient).is_ok());
}

#[test]
fn a_cell_of_whoever_fails_when_it_is_red_skipped_or_never_seen_red() {
    let red = Row { red: true, ..bare_row("1 alive") };
    failing(&bare(Proof::Observed), &[bare_row("none alive"), red], "RED: 1 alive");
    failing(&bare(Proof::Observed), &[bare_row("skipped: no node")], "skipped");
    let off = |red| Row { red, disabled: true, ..bare_row("4 survivors") };
    failing(&bare(Proof::RedWithout), &[bare_row("0")], "no control");
    failing(&bare(Proof::RedWithout), &[bare_row("0"), control(true)], "no control");
    failing(&bare(Proof::RedWithout), &[bare_row("0"), off(false)], "always green");
    failing(&bare(Proof::RedWithout), &[off(true)], "no row");
    assert!(print(&[bare(Proof::RedWithout)], &[bare_row("0"), off(true)], FULL).is_ok());
}

#[test]
fn each_row_of_the_real_table_is_missed_when_it_is_not_there() {
    for cell in crate::matrix::expected() {
        assert!(print(&[cell], &[], FULL).is_err(), "{}", title(&cell));
    }
}

#[test]
fn rows_outside_the_table_are_harmless_only_as_long_as_they_are_as_they_should_be() {
    let outside = |red, disabled| Row { line: "9".to_owned(), red, disabled, ..row("seen") };
    assert!(print(&[], &[outside(false, false), outside(true, true)], FULL).is_ok());
    assert!(print(&[], &[outside(true, false)], FULL).is_err());
    assert!(print(&[], &[outside(false, true)], FULL).is_err());
}
