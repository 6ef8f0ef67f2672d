//! The page of results in docs/.

use std::fmt::Write as _;

use super::figure::Figure;
use super::{machine, seal};

const HEAD: &str = "\
# Benchmarks

Every number on this page was written by `cargo xtask bench`; none is typed by hand. The spread is
the median absolute deviation. A target is held against the median. STREAM, CAT, SH, YES,
STALLED and HOSTILE stand for generated files: a stream of records, and records of backends that
print a file, run a shell line, print one record for ever, say one thing and stall, or are a hostile
tree of processes (sessions of their own, double forks, ignored signals, respawning, outputs held
open).
";

const COLUMNS: &str = "\
| what | command | samples | median | p90 | spread | target | met |
|---|---|---|---|---|---|---|---|
";

/// The page while it is made.
pub(super) struct Page {
    text: String,
    figures: Vec<Figure>,
}

impl Page {
    pub(super) fn begin() -> Self {
        let machine = format!("\nMachine: {}.\n", machine::described());
        Self { text: format!("{HEAD}{machine}"), figures: Vec::new() }
    }

    /// Adds a table, and prints its rows: somebody waits.
    pub(super) fn section(&mut self, title: &str, figures: Vec<Figure>) {
        self.title(title);
        self.text.push_str(COLUMNS);
        for figure in figures {
            let row = figure.row();
            println!("{row}");
            self.text.push_str(&row);
            self.text.push('\n');
            self.figures.push(figure);
        }
    }

    /// Says what was not measured.
    pub(super) fn left_out(&mut self, title: &str, reason: &str) {
        println!("NOT MEASURED: {title}: {reason}");
        self.title(title);
        self.line(format_args!("Not measured: {reason}."));
    }

    /// The whole page, with the digest that ends it.
    pub(super) fn sealed(&self) -> String {
        seal::sealed(&self.text)
    }

    pub(super) fn into_figures(self) -> Vec<Figure> {
        self.figures
    }

    fn title(&mut self, title: &str) {
        self.line(format_args!("\n## {title}\n"));
        let load = machine::load();
        self.line(format_args!("Load of the last minute after measuring: {load}.\n"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::Target;
    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn the_page_names_what_was_not_measured() {
        let mut page = Page::begin();
        page.section(
            "One",
            vec![Figure {
                what: "x".into(),
                command: "y".into(),
                unit: "ms",
                sample: Sample::of([1.0]),
                target: Target::None,
            }],
        );
        page.left_out("Two", "it is not here");
        let sealed = page.sealed();
        let text = seal::opened(&sealed).unwrap();
        assert!(text.contains("\n## One\n") && text.contains("| x | `y` | 1 |"));
        assert!(text.contains("Not measured: it is not here.\n"));
        assert_eq!(page.into_figures().len(), 1);
    }
}
