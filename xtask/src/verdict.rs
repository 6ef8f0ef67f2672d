//! Compares what was observed with what was expected, cell by cell. Judges; it runs nothing.

use crate::error::Error;
use crate::evidence::Row;
use crate::matrix::{Cell, NONE, Proof, User};

/// What the run may leave unproven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// Must-show lines without a suite yet.
    pub(crate) open: &'a [&'a str],
    /// Whether this run can measure as root.
    pub(crate) root: bool,
    /// Whether a cell that only root can measure has to be there all the same.
    pub(crate) require_all: bool,
}

/// What is to be said of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// Observed, and proven where that is asked for.
    Shown(String),
    /// Nothing was observed, and that is known and said.
    Excused(&'static str),
    /// Missing, skipped, red, or never seen red.
    Failing(String),
}

/// How many cells came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) shown: usize,
    pub(crate) open: usize,
    failing: usize,
}

/// Prints a line for each cell, and for each red or unknown row beside them.
///
/// # Errors
/// When one cell or row fails: how many.
pub(crate) fn print(cells: &[Cell], rows: &[Row], terms: Terms<'_>) -> Result<Count, Error> {
    let mut count = Count::default();
    for cell in cells {
        let finding = judge(cell, rows, terms);
        let (word, text) = count.add(&finding);
        println!("{word:<5} {} · {text}", title(cell));
    }
    for row in strays(cells, rows) {
        count.failing += usize::from(is_false(row));
        let word = if is_false(row) { "FAIL" } else { "other" };
        println!("{word:<5} {} · {}", row_title(row), row.observed);
    }
    summary(cells, terms);
    if count.failing == 0 { Ok(count) } else { Err(Error::Unproven(count.failing)) }
}

impl Count {
    /// Counts one finding, and says it in a word and a text.
    fn add<'a>(&mut self, finding: &'a Finding) -> (&'static str, &'a str) {
        let (slot, word, text) = match finding {
            Finding::Shown(text) => (&mut self.shown, "shown", text.as_str()),
            Finding::Excused(why) => (&mut self.open, "OPEN", *why),
            Finding::Failing(why) => (&mut self.failing, "FAIL", why.as_str()),
        };
        *slot += 1;
        (word, text)
    }
}

fn summary(cells: &[Cell], terms: Terms<'_>) {
    if !terms.open.is_empty() {
        println!("open must-show lines, without a suite yet: {}", terms.open.join(", "));
    }
    if !terms.root {
        let roots = cells.iter().filter(|cell| cell.user == User::Root).count();
        println!(
            "this run is not root's: {roots} cells that only root can measure were NOT MEASURED"
        );
    }
}

fn judge(cell: &Cell, rows: &[Row], terms: Terms<'_>) -> Finding {
    let own: Vec<&Row> = rows.iter().filter(|row| is_of(row, cell)).collect();
    let (controls, plain): (Vec<&Row>, Vec<&Row>) = own.into_iter().partition(|row| row.disabled);
    if let Some(red) = plain.iter().find(|row| row.red) {
        return Finding::Failing(format!("RED: {}", red.observed));
    }
    if let Some(skipped) = plain.iter().find(|row| row.is_skipped()) {
        return Finding::Failing(format!("skipped or without words: {:?}", skipped.observed));
    }
    let Some(seen) = plain.last() else { return absent(cell, terms) };
    if cell.proof == Proof::Observed {
        return Finding::Shown(seen.observed.clone());
    }
    match proof(&controls) {
        Ok(control) => Finding::Shown(format!("{} · without: {control}", seen.observed)),
        Err(_) if terms.open.contains(&cell.line) => Finding::Excused("no control yet"),
        Err(why) => Finding::Failing(format!("{why}; observed: {}", seen.observed)),
    }
}

fn absent(cell: &Cell, terms: Terms<'_>) -> Finding {
    if terms.open.contains(&cell.line) {
        Finding::Excused("no suite shows this line yet")
    } else if cell.user == User::Root && !terms.root && !terms.require_all {
        Finding::Excused("not measured: only root can, and this run is not root's")
    } else {
        Finding::Failing("no row: nothing was observed".to_owned())
    }
}

/// All controls have to be red: one that stayed green shows that the check cannot fail.
fn proof(controls: &[&Row]) -> Result<String, &'static str> {
    let Some(last) = controls.last() else { return Err("never seen red: no control row") };
    if controls.iter().all(|control| control.red && !control.is_skipped()) {
        Ok(last.observed.clone())
    } else {
        Err("always green: a control with the protection off was not red")
    }
}

fn is_of(row: &Row, cell: &Cell) -> bool {
    let user = match cell.user {
        User::Root => row.uid == Some(0),
        User::Ordinary => row.uid.is_some_and(|uid| uid != 0),
        User::Whoever => row.uid.is_none(),
    };
    let cli = row.cli.as_deref().unwrap_or(NONE);
    let ending = row.ending.as_deref().unwrap_or(NONE);
    let named = row.line == cell.line && row.check == cell.check;
    named && user && cli == cell.cli && ending == cell.ending
}

fn strays<'a>(cells: &'a [Cell], rows: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(|row| !cells.iter().any(|cell| is_of(row, cell)))
}

/// Red where it should be green, or the other way round.
fn is_false(row: &Row) -> bool {
    row.red != row.disabled || row.is_skipped()
}

fn title(cell: &Cell) -> String {
    let user = match cell.user {
        User::Root => "root",
        User::Ordinary => "ordinary",
        User::Whoever => NONE,
    };
    let Cell { line, check, cli, ending, .. } = cell;
    format!("{line} · {check} · {cli} · {user} · {ending}")
}

fn row_title(row: &Row) -> String {
    let cli = row.cli.as_deref().unwrap_or(NONE);
    let ending = row.ending.as_deref().unwrap_or(NONE);
    let uid = row.uid.map_or_else(|| NONE.to_owned(), |uid| format!("uid {uid}"));
    format!("{} · {} · {cli} · {uid} · {ending}", row.line, row.check)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
