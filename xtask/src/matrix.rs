//! What a full run has to have observed: must-show line (docs/evidence.md) × check × CLI × user ×
//! ending.
//!
//! Tests keep a row (`dcli_testkit::evidence::Row`) for each cell, under the names used here.
//! A cell behind a protection also needs its control: a row with `disabled` set, taken with the
//! protection switched off in a test build, that came out red. A test that cannot become root
//! keeps no row for root: this table, not the test, says what that means.

mod scripted;

/// A block of cells: every combination of its lists.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The must-show line.
    line: &'static str,
    /// What was looked at.
    check: &'static str,
    clis: &'static [&'static str],
    users: &'static [User],
    endings: &'static [&'static str],
    proof: Proof,
}

/// Who a program ran as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    /// A real one, not root in a namespace: any uid but 0. Root's tests become 65534.
    Ordinary,
    /// Whoever the run is: the row names no uid.
    Whoever,
}

/// What it takes to believe a green cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// What the row itself says it observed.
    Observed,
    /// Also a control, red because the protection was off.
    RedWithout,
}

/// One expected observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) line: &'static str,
    pub(crate) check: &'static str,
    pub(crate) cli: &'static str,
    pub(crate) user: User,
    pub(crate) ending: &'static str,
    pub(crate) proof: Proof,
}

/// Stands for a row's missing CLI or ending: none took part.
pub(crate) const NONE: &str = "-";

/// As `dcli_testkit::clis::CliId::name` has them.
const ALL: &[&str] = &[
    "claude-2.1.197",
    "claude-2.1.332",
    "codex-0.171.0",
    "opencode-1.18.33",
    "qwen-0.15.10",
    "gemini-0.61.0",
];
/// The CLIs that announce work in the background.
const CLAUDE: &[&str] = &["claude-2.1.197", "claude-2.1.332"];
/// The CLIs that go through every verb of jobs, and those that are one job.
const MAIN: &[&str] = &["claude-2.1.197", "claude-2.1.332", "codex-0.171.0"];
const OTHERS: &[&str] = &["opencode-1.18.33", "qwen-0.15.10", "gemini-0.61.0"];
/// The CLIs that jobs drive as a server of their own, and those that can be answered.
const SERVERS: &[&str] = &["opencode-1.18.33"];
const ASKING: &[&str] = &["claude-2.1.197", "claude-2.1.332", "opencode-1.18.33"];
const BOTH: &[User] = &[User::Root, User::Ordinary];
const NORMAL: &[&str] = &["normal"];

/// Lines that no suite shows yet. Their cells are printed as open and do not fail a run; a red row
/// of theirs does. Whoever builds the suite of a line takes it out of here.
pub(crate) const OPEN: &[&str] = &[];

const fn observed(check: &'static str) -> Group {
    Group { line: "2", check, clis: ALL, users: BOTH, endings: NORMAL, proof: Proof::Observed }
}

/// Every block of real CLIs, users and endings that a full run is held to.
const EXPECTED: &[Group] = &[
    observed("text"),
    observed("write-lying-pwd"),
    observed("several-steps"),
    observed("reasoning-hidden"),
    observed("usage-second-figure"),
    observed("large-answer"),
    observed("http-401"),
    observed("http-429"),
    observed("http-500"),
    Group { endings: &["deadline"], ..observed("stalled-model") },
    observed("access-read-only"),
    observed("access-workspace"),
    Group {
        line: "3",
        check: "no-survivor",
        clis: ALL,
        users: BOTH,
        endings: &["normal", "cancel", "deadline", "kill9"],
        proof: Proof::RedWithout,
    },
    Group { line: "5", clis: CLAUDE, ..observed("background-work-stopped") },
    Group { line: "5", clis: CLAUDE, ..observed("background-work-settled") },
    trials("hostile-trials-pid-namespace"),
    trials("hostile-trials-guardian"),
    Group { line: "8", clis: MAIN, ..observed("verbs") },
    Group { line: "8", clis: MAIN, ..observed("session-kept") },
    Group { line: "8", clis: OTHERS, users: &[User::Ordinary], ..observed("one-job") },
    server("server-text"),
    server("server-steps"),
    server("server-large"),
    server("server-http-401"),
    server("server-http-429"),
    server("server-model"),
    server("server-variant"),
    Group { endings: &["cancel"], ..server("server-cancel") },
    server("permission-root"),
    server("permission-child"),
    server("question"),
    server("external-directory"),
    server("doom-loop"),
    server("http-500"),
    server("http-403"),
    Group { endings: &["deadline"], ..server("stall") },
    Group {
        endings: &["normal", "cancel", "deadline", "kill9"],
        proof: Proof::RedWithout,
        ..server("server-no-survivor")
    },
    answered("answers"),
    answered("denied"),
    answered("late"),
    answered("question"),
    answered("policy"),
    control("control-policy"),
    control("control-policy-first"),
    control("control-places"),
    control("control-question-unattended"),
    control("control-question-unattended-15"),
    control("control-answered"),
    control("control-stopped"),
    control("control-stopped-child"),
    control("control-late"),
    control("control-cancelled"),
    control("control-failed"),
    control("control-background"),
    Group { line: "18", users: &[User::Ordinary], ..server("servers-2") },
    Group { line: "18", users: &[User::Ordinary], ..server("servers-10") },
    Group { line: "19", ..server("password-nowhere") },
    Group { line: "19", ..server("foreign-answer") },
    Group { line: "20", users: &[User::Root], ..server("real-line") },
    Group { line: "21", endings: &["kill9"], ..server("worker-killed") },
];

/// Of opencode's server.
const fn server(check: &'static str) -> Group {
    Group { line: "16", clis: SERVERS, ..observed(check) }
}

/// Of claude's control channel, in a process of the test's own.
const fn control(check: &'static str) -> Group {
    Group { line: "17", clis: CLAUDE, users: &[User::Root], ..observed(check) }
}

/// Of those that can be answered.
const fn answered(check: &'static str) -> Group {
    Group { line: "17", clis: ASKING, ..observed(check) }
}

const fn trials(check: &'static str) -> Group {
    let (clis, endings): (&[&str], &[&str]) = (&[NONE], &["random"]);
    Group { line: "3", check, clis, users: BOTH, endings, proof: Proof::RedWithout }
}

/// All that a full run is held to.
pub(crate) fn expected() -> Vec<Cell> {
    cells(EXPECTED).into_iter().chain(scripted::cells()).collect()
}

/// All combinations, in the order of the table.
fn cells(groups: &[Group]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for group in groups {
        for &cli in group.clis {
            cells.extend(group.cells_of(cli));
        }
    }
    cells
}

impl Group {
    fn cells_of(self, cli: &'static str) -> impl Iterator<Item = Cell> {
        let Self { line, check, users, endings, proof, .. } = self;
        users.iter().flat_map(move |&user| {
            endings.iter().map(move |&ending| Cell { line, check, cli, user, ending, proof })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_cell_is_expected_twice() {
        let cells = expected();
        let key = |cell: &Cell| {
            (cell.line, cell.check, cell.cli, format!("{:?}", cell.user), cell.ending)
        };
        let keys: BTreeSet<_> = cells.iter().map(key).collect();
        assert_eq!(keys.len(), cells.len());
    }

    #[test]
    fn the_names_of_the_clis_are_those_of_the_testkit() {
        let known = dcli_testkit::clis::CliId::ALL.map(dcli_testkit::clis::CliId::name);
        assert_eq!(known.as_slice(), ALL);
    }

    #[test]
    fn containment_is_held_to_every_cli_user_and_ending() {
        let survivors = EXPECTED.iter().find(|group| group.check == "no-survivor").unwrap();
        assert_eq!(survivors.proof, Proof::RedWithout);
        assert_eq!(cells(&[*survivors]).len(), 6 * 2 * 4);
    }

    #[test]
    fn an_open_line_is_one_that_is_expected() {
        assert!(OPEN.iter().all(|line| expected().iter().any(|cell| cell.line == *line)));
    }

    #[test]
    fn every_line_of_the_list_has_cells() {
        let lines: BTreeSet<u32> =
            expected().iter().map(|cell| cell.line.parse().unwrap()).collect();
        assert_eq!(
            (1..=15).filter(|line| !lines.contains(line)).collect::<Vec<_>>(),
            Vec::<u32>::new()
        );
    }
}
