//! The rows that tests left behind, one JSON object a line, as the testkit writes them.

use std::path::Path;

use serde::Deserialize;

use crate::error::Error;

/// Names the file for the tests.
pub(crate) const VARIABLE: &str = "DCLI_EVIDENCE";

/// One observation of one test. The meaning of each field is the testkit's `evidence::Row`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) line: String,
    pub(crate) cli: Option<String>,
    pub(crate) uid: Option<u32>,
    pub(crate) ending: Option<String>,
    pub(crate) check: String,
    pub(crate) observed: String,
    pub(crate) red: bool,
    /// The protection was switched off, so the row has to be red.
    pub(crate) disabled: bool,
}

impl Row {
    /// A row that says it saw nothing: no words, or the word that skipped tests write.
    pub(crate) fn is_skipped(&self) -> bool {
        let observed = self.observed.trim();
        let begins = observed.get(..7).unwrap_or(observed);
        observed.is_empty() || begins.eq_ignore_ascii_case("skipped")
    }
}

/// Empties the file before a run, so that no row of an earlier one counts.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn clear(path: &Path) -> Result<(), Error> {
    std::fs::write(path, b"").map_err(|source| Error::File {
        operation: "empty",
        path: path.to_owned(),
        source,
    })
}

/// Adds a row of this program's own.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn keep(row: &dcli_testkit::evidence::Row, path: &Path) -> Result<(), Error> {
    row.append(path).map_err(|source| Error::File {
        operation: "write",
        path: path.to_owned(),
        source,
    })
}

/// Reads all rows of a run.
///
/// # Errors
/// When the file cannot be read, or a line of it is no row.
pub(crate) fn load(path: &Path) -> Result<Vec<Row>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::File {
        operation: "read",
        path: path.to_owned(),
        source,
    })?;
    let row = |line| {
        serde_json::from_str(line)
            .map_err(|source| Error::Shape { what: format!("the evidence row {line}"), source })
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_testkit_are_read_as_they_were_meant() {
        let file = tempfile::NamedTempFile::new().unwrap();
        clear(file.path()).unwrap();
        let mut row = dcli_testkit::evidence::Row::of("3", "no-survivor");
        row.append(file.path()).unwrap();
        row.cli = Some("codex-0.171.0".to_owned());
        row.uid = Some(65534);
        row.ending = Some("cancel".to_owned());
        row.observed = "2 survivors".to_owned();
        (row.red, row.disabled) = (true, true);
        row.append(file.path()).unwrap();
        let rows = load(file.path()).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].is_skipped() && rows[0].cli.is_none() && !rows[0].disabled);
        let read = &rows[1];
        assert_eq!(
            (read.line.as_str(), read.check.as_str(), read.uid),
            ("3", "no-survivor", Some(65534))
        );
        assert_eq!(read.ending.as_deref(), Some("cancel"));
        assert!(read.red && read.disabled && !read.is_skipped());
    }

    #[test]
    fn a_line_that_is_no_row_is_an_error_and_not_a_missing_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"line\": \"3\"}\n").unwrap();
        assert!(matches!(load(file.path()), Err(Error::Shape { .. })));
    }

    #[test]
    fn clearing_forgets_the_rows_of_an_earlier_run() {
        let file = tempfile::NamedTempFile::new().unwrap();
        dcli_testkit::evidence::Row::of("3", "old").append(file.path()).unwrap();
        clear(file.path()).unwrap();
        assert!(load(file.path()).unwrap().is_empty());
    }
}
