//! Runs with containment switched off. The same run is taken once more in this debug build with
//! nothing containing it: what is seen alive then is what a check would see if containment broke.
//! A check that sees nothing then cannot fail, and its row says so.

use std::collections::BTreeSet;

use dcli_testkit::evidence::Row;
use dcli_testkit::hang::HANG_LIMIT;

use super::Stage;

/// Read by `dcli-contain` in builds with debug assertions alone.
pub(super) const VARIABLE: &str = "DCLI_TEST_UNCONTAINED";

/// Whether dcli may contain a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    On,
    /// It says that it does, and does not.
    Off,
}

/// Keeps what is alive after a run whose protection was off as the control of line 4's `check`, ends
/// it, and says how many processes it was.
pub(crate) fn survived(check: &str, stage: &Stage) -> usize {
    outlived("4", check, stage)
}

/// The same for the check of any line.
pub(crate) fn outlived(line: &str, check: &str, stage: &Stage) -> usize {
    let alive = stage.marker.alive();
    stage.marker.kill_all(HANG_LIMIT).unwrap();
    let names: BTreeSet<&str> = alive.iter().map(|found| found.comm.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let observed = format!("{} survivors: {}", alive.len(), names.join(", "));
    let red = !alive.is_empty();
    Row { observed, red, disabled: true, ..Row::of(line, check) }.keep().unwrap();
    assert!(red, "{check}: nothing survived although nothing was contained");
    alive.len()
}
