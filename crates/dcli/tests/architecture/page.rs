//! What ARCHITECTURE.md says: the import table, and one line a module.

use std::collections::{BTreeMap, BTreeSet};

/// The page, read.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Module → what it may name, as `core` or `contain::entry`.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// Every listed file, relative to the root.
    pub(crate) files: BTreeSet<String>,
    /// Files that are listed twice, or without a word about them.
    pub(crate) faults: Vec<String>,
}

const TABLE_HEAD: &str = "| module | may import |";

impl Page {
    /// Reads the page. A list of files stands below a heading that names their directory.
    pub(crate) fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut directory = "";
        let mut in_table = false;
        for line in text.lines() {
            if line.starts_with('#') {
                directory = quoted(line).next().unwrap_or_default();
            }
            if let (false, Some(entry)) = (directory.is_empty(), line.strip_prefix("- `")) {
                page.list(directory, entry);
            }
            in_table = line.starts_with('|') && (in_table || line == TABLE_HEAD);
            if in_table {
                page.row(line);
            }
        }
        page
    }

    fn list(&mut self, directory: &str, entry: &str) {
        let (file, said) = entry.split_once('`').unwrap_or((entry, ""));
        let file = format!("{directory}/{file}");
        if said.trim_matches([':', ' ']).len() < 10 {
            self.faults.push(format!("{file} is listed without a word about it"));
        }
        if !self.files.insert(file.clone()) {
            self.faults.push(format!("{file} is listed twice"));
        }
    }

    fn row(&mut self, line: &str) {
        let mut cells = line.trim_matches('|').splitn(2, '|');
        let (Some(modules), Some(allowed)) = (cells.next(), cells.next()) else { return };
        let allowed: Vec<String> = quoted(allowed).map(str::to_owned).collect();
        for module in quoted(modules) {
            self.imports.insert(module.to_owned(), allowed.clone());
        }
    }

    /// Whether the table lets `module` name `path`, which starts with the name of a module.
    pub(crate) fn allows(&self, module: &str, path: &[String]) -> bool {
        let allowed = self.imports.get(module).map(Vec::as_slice).unwrap_or_default();
        allowed.iter().any(|entry| {
            let entry: Vec<&str> = entry.split("::").collect();
            path.len() >= entry.len() && entry.iter().zip(path).all(|(a, b)| a == b)
        })
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n| module | may import |\n|---|---|\n| `main` | `cli`, `contain::entry` |\n\
        | `job`, `exec` | `core` |\n| `core` | nothing |\n\n| other | table |\n|---|---|\n| `x` | `y` |\n\n\
        ## `crates/core/src`\n- `exit.rs`: exit codes, one table\n- `exit.rs`: exit codes, again\n- `mute.rs`:\n";

    fn path(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn the_table_allows_what_it_names_and_nothing_else() {
        let page = Page::read(PAGE);
        assert_eq!(page.imports.keys().collect::<Vec<_>>(), ["core", "exec", "job", "main"]);
        assert!(
            page.allows("main", &path("cli::main")) && page.allows("main", &path("contain::entry"))
        );
        assert!(
            !page.allows("main", &path("contain::start")) && !page.allows("main", &path("contain"))
        );
        assert!(page.allows("exec", &path("core::exit")) && page.allows("job", &path("core")));
        assert!(!page.allows("core", &path("exec")) && !page.allows("unknown", &path("core")));
    }

    #[test]
    fn a_file_without_a_word_or_listed_twice_is_a_fault() {
        let page = Page::read(PAGE);
        assert!(page.files.contains("crates/core/src/exit.rs"));
        assert_eq!(page.faults.len(), 2, "{:?}", page.faults);
    }
}
