//! Suites with their elapsed time, and the report over all of them.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::tally::Tally;

/// What CI allows for a whole run.
pub(crate) const BUDGET: Duration = Duration::from_secs(60 * 60);

/// Binaries faster than this are not listed one by one.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

enum Ending {
    Passed,
    Failed(String),
    LeftOut(String),
}

struct Suite {
    name: &'static str,
    ending: Ending,
    elapsed: Duration,
    tally: Tally,
}

/// All suites of a run so far.
pub(crate) struct Report {
    suites: Vec<Suite>,
    notes: Vec<String>,
    started: Instant,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self { suites: Vec::new(), notes: Vec::new(), started: Instant::now() }
    }

    /// Keeps something to be said at the end, that no suite failed for.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Runs one suite and prints its elapsed time. Says whether it passed.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> bool {
        self.run_tests(name, |_| work())
    }

    /// Runs one suite of tests, which counts into the tally, and prints its elapsed time. Says
    /// whether it passed.
    pub(crate) fn run_tests(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Tally) -> Result<(), Error>,
    ) -> bool {
        println!("\n── {name}");
        let since = Instant::now();
        let mut tally = Tally::default();
        let ending = match work(&mut tally) {
            Ok(()) => Ending::Passed,
            Err(error) => Ending::Failed(error.to_string()),
        };
        let suite = Suite { name, ending, elapsed: since.elapsed(), tally };
        println!("── {}", suite.line());
        let passed = matches!(suite.ending, Ending::Passed);
        self.suites.push(suite);
        passed
    }

    /// Notes a suite that was not run at all, loudly: it is not green.
    pub(crate) fn leave_out(&mut self, name: &'static str, why: &str) {
        let ending = Ending::LeftOut(why.to_owned());
        let suite = Suite { name, ending, elapsed: Duration::ZERO, tally: Tally::default() };
        println!("\n── {}", suite.line());
        self.suites.push(suite);
    }

    /// Prints the report and its closing line, which is the last line of the run.
    pub(crate) fn close(self) -> ExitCode {
        println!("\n── suites");
        self.suites.iter().for_each(Suite::print);
        let elapsed = self.started.elapsed();
        println!("   {:>8}  whole run, of {} allowed in CI", seconds(elapsed), seconds(BUDGET));
        if elapsed > BUDGET {
            println!("   WARNING: the run is over its CI budget");
        }
        self.notes.iter().for_each(|note| println!("   {note}"));
        let left_out = self.suites.iter().filter(|suite| suite.is_left_out()).count();
        if left_out > 0 {
            println!("   NOT A FULL RUN: {left_out} suites were left out and prove nothing");
        }
        let (passed, failed) = self.sums();
        println!("\n{passed} passed, {failed} failed");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Tests over all binaries; a suite that failed without a failed test counts as one.
    fn sums(&self) -> (u64, u64) {
        let passed = self.suites.iter().map(|suite| suite.tally.passed).sum();
        (passed, self.suites.iter().map(Suite::failures).sum())
    }
}

impl Suite {
    fn is_left_out(&self) -> bool {
        matches!(self.ending, Ending::LeftOut(_))
    }

    fn failures(&self) -> u64 {
        match self.ending {
            Ending::Failed(_) => self.tally.failed.max(1),
            Ending::Passed | Ending::LeftOut(_) => self.tally.failed,
        }
    }

    fn line(&self) -> String {
        let name = self.name;
        match &self.ending {
            Ending::Passed => format!("{name}: passed in {}", seconds(self.elapsed)),
            Ending::Failed(why) => format!("{name}: FAILED after {}: {why}", seconds(self.elapsed)),
            Ending::LeftOut(why) => format!("{name}: NOT RUN: {why}"),
        }
    }

    fn print(&self) {
        println!("   {:>8}  {}", seconds(self.elapsed), self.line());
        for binary in self.tally.binaries.iter().filter(|binary| binary.elapsed >= WORTH_A_LINE) {
            let (name, passed, failed) = (&binary.name, binary.passed, binary.failed);
            let elapsed = seconds(binary.elapsed);
            println!("   {:>8}    {elapsed:>8}  {name}: {passed} passed, {failed} failed", "");
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_fails_without_a_failed_test_counts_as_one_failure() {
        let mut report = Report::new();
        assert!(!report.run("format", || Err(Error::NoTest)));
        assert_eq!(report.sums(), (0, 1));
        assert_eq!(report.close(), ExitCode::FAILURE);
    }

    #[test]
    fn the_sums_are_those_of_the_test_binaries() {
        let mut report = Report::new();
        let line = |counts| format!("test result: ok. {counts}; 0 ignored; 0 measured");
        assert!(report.run_tests("unit", |tally| {
            tally.read(&line("5 passed; 0 failed"));
            Ok(())
        }));
        assert!(!report.run_tests("integration", |tally| {
            tally.read(&line("4 passed; 3 failed"));
            Err(Error::NoTest)
        }));
        assert_eq!(report.sums(), (9, 3));
    }

    #[test]
    fn a_suite_that_was_left_out_never_reads_as_passed() {
        let mut report = Report::new();
        report.leave_out("live tests", "--quick");
        assert!(report.suites[0].line().contains("NOT RUN"));
        assert!(!report.suites[0].line().contains("passed"));
    }
}
