//! `cargo xtask bench`: measures what docs/ claims about speed and size, and writes the results
//! there. A number in docs/benchmarks.md that this did not write does not exist.

mod endings;
mod error;
mod figure;
mod jobs;
mod listing;
mod machine;
mod memory;
mod overhead;
mod page;
pub(crate) mod results;
mod sample;
mod scanning;
mod seal;
mod servers;
mod stage;
mod streams;
mod syncs;
mod version;

use std::process::ExitCode;

use dcli_testkit::process::ORDINARY_USER;

use crate::toolchain;
use crate::workspace::Workspace;
use error::{BenchError, Named as _};
use figure::Figure;
use page::Page;
use stage::Stage;

/// The page of results, below the root.
const PAGE: &str = "docs/benchmarks.md";

/// Whether a missed target fails the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It is reported.
    Lenient,
    /// It fails.
    Strict,
}

/// Runs every measurement and writes the results into docs/. What cannot be measured is a failure,
/// never a pass.
pub(crate) fn run(judgement: Judgement) -> ExitCode {
    let figures = match measure() {
        Ok(figures) => figures,
        Err(error) => {
            println!("ERROR: {error}");
            return ExitCode::FAILURE;
        }
    };
    let missed = figures.iter().filter(|figure| figure.is_missed()).count();
    println!("{} figures, {missed} targets missed", figures.len());
    match (judgement, missed) {
        (Judgement::Lenient, _) | (Judgement::Strict, 0) => ExitCode::SUCCESS,
        (Judgement::Strict, _) => ExitCode::FAILURE,
    }
}

fn measure() -> Result<Vec<Figure>, BenchError> {
    let workspace = Workspace::find()?;
    stage::build(&workspace)?;
    let stage = Stage::new(&workspace, None)?;
    let mut page = Page::begin();
    let is_root = toolchain::uid()? == 0;
    page.section("Start of a run", starts(&workspace, &stage, is_root)?);
    page.section("Scanning", scanning::measure(&stage)?);
    page.section("Many events", vec![overhead::events(&stage)?]);
    page.section("Memory", memory::measure(&stage)?);
    page.section("Ending", endings::measure(&stage)?);
    match version::measure(&stage)? {
        Some(figures) => page.section("Version probes", figures.into()),
        None => page.left_out("Version probes", "opencode is not installed: npm ci in clis/"),
    }
    page.section("Jobs", jobs::measure(&stage)?);
    let (count, costs) = syncs::measure(&stage)?;
    page.section("Syncs", count.into_iter().chain(costs).collect());
    match servers::measure(&stage)? {
        Some(figures) => page.section("Servers", figures),
        None => page.left_out("Servers", "opencode is not installed: npm ci in clis/"),
    }
    page.section("Many jobs", listing::measure(&stage)?);
    if !is_root {
        page.left_out("Start of a run as another user", "only root can start it");
    }
    let path = workspace.root.join(PAGE);
    std::fs::write(path, page.sealed()).named("write the results")?;
    Ok(page.into_figures())
}

fn starts(workspace: &Workspace, own: &Stage, root: bool) -> Result<Vec<Figure>, BenchError> {
    let mut figures = overhead::starts(own, if root { "root" } else { "an ordinary user" })?;
    if root {
        let other = Stage::new(workspace, Some(ORDINARY_USER))?;
        figures.extend(overhead::starts(&other, "an ordinary user")?);
    }
    figures.push(overhead::bare(own)?);
    Ok(figures)
}
