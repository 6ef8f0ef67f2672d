//! What a test saw, as one line in a file, so that a report can name the evidence behind each
//! line of a must-show list, and notice the line that nobody showed.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Environment variable that names the file. Without it no evidence is kept.
pub const EVIDENCE_VARIABLE: &str = "DCLI_EVIDENCE";

/// One observation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The must-show line it belongs to, as `3`.
    pub line: String,
    /// The real CLI it was seen with, as `claude-2.1.197`; `None` where none took part.
    pub cli: Option<String>,
    /// The user the program ran as.
    pub uid: Option<u32>,
    /// How the run ended, as `cancel`, `deadline`, `normal`, `kill -9`.
    pub ending: Option<String>,
    /// The test, or the part of it, that looked.
    pub check: String,
    /// What was seen, in words or numbers.
    pub observed: String,
    /// Whether what was seen is a failure.
    pub red: bool,
    /// Whether the protection under test was switched off, so that the row has to be red.
    pub disabled: bool,
}

impl Row {
    /// A row that starts with its line and its check.
    pub fn of(line: &str, check: &str) -> Self {
        Self { line: line.to_owned(), check: check.to_owned(), ..Self::default() }
    }

    /// Appends the row to the file named by [`EVIDENCE_VARIABLE`], if there is one.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub fn keep(&self) -> io::Result<()> {
        match std::env::var_os(EVIDENCE_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => self.append(Path::new(&path)),
            None => Ok(()),
        }
    }

    /// Appends the row to a file with a single write, so that rows of several processes do not mix.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        let line = serde_json::to_string(self)? + "\n";
        let mut file = File::options().create(true).append(true).open(path)?;
        let written = file.write(line.as_bytes())?;
        if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Reads all rows of a file.
    ///
    /// # Errors
    /// When it cannot be read, or a line is no row.
    pub fn load(path: &Path) -> io::Result<Vec<Self>> {
        let text = std::fs::read_to_string(path)?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Row;

    #[test]
    fn rows_of_many_writers_stay_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let long = "ä".repeat(5000);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let row = Row { observed: long.clone(), ..Row::of("3", &writer.to_string()) };
                let path = file.path();
                scope.spawn(move || (0..20).for_each(|_| row.append(path).unwrap()));
            }
        });
        let rows = Row::load(file.path()).unwrap();
        assert_eq!(rows.len(), 160);
        assert!(rows.iter().all(|row| row.observed == long && row.line == "3"));
    }
}
