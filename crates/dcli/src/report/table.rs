//! Tables for people: aligned columns, foreign text made printable, colour where it is wanted.

use super::human::printable;
use super::paint::{Paint, Tone};

/// The longest cell, in characters.
const LONGEST: usize = 400;
/// Between two columns.
const GAP: usize = 2;

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell in a tone.
    #[must_use]
    pub fn toned(text: &str, tone: Tone) -> Self {
        Self { text: printable(text, LONGEST), tone }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Rows under a head of `N` columns.
#[derive(Debug, Clone)]
pub struct Table<const N: usize> {
    rows: Vec<[Cell; N]>,
    paint: Paint,
}

impl<const N: usize> Table<N> {
    /// An empty table for standard output.
    #[must_use]
    pub fn new(head: [&str; N]) -> Self {
        let head = head.map(|title| Cell::toned(title, Tone::Dim));
        Self { rows: vec![head], paint: Paint::for_stdout() }
    }

    /// The same, painted or not whatever standard output is.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: [C; N]) {
        self.rows.push(cells.map(Into::into));
    }

    /// Whether there is no row under the head.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The lines, each ended; no line ends in blanks.
    #[must_use]
    pub fn text(&self) -> String {
        let widths: [usize; N] = std::array::from_fn(|column| {
            self.rows.iter().map(|row| row[column].width()).max().unwrap_or_default()
        });
        self.rows.iter().map(|row| self.line(row, &widths)).collect()
    }

    fn line(&self, row: &[Cell; N], widths: &[usize; N]) -> String {
        let filled = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |at| at + 1);
        let mut line = String::new();
        for (at, cell) in row[..filled].iter().enumerate() {
            line.push_str(&self.paint.tone(&cell.text, cell.tone));
            if at + 1 < filled {
                line.extend(std::iter::repeat_n(' ', widths[at] - cell.width() + GAP));
            }
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_where_their_text_does() {
        let mut table = Table::new(["ID", "STATE", "NOTE"]).painted(Paint::OFF);
        table.row(["a", "done", ""]);
        table.row(["longer", "ä", "x"]);
        assert_eq!(table.text(), "ID      STATE  NOTE\na       done\nlonger  ä      x\n");
    }

    #[test]
    fn foreign_text_stays_in_its_cell() {
        let mut table = Table::new(["A", "B"]).painted(Paint::OFF);
        table.row(["x\ny\u{1b}[31m", "z"]);
        assert_eq!(table.text(), "A         B\nx y·[31m  z\n");
        assert!(!table.is_empty());
    }
}
