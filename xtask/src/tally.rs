//! Counts tests from what cargo and its test binaries print. Counts only; it judges nothing.

use std::time::{Duration, Instant};

/// What the test binaries of a suite said, summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    pub(crate) binaries: Vec<Binary>,
    current: Option<(String, Instant)>,
}

/// One test binary.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    pub(crate) name: String,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) elapsed: Duration,
}

impl Tally {
    /// Takes one line of output. Lines that count nothing are passed over.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(name) = announced(line) {
            self.lost_binary();
            self.current = Some((name, Instant::now()));
        } else if let Some([passed, failed, ignored]) = counted(line) {
            self.passed += passed;
            self.failed += failed;
            self.ignored += ignored;
            self.keep(passed, failed);
        }
    }

    /// Ends the reading: a binary that was announced and never counted died, and that is a failure.
    pub(crate) fn finish(&mut self) {
        self.lost_binary();
    }

    fn lost_binary(&mut self) {
        if self.current.is_some() {
            self.failed += 1;
            self.keep(0, 1);
        }
    }

    fn keep(&mut self, passed: u64, failed: u64) {
        let (name, since) = self.current.take().unwrap_or_else(|| ("?".to_owned(), Instant::now()));
        self.binaries.push(Binary { name, passed, failed, elapsed: since.elapsed() });
    }
}

/// `     Running tests/x.rs (target/debug/deps/x-1a2b)` or `   Doc-tests dcli_core`.
fn announced(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(library) = line.strip_prefix("Doc-tests ") {
        return Some(format!("documentation of {library}"));
    }
    let (source, binary) = line.strip_prefix("Running ")?.split_once(" (")?;
    let file = binary.strip_suffix(')')?.rsplit('/').next()?;
    let (stem, _hash) = file.rsplit_once('-')?;
    Some(if source.starts_with("unittests") { format!("{stem} (unit)") } else { stem.to_owned() })
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`.
fn counted(line: &str) -> Option<[u64; 3]> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some([count("passed")?, count("failed")?, count("ignored")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.31s";

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally.finish();
        tally
    }

    #[test]
    fn counts_are_summed_over_binaries_under_their_names() {
        let one = "     Running unittests src/lib.rs (target/debug/deps/dcli_core-0123abcd)";
        let two = "     Running tests/decode-all.rs (/t/debug/deps/decode_all-99)";
        let ok = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let tally = tally(&[one, "running 3 tests", ok, two, SUM, "   Doc-tests dcli_core", ok]);
        assert_eq!((tally.passed, tally.failed, tally.ignored), (13, 2, 1));
        let names: Vec<_> = tally.binaries.iter().map(|binary| binary.name.as_str()).collect();
        assert_eq!(names, ["dcli_core (unit)", "decode_all", "documentation of dcli_core"]);
    }

    #[test]
    fn a_binary_that_died_before_it_counted_is_a_failure() {
        let died = "     Running tests/x.rs (target/debug/deps/x-1)";
        assert_eq!(tally(&[died]).failed, 1);
        assert_eq!(tally(&[died, died, SUM]).failed, 3);
    }

    #[test]
    fn other_lines_count_nothing() {
        let lines = ["test a ... ok", "my test result: ok. 9 passed", "Running late", ""];
        let tally = tally(&lines);
        assert_eq!((tally.passed, tally.failed, tally.binaries.len()), (0, 0, 0));
    }
}
