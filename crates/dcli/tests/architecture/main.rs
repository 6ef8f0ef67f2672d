//! The tree against its own page: ARCHITECTURE.md says which module may name which, and has one
//! line a module; these tests read the code and compare. Each rule is itself tested with a small
//! tree that breaks it, in `rules_tests.rs`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what reads the tree may fail its test")]

mod page;
mod rules;
mod source;

use std::path::{Path, PathBuf};

use page::Page;
use source::{Source, sources};

/// Where the listed modules live.
const TREES: [&str; 5] =
    ["crates/core/src", "crates/contain/src", "crates/dcli/src", "crates/testkit/src", "xtask/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn tree() -> Vec<Source> {
    let root = root();
    let tree: Vec<Source> = TREES.iter().flat_map(|below| sources(&root, below)).collect();
    let empty =
        TREES.iter().find(|below| !tree.iter().any(|source| source.path.starts_with(**below)));
    assert_eq!(empty, None, "a tree without sources would pass every rule");
    tree
}

fn page() -> Page {
    let page = Page::read(&std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap());
    assert!(page.imports.len() > 5, "the import table was not found: {page:?}");
    page
}

fn none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn modules_import_only_what_the_table_allows() {
    none(&rules::imports(&tree(), &page()));
}

#[test]
fn every_row_of_the_table_is_a_module() {
    none(&rules::idle_rows(&tree(), &page()));
}

#[test]
fn every_module_has_its_line_and_every_line_its_module() {
    none(&rules::listing(&tree(), &page()));
}

#[test]
fn unsafe_code_lives_in_contain_alone() {
    let root = root();
    let everything: Vec<Source> =
        ["crates", "xtask"].iter().flat_map(|below| sources(&root, below)).collect();
    none(&rules::unsafe_code(&everything));
}

#[test]
fn core_names_no_effect_and_no_clock() {
    none(&rules::impurity(&tree()));
}

#[test]
fn core_is_linted_by_a_configuration_of_its_own() {
    let lints = std::fs::read_to_string(root().join("crates/core/clippy.toml")).unwrap();
    for path in [
        "std::fs::File",
        "std::process::Command",
        "std::net::TcpStream",
        "std::time::Instant",
        "std::time::SystemTime",
        "std::env::var",
        "std::thread::spawn",
    ] {
        assert!(lints.contains(&format!("{{ path = \"{path}\"")), "{path} is not disallowed");
    }
}

#[test]
fn no_file_is_longer_than_can_be_read_at_once() {
    none(&rules::length(&tree()));
}

#[test]
fn types_and_modules_are_named_after_the_domain() {
    none(&rules::names(&tree()));
}

#[test]
fn nothing_above_the_backends_branches_on_the_name_of_one() {
    none(&rules::vendor_branches(&tree()));
}
