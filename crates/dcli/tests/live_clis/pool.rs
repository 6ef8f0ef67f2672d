//! Runs the cells of a suite two at a time, however many suites run at once: the CLIs are heavy.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::case::Case;

const SLOTS: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// So many of the slots, given back when they are dropped.
struct Slots(usize);

impl Slots {
    fn take(count: usize) -> Self {
        let taken = locked(&TAKEN);
        let waited = FREED.wait_while(taken, |taken| *taken + count > SLOTS);
        *waited.unwrap_or_else(PoisonError::into_inner) += count;
        Self(count)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        *locked(&TAKEN) -= self.0;
        FREED.notify_all();
    }
}

/// What is to be seen, by name, and the look.
pub(crate) type Kind = (&'static str, fn(&Case));

/// Something to be seen with one case.
pub(crate) struct Cell {
    /// What, in a word or two.
    pub(crate) what: String,
    /// With whom.
    pub(crate) case: Case,
    /// Panics when it is not seen.
    pub(crate) look: Box<dyn Fn(&Case) + Send + Sync>,
    /// It spends its time waiting, and so runs beside the others without a slot.
    pub(crate) waits: bool,
    /// It starts many CLIs at once, and so runs beside no other that has a slot.
    pub(crate) is_crowd: bool,
}

impl Cell {
    pub(crate) fn new(
        what: &str,
        case: &Case,
        look: impl Fn(&Case) + Send + Sync + 'static,
    ) -> Self {
        Self {
            what: what.to_owned(),
            case: case.clone(),
            look: Box::new(look),
            waits: false,
            is_crowd: false,
        }
    }

    fn title(&self) -> String {
        format!("{} with {}", self.what, self.case.title())
    }
}

/// Runs all cells, says which executors were measured, and fails if one cell failed.
pub(crate) fn run(suite: &str, cells: &[Cell]) {
    let began = Instant::now();
    let (waiting, busy): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.waits);
    let next = Mutex::new(busy.into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for cell in &waiting {
            scope.spawn(|| note(suite, cell, &failed));
        }
        for _ in 0..SLOTS {
            scope.spawn(|| work(suite, &next, &failed));
        }
    });
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.case.id().name()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let seconds = began.elapsed().as_secs();
    let measured = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    say(&format!("{suite}: {} cells in {seconds} s, measured with: {measured}", cells.len()));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_empty(), "{suite}: {} of {} failed: {failed:#?}", failed.len(), cells.len());
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work<'c>(
    suite: &str,
    next: &Mutex<impl Iterator<Item = &'c Cell>>,
    failed: &Mutex<Vec<String>>,
) {
    loop {
        let cell = locked(next).next();
        let Some(cell) = cell else { return };
        note(suite, cell, failed);
    }
}

fn note(suite: &str, cell: &Cell, failed: &Mutex<Vec<String>>) {
    if !passes(suite, cell) {
        locked(failed).push(cell.title());
    }
}

fn passes(suite: &str, cell: &Cell) -> bool {
    let _slots = Slots::take(match (cell.waits, cell.is_crowd) {
        (true, _) => 0,
        (false, true) => SLOTS,
        (false, false) => 1,
    });
    let began = Instant::now();
    let looked = catch_unwind(AssertUnwindSafe(|| (cell.look)(&cell.case)));
    let word = if looked.is_ok() { "seen" } else { "FAILED" };
    let seconds = began.elapsed().as_secs_f64();
    say(&format!("{suite}: {word} {} ({seconds:.1} s)", cell.title()));
    looked.is_ok()
}

/// A line that shows although the test passes.
pub(crate) fn say(line: &str) {
    // Nobody is left to be told where standard error is closed.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
