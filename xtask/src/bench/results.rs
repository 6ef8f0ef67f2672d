//! What the page of results in docs/ says: read back, and held to what was promised. It measures
//! nothing.

use std::path::Path;

use dcli_testkit::evidence::Row;

use super::{PAGE, seal};
use crate::error::Error;
use crate::evidence;

/// What must be on the page: how a figure's name begins, and the target it was held to.
type Promise = (&'static str, &'static str);

/// Of one-shot runs.
const PROMISED: &[Promise] = &[
    ("exec over a direct start", "≤ 10"),
    ("scan, ", "≥ 400"),
    ("scan, one answer in a line", "≤ 100"),
    ("memory of dcli and its init beside a job", "≤ 8"),
];

/// Of jobs.
const PROMISED_OF_JOBS: &[Promise] = &[
    ("run over a direct start", "≤ 25"),
    ("submit, until its output has ended", "≤ 30"),
    ("status of one of 100000 jobs", "≤ 10"),
    ("list, newest 20 of 100000 jobs of one repository", "≤ 50"),
    ("list, newest 20 of 100000 jobs of 100 repositories", "≤ 50"),
    ("memory of dcli and its init beside a submitted job", "≤ 8"),
    ("syncs of a run", "none"),
    ("one sync here", "none"),
];

/// Of servers.
const PROMISED_OF_SERVERS: &[Promise] = &[
    ("opencode's server, from its start", "none"),
    ("a job of opencode over the same calls by hand", "≤ 1000"),
    ("memory of dcli and its init beside each of ten jobs that wait", "≤ 8"),
];

/// Columns of a figure: its name, its target, and whether that was met.
const COLUMNS: usize = 8;
const TARGET: usize = 6;
const MET: usize = 7;

/// A figure as the page has it.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'p> {
    what: &'p str,
    target: &'p str,
    met: &'p str,
}

/// What is wrong with the page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Its last line is missing, or does not fit what stands above it.
    #[error("{PAGE} is not as the bench wrote it: its digest does not fit")]
    Digest,
    /// The names of the figures that missed their targets.
    #[error("{} targets missed: {}", .0.len(), .0.join("; "))]
    Missed(Vec<String>),
    /// A figure that was promised is not there, or was held to another target.
    #[error("no figure {what:?} that was held to {target}")]
    Absent { what: &'static str, target: &'static str },
}

/// Reads the page and keeps its rows.
///
/// # Errors
/// When it cannot be read, was not written by the bench, lacks a figure that was promised, or a
/// target was missed.
pub(crate) fn show(root: &Path, rows: &Path) -> Result<(), Error> {
    let path = root.join(PAGE);
    let text = std::fs::read_to_string(&path).map_err(|source| Error::File {
        operation: "read",
        path,
        source,
    })?;
    let keep = |line: &str, check: &str, promised: &[Promise]| {
        let read = judged(&text, promised);
        let observed = read.as_ref().map_or_else(ToString::to_string, Clone::clone);
        println!("{check}: {observed}");
        evidence::keep(&Row { observed, red: read.is_err(), ..Row::of(line, check) }, rows)?;
        Ok::<_, Error>(read)
    };
    let runs = keep("6", "benchmarks", PROMISED)?;
    let jobs = keep("13", "benchmarks-of-jobs", PROMISED_OF_JOBS)?;
    let servers = keep("22", "benchmarks-of-servers", PROMISED_OF_SERVERS)?;
    runs.and(jobs).and(servers)?;
    Ok(())
}

/// What is to be said of the page.
fn judged(page: &str, promised: &[Promise]) -> Result<String, Fault> {
    let body = seal::opened(page).ok_or(Fault::Digest)?;
    let entries: Vec<Entry<'_>> = body.lines().filter_map(entry).collect();
    let missed = entries.iter().filter(|entry| entry.is_missed());
    let missed: Vec<String> = missed.map(|entry| entry.what.to_owned()).collect();
    if !missed.is_empty() {
        return Err(Fault::Missed(missed));
    }
    let absent = promised.iter().find(|promise| !is_kept(**promise, &entries));
    if let Some(&(what, target)) = absent {
        return Err(Fault::Absent { what, target });
    }
    let held = entries.iter().filter(|entry| entry.met == "yes").count();
    let unmeasured = body.lines().filter(|line| line.starts_with("Not measured: ")).count();
    let figures = entries.len();
    Ok(format!(
        "{figures} figures, {held} of {held} targets met, {unmeasured} sections not measured, \
         the digest fits"
    ))
}

impl Entry<'_> {
    /// Whatever is neither met nor without a target.
    fn is_missed(&self) -> bool {
        self.met != "yes" && (self.target, self.met) != ("none", "–")
    }
}

fn is_kept((what, target): Promise, entries: &[Entry<'_>]) -> bool {
    entries.iter().any(|entry| entry.what.starts_with(what) && entry.target == target)
}

/// The figure in a row of a table, if it is one.
fn entry(line: &str) -> Option<Entry<'_>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<&str> = inner.split(" | ").collect();
    let is_figure = cells.len() == COLUMNS && cells[0] != "what";
    is_figure.then(|| Entry { what: cells[0], target: cells[TARGET], met: cells[MET] })
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Figure, Target};
    use super::super::sample::Sample;
    use super::*;

    fn figure(what: &str, target: Target, median: f64) -> String {
        let (what, sample) = (what.to_owned(), Sample::of([median]));
        Figure { what, command: "x".to_owned(), unit: "ms", sample, target }.row() + "\n"
    }

    fn body() -> String {
        let scan = "scan, one answer in a line of 21 MB";
        [
            figure("exec over a direct start, guardian", Target::AtMost(10.0), 5.0),
            figure("scan, codex-like", Target::AtLeast(400.0), 500.0),
            figure(scan, Target::AtMost(100.0), 40.0),
            figure("memory of dcli and its init beside a job", Target::AtMost(8.0), 4.0),
            figure("start of dcli alone", Target::None, 1.2),
        ]
        .concat()
    }

    fn wrong(body: &str, word: &str) {
        let why = judged(&seal::sealed(body), PROMISED).unwrap_err().to_string();
        assert!(why.contains(word), "{why}");
    }

    #[test]
    fn a_page_of_the_bench_that_meets_every_target_is_shown_with_its_numbers() {
        let said = judged(&seal::sealed(&body()), PROMISED).unwrap();
        assert!(said.starts_with("5 figures, 4 of 4 targets met, 0 sections"), "{said}");
    }

    #[test]
    fn a_number_typed_by_hand_is_noticed() {
        let typed = seal::sealed(&body()).replace("5.0 ms", "4.0 ms");
        assert!(matches!(judged(&typed, PROMISED), Err(Fault::Digest)));
        assert!(matches!(judged(&body(), PROMISED), Err(Fault::Digest)));
    }

    #[test]
    fn the_page_in_docs_is_as_the_bench_wrote_it() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
        assert!(seal::opened(&std::fs::read_to_string(path).unwrap()).is_some());
    }

    #[test]
    fn what_was_promised_of_jobs_is_asked_for_apart_from_one_shot_runs() {
        let without = judged(&seal::sealed(&body()), PROMISED_OF_JOBS).unwrap_err();
        assert!(without.to_string().contains("run over a direct start"), "{without}");
        let kept = |(what, target): &Promise| match target.split_once(' ') {
            Some((_, most)) => figure(what, Target::AtMost(most.parse().unwrap()), 1.0),
            None => figure(what, Target::None, 1.0),
        };
        let jobs: String = PROMISED_OF_JOBS.iter().map(kept).collect();
        assert!(judged(&seal::sealed(&jobs), PROMISED_OF_JOBS).is_ok());
    }

    #[test]
    fn a_missed_target_is_named() {
        wrong(
            &(body() + &figure("a slow thing", Target::AtMost(1.0), 2.0)),
            "1 targets missed: a slow",
        );
        wrong(&body().replace("| yes |", "| perhaps |"), "4 targets missed");
        wrong(&body().replace("| – |", "|  |"), "start of dcli alone");
    }

    #[test]
    fn a_figure_that_was_promised_is_missed_and_so_is_a_looser_target() {
        let without = |what: &str| -> String {
            body().lines().filter(|line| !line.contains(what)).map(|l| format!("{l}\n")).collect()
        };
        wrong(&without("exec over"), "exec over");
        wrong(&without("codex-like"), "≥ 400");
        wrong(&without("one answer"), "≤ 100");
        wrong(&without("memory"), "memory");
        wrong(&body().replace("≤ 10 ", "≤ 20 "), "held to ≤ 10");
        wrong("", "no figure");
    }
}
