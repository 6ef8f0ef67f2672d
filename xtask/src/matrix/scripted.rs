//! The cells that no real CLI, user or ending is part of: scripted agents through the built binary,
//! and what the run itself looks at. Their rows name a line and a check alone.

use super::{Cell, NONE, Proof, User};

/// Checks of one line that are believed in the same way.
struct Block {
    line: &'static str,
    proof: Proof,
    checks: &'static [&'static str],
}

const BLOCKS: &[Block] = &[
    observed("1", &["demo", "fresh-clone"]),
    observed("4", FIELD),
    ended("4", FIELD_ENDED),
    observed("4", CLAUSES),
    ended("4", CLAUSES_ENDED),
    observed("5", NEVER_OK),
    observed("6", &["benchmarks"]),
    observed("7", BAD_INPUT),
    ended("9", JOBS_KILLED),
    observed("9", JOBS_CUT),
    observed("10", JOBS_CANCELLED),
    ended("11", JOBS_CROWD),
    observed("12", JOBS_WATCHED),
    observed("13", &["benchmarks-of-jobs"]),
    observed("14", JOBS_FIELD),
    observed("17", JOBS_ANSWERED),
    ended("14", JOBS_FIELD_ENDED),
    observed("15", JOBS_BAD_INPUT),
    observed("17", SERVERS_ANSWERED),
    observed("19", &["served-redaction"]),
    observed("20", SERVERS_FAULTY),
    observed("22", &["benchmarks-of-servers"]),
];

/// What a scripted server asks.
const SERVERS_ANSWERED: &[&str] = &["scripted-policy", "scripted-foreign"];
/// A scripted server with each of its faults, and behind bad lines.
const SERVERS_FAULTY: &[&str] = &[
    "scripted-server",
    "scripted-stranger",
    "scripted-negotiation",
    "scripted-retyped",
    "scripted-death",
    "scripted-silence",
    "scripted-deaf",
    "scripted-mute",
    "scripted-lost",
    "scripted-unconfirmed",
    "scripted-events",
    "scripted-provider",
    "scripted-large",
    "scripted-cancel",
    "scripted-line",
];
/// SIGKILL of the worker after each effect.
const JOBS_KILLED: &[&str] = &[
    "killed-before-the-run",
    "killed-during-the-run",
    "killed-after-the-run",
    "killed-foreground",
];
/// The journal cut at every byte, other damage, and jobs that no worker ever had.
const JOBS_CUT: &[&str] = &[
    "journal-cut-done",
    "journal-cut-interrupted",
    "projection-damaged",
    "record-damaged",
    "submit-killed-unpublished",
    "submit-killed-published",
];
/// A cancel in every phase.
const JOBS_CANCELLED: &[&str] = &[
    "cancel-held",
    "cancel-after-completion",
    "cancel-queued",
    "cancel-twice",
    "cancel-signals",
    "cancel-stopped",
    "cancel-race",
];
/// Answers from outside, and backends that take none.
const JOBS_ANSWERED: &[&str] =
    &["scripted-allow", "scripted-last-moment", "scripted-two-at-once", "scripted-not-answerable"];
/// Hundreds of jobs at once.
const JOBS_CROWD: &[&str] = &["crowd", "crowd-killed"];
/// Readers inside a job, in another pid namespace, and in a loop.
const JOBS_WATCHED: &[&str] =
    &["watched-inside", "watched-namespace", "watched-read-only", "watched-loop"];
/// The field notes at job level.
const JOBS_FIELD: &[&str] = &[
    "job-field-06",
    "job-caps-group",
    "job-caps-day",
    "redaction",
    "job-field-09",
    "job-field-10",
    "job-field-11",
    "job-field-12",
    "job-field-13",
    "job-field-14",
    "job-field-15",
    "job-field-17",
    "job-field-18",
    "job-field-19",
    "job-field-20",
    "job-field-25",
    "job-field-26",
    "job-after-reboot",
    "job-silent-worker",
];
/// Those of them that leave processes behind.
const JOBS_FIELD_ENDED: &[&str] = &["job-field-08", "job-field-22", "job-field-23", "job-field-24"];
/// Bad input to the commands over jobs.
const JOBS_BAD_INPUT: &[&str] = &[
    "job-foreign-option",
    "job-require-enforcement",
    "bad-id",
    "unreadable-jobs",
    "unreadable-record",
    "not-terminal",
    "read-failed",
    "bad-arguments",
    "state-root",
    "newer-format",
    "newer-record",
    "disk-full",
    "disk-fills",
    "bad-containment",
    "broken-configuration",
];

/// Each fault of the field notes that a one-shot run can meet.
const FIELD: &[&str] = &[
    "field-01", "field-02", "field-03", "field-04", "field-05", "field-06", "field-09", "field-10",
    "field-11", "field-12", "field-13", "field-14", "field-15", "field-16", "field-17",
];

/// Those that leave processes behind.
const FIELD_ENDED: &[&str] = &["field-07", "field-08", "field-22", "field-23", "field-24"];

/// Each clause for every record.
const CLAUSES: &[&str] = &[
    "clause-exact-argv",
    "clause-command-override",
    "clause-ok-maps-exactly",
    "clause-bom",
    "clause-self-reported-failure",
    "clause-self-reported-failure-class",
    "clause-payload-at-non-zero-exit",
    "clause-non-zero-exit-after-result",
    "clause-cut-output",
    "clause-no-result-shapes",
    "clause-result-without-proof",
    "clause-missing-binary",
    "clause-malformed-record",
    "clause-cancel-after-exit",
    "clause-cancel-then-answer",
    "clause-dash-prompt",
    "clause-trailing-noise",
    "clause-malformed-lines",
    "clause-failure-then-more",
    "clause-failure-after-success",
    "clause-reasoning",
    "clause-recovered-error",
    "clause-background-work",
    "clause-usage-sums",
    "clause-usage-voids",
    "clause-windows",
    "clause-environment-none",
    "clause-environment-all",
    "clause-environment-list",
];

/// Those whose agents leave processes behind.
const CLAUSES_ENDED: &[&str] = &[
    "clause-broken-stdin",
    "clause-cancel-mid-run",
    "clause-cancel-twice",
    "clause-cancel-after-completion",
    "clause-no-orphan-pid-namespace",
    "clause-no-orphan-guardian",
    "clause-no-orphan-process-group",
    "clause-no-orphan-cancel-pid-namespace",
    "clause-no-orphan-cancel-guardian",
    "clause-no-orphan-cancel-process-group",
];

const NEVER_OK: &[&str] = &[
    "no-terminal-record",
    "half-a-last-line",
    "is-error-under-success",
    "opencode-rejected-permission",
    "background-work-stopped",
    "measured-failures",
];

const BAD_INPUT: &[&str] = &[
    "unknown-executor",
    "invalid-record",
    "missing-binary",
    "directory",
    "empty-prompt",
    "argument-bound",
    "not-utf-8",
    "timeout",
    "prompt-file",
    "unwritable",
    "silent-stdin",
    "silent-stdin-beside-words",
    "collision",
    "containment",
    "policy",
    "root-guard",
    "state-root-inside",
    "text-with-events",
    "user-configuration",
];

const fn observed(line: &'static str, checks: &'static [&'static str]) -> Block {
    Block { line, proof: Proof::Observed, checks }
}

const fn ended(line: &'static str, checks: &'static [&'static str]) -> Block {
    Block { line, proof: Proof::RedWithout, checks }
}

/// All of them, in the order of the table.
pub(super) fn cells() -> impl Iterator<Item = Cell> {
    BLOCKS.iter().flat_map(|block| {
        let &Block { line, proof, checks } = block;
        let cell =
            move |&check| Cell { line, check, cli: NONE, user: User::Whoever, ending: NONE, proof };
        checks.iter().map(cell)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The numbers that the must-show list names.
    const NUMBERS: [u32; 20] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 22, 23, 24];

    fn sources() -> String {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dcli/tests/scripted");
        let files = std::fs::read_dir(suite).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|end| end == "rs"));
        files.map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    /// The arguments of every call of `function` that are plain texts, up to the first that is not.
    fn calls<'s>(source: &'s str, function: &str) -> Vec<Vec<&'s str>> {
        let calls = source.split(function).skip(1);
        calls.map(|call| texts(call)).collect()
    }

    fn texts(mut rest: &str) -> Vec<&str> {
        let mut found = Vec::new();
        while let Some((text, more)) =
            rest.trim_start().strip_prefix('"').and_then(|text| text.split_once('"'))
        {
            found.push(text);
            let Some(next) = more.strip_prefix(',') else { break };
            rest = next;
        }
        found
    }

    #[test]
    fn every_number_of_the_field_notes_has_its_cell() {
        let known: BTreeSet<&str> = cells().map(|cell| cell.check).collect();
        let missing = |number: &u32| !known.contains(format!("field-{number:02}").as_str());
        assert_eq!(NUMBERS.into_iter().filter(missing).collect::<Vec<_>>(), Vec::<u32>::new());
        let fields = known.iter().filter(|check| check.starts_with("field-"));
        assert_eq!(fields.count(), NUMBERS.len());
    }

    #[test]
    fn what_leaves_processes_behind_is_proven_by_a_control() {
        let proven = cells().filter(|cell| cell.proof == Proof::RedWithout);
        let proven: BTreeSet<&str> = proven.map(|cell| cell.check).collect();
        for check in ["field-07", "field-22", "field-23", "field-24", "clause-broken-stdin"] {
            assert!(proven.contains(check), "{check}");
        }
        let is_orphan = |check: &&str| check.starts_with("clause-no-orphan");
        assert_eq!(cells().map(|cell| cell.check).filter(is_orphan).count(), 6);
        assert_eq!(proven.iter().copied().filter(is_orphan).count(), 6);
    }

    #[test]
    fn every_row_that_a_scripted_test_keeps_has_its_cell() {
        let known: BTreeSet<(&str, &str)> = cells().map(|cell| (cell.line, cell.check)).collect();
        let sources = sources();
        let shown = calls(&sources, "shown(");
        let shown = shown.iter().filter_map(|texts| Some((*texts.first()?, *texts.get(1)?)));
        let clauses = ["every(", "every_with("].map(|function| calls(&sources, function)).concat();
        let clauses: Vec<String> =
            clauses.iter().filter_map(|call| Some(format!("clause-{}", call.first()?))).collect();
        let clauses = clauses.iter().map(|clause| ("4", clause.as_str()));
        let kept: BTreeSet<(&str, &str)> = shown.chain(clauses).collect();
        assert!(kept.len() > 60, "the calls were not found: {kept:?}");
        let unknown: Vec<_> = kept.difference(&known).collect();
        assert!(unknown.is_empty(), "rows that nobody would miss, add their cells: {unknown:?}");
    }

    #[test]
    fn only_plain_texts_are_read_from_a_call() {
        let source = "x(\"4\",\n \"one\", &two) x(y) fox(\"5\")";
        assert_eq!(calls(source, "x("), [vec!["4", "one"], vec![], vec!["5"]]);
    }
}
