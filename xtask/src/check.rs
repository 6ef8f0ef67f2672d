//! `cargo xtask check`: everything that CI runs, one suite after another, none of them silently
//! left out. Later suites run although earlier ones failed, so that one run tells all.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::bench::results;
use crate::error::Error;
use crate::suite::Report;
use crate::tally::Tally;
use crate::verdict::{self, Count, Terms};
use crate::workspace::{IntegrationTests, Workspace};
use crate::{checkout, command, demo, deny, evidence, matrix, npm, packages, reach, toolchain};

/// Turns every skip of a test into its failure.
const REQUIRE_ALL: &str = "DCLI_REQUIRE_ALL";
/// Turns a missing CLI into a failure.
const REQUIRE_CLIS: &str = "DCLI_REQUIRE_CLIS";
const QUICK: &str = "--quick leaves it out, and it proves nothing";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What CI runs.
    Full,
    /// Without network, real CLIs, or evidence.
    Quick,
}

/// Runs the suites. Fails if one of them does.
pub(crate) fn run(extent: Extent) -> ExitCode {
    let workspace = match Workspace::find() {
        Ok(workspace) => workspace,
        Err(error) => {
            println!("ERROR: {error}\n\n0 passed, 1 failed");
            return ExitCode::FAILURE;
        }
    };
    if extent == Extent::Full
        && let Some(code) = reach::check_elsewhere(&workspace.root)
    {
        return code;
    }
    let mut check = Check { extent, workspace, report: Report::new() };
    check.static_suites();
    check.installations();
    if check.build() {
        check.pages();
        check.tests();
        check.evidence();
    }
    check.report.close()
}

/// Judges the rows that an earlier run left in `file`.
pub(crate) fn evidence(file: &Path) -> ExitCode {
    match judge(file) {
        Ok(Count { shown, open, .. }) => {
            println!("{shown} cells shown, {open} open");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Check {
    extent: Extent,
    workspace: Workspace,
    report: Report,
}

impl Check {
    fn static_suites(&mut self) {
        let workspace = &self.workspace;
        self.report.run("toolchain", toolchain::print);
        self.report.run("format", || command::run(workspace.cargo().args(["fmt", "--check"])));
        self.report.run("package ceiling", || packages::check(&workspace.root));
        let lint = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        self.report.run("lints", || command::run(workspace.cargo().args(lint)));
    }

    fn installations(&mut self) {
        let workspace = &self.workspace;
        if self.extent == Extent::Quick {
            self.report.leave_out("licences, bans, sources", QUICK);
            self.report.leave_out("real CLIs", QUICK);
            self.report.leave_out("schema validator", QUICK);
            return;
        }
        self.report.run("licences, bans, sources", || deny::check(workspace));
        self.report.run("real CLIs", || npm::install(&workspace.root.join("clis")));
        self.report.run("schema validator", || npm::install(&workspace.root.join("schemas")));
    }

    /// Everything is built once, and then run in parts, so that each part has its own time. Rows
    /// of an earlier run are forgotten first.
    fn build(&mut self) -> bool {
        let (workspace, rows) = (&self.workspace, self.rows());
        let built = self.report.run("build of all tests", || {
            evidence::clear(&rows)?;
            command::run(workspace.cargo().args(["test", "--workspace", "--no-run", "--locked"]))
        });
        if !built {
            let blocked = || Err(Error::Blocked("the build of all tests"));
            self.report.run("tests and evidence", blocked);
        }
        built
    }

    /// What no test looks at: the checkout, the README's first command, the results in docs/.
    fn pages(&mut self) {
        let (workspace, rows) = (&self.workspace, self.rows());
        self.report.run("checkout", || checkout::show(&workspace.root, &rows));
        self.report.run("demo", || demo::show(workspace, &rows));
        self.report.run("results of the bench", || results::show(&workspace.root, &rows));
    }

    fn tests(&mut self) {
        let IntegrationTests { scripted, live } = self.workspace.integration_tests();
        self.test("unit tests", &words(&["--lib", "--bins", "--examples"]));
        self.test("scripted tests", &named(&scripted));
        match self.extent {
            Extent::Quick => self.report.leave_out("live tests", QUICK),
            Extent::Full => self.test("live tests", &named(&live)),
        }
        self.test("documentation tests", &words(&["--doc"]));
    }

    fn test(&mut self, name: &'static str, targets: &[String]) {
        if targets.is_empty() {
            // Without a target cargo would run every test there is.
            self.report.run(name, || Err(Error::NoTest));
            return;
        }
        let mut cargo = self.workspace.cargo_for_tests();
        cargo.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(targets);
        cargo.env(evidence::VARIABLE, self.rows());
        if self.extent == Extent::Full {
            cargo.env(REQUIRE_ALL, "1").env(REQUIRE_CLIS, "1");
        }
        let extent = self.extent;
        self.report.run_tests(name, |tally| count(&mut cargo, extent, tally));
    }

    fn evidence(&mut self) {
        if self.extent == Extent::Quick {
            self.report.leave_out("evidence", QUICK);
            return;
        }
        let rows = self.rows();
        let mut count = Count::default();
        self.report.run("evidence", || {
            count = judge(&rows)?;
            Ok(())
        });
        let Count { shown, open, .. } = count;
        if open > 0 {
            self.report.note(format!(
                "NOT ALL SHOWN: {open} cells of the evidence table are open, {shown} shown"
            ));
        }
    }

    fn rows(&self) -> PathBuf {
        self.workspace.target.join("evidence.jsonl")
    }
}

fn count(cargo: &mut Command, extent: Extent, tally: &mut Tally) -> Result<(), Error> {
    let ended = command::follow(cargo, |line| tally.read(line));
    tally.finish();
    ended?;
    match (extent, tally.passed, tally.ignored) {
        (_, 0, _) => Err(Error::NoTest),
        (Extent::Full, _, ignored) if ignored > 0 => Err(Error::Ignored(ignored)),
        _ => Ok(()),
    }
}

fn judge(rows: &Path) -> Result<Count, Error> {
    let root = toolchain::uid()? == 0;
    let require_all = is_set("CI", "true") || is_set(REQUIRE_ALL, "1");
    let terms = Terms { open: matrix::OPEN, root, require_all };
    verdict::print(&matrix::expected(), &evidence::load(rows)?, terms)
}

fn is_set(variable: &str, value: &str) -> bool {
    std::env::var(variable).is_ok_and(|found| found == value)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn named(tests: &[String]) -> Vec<String> {
    tests.iter().flat_map(|test| ["--test".to_owned(), test.clone()]).collect()
}
