//! Every rule against a small tree that breaks it, and one that keeps it.

use super::*;

const TABLE: &str = "| module | may import |\n|---|---|\n| `main` | `cli`, `contain::entry` |\n\
    | `cli` | `exec`, `core` |\n| `exec` | `store`, `contain`, `core` |\n| `store` | `core` |\n\
    | `core` | nothing |\n| `contain` | nothing |\n";

fn violations(path: &str, text: &str) -> Vec<String> {
    imports(&[Source::of(path, text)], &Page::read(TABLE))
}

#[test]
fn an_import_beyond_the_table_is_found_however_it_is_written() {
    let upwards = [
        "use crate::cli::Arguments;",
        "use crate::{store, cli};",
        "use super::super::cli::Arguments;",
        "fn f() { crate::cli::main(); }",
        "fn f() { println!(\"{}\", crate::cli::NAME); }",
        "use dcli::cli;",
    ];
    for text in upwards {
        assert_eq!(violations("crates/dcli/src/exec/run.rs", text).len(), 1, "{text}");
    }
    assert_eq!(violations("crates/core/src/exit.rs", "use dcli_contain::Kind;").len(), 1);
    assert_eq!(violations("crates/contain/src/lib.rs", "use dcli_core::exit;").len(), 1);
    assert_eq!(violations("crates/dcli/src/store/mod.rs", "use dcli_contain::Kind;").len(), 1);
    assert_eq!(violations("crates/dcli/src/main.rs", "use dcli::contain::start;").len(), 1);
    assert_eq!(violations("crates/dcli/src/exec/mod.rs", "use dcli_testkit::room;").len(), 1);
}

#[test]
fn an_import_within_the_table_is_left_alone() {
    let text =
        "use crate::store::S; use super::prepare; use crate::model::exit; use dcli_contain::Kind;";
    assert!(violations("crates/dcli/src/exec/run.rs", text).is_empty());
    let text = "fn main() { dcli::contain::entry(); dcli::cli::main(); }";
    assert!(violations("crates/dcli/src/main.rs", text).is_empty());
    let text = "#[cfg(test)] mod tests { use crate::cli::X; }";
    assert!(violations("crates/dcli/src/exec/run.rs", text).is_empty());
    assert!(violations("crates/dcli/src/exec/tests.rs", "use crate::cli::X;").is_empty());
}

#[test]
fn a_module_without_a_row_is_found_and_so_is_a_row_without_a_module() {
    assert_eq!(violations("crates/dcli/src/worktree/mod.rs", "").len(), 1);
    let sources =
        [Source::of("crates/dcli/src/cli/mod.rs", ""), Source::of("crates/core/src/lib.rs", "")];
    assert_eq!(idle_rows(&sources, &Page::read(TABLE)).len(), 4);
}

#[test]
fn the_listing_has_to_agree_with_the_tree_both_ways() {
    let page =
        Page::read("## `crates/core/src`\n- `a.rs`: words about it\n- `gone.rs`: words about it\n");
    let sources =
        ["a", "new", "a_tests"].map(|name| Source::of(&format!("crates/core/src/{name}.rs"), ""));
    let found = listing(&sources, &page);
    assert_eq!(
        found,
        ["crates/core/src/new.rs is not listed", "crates/core/src/gone.rs is listed and missing"]
    );
}

#[test]
fn unsafe_code_is_found_everywhere_but_in_contain() {
    let code = "fn f() { if true { unsafe { g() } } }";
    for path in ["crates/contain/src/spawn.rs", "crates/contain/tests/x.rs"] {
        assert!(unsafe_code(&[Source::of(path, code)]).is_empty(), "{path}");
    }
    for path in
        ["crates/dcli/src/exec/run.rs", "crates/testkit/src/x.rs", "crates/container/src/x.rs"]
    {
        assert_eq!(unsafe_code(&[Source::of(path, code)]).len(), 1, "{path}");
    }
    let words = "#![deny(unsafe_code)] // unsafe\nconst A: &str = \"unsafe\";";
    assert!(unsafe_code(&[Source::of("crates/core/src/lib.rs", words)]).is_empty());
}

#[test]
fn effects_and_clocks_in_core_are_found() {
    let guilty = [
        "use std::fs;",
        "use std::{fmt, process::Command};",
        "fn f() { std::env::var(\"A\"); }",
        "use std::net::TcpStream;",
        "use std::thread;",
        "use std::time::{Duration, Instant};",
        "use std::time::SystemTime;",
        "use std::time;",
        "use std::*;",
    ];
    for text in guilty {
        assert_eq!(impurity(&[Source::of("crates/core/src/exit.rs", text)]).len(), 1, "{text}");
        assert!(impurity(&[Source::of("crates/dcli/src/exit.rs", text)]).is_empty());
    }
    let pure = "use std::time::Duration; use std::{fmt, path::Path, io}; #[cfg(test)] mod t { use std::fs; }";
    assert!(impurity(&[Source::of("crates/core/src/exit.rs", pure)]).is_empty());
}

#[test]
fn a_file_of_one_line_too_many_is_found() {
    let file = |lines| Source::of("crates/core/src/exit.rs", &"\n".repeat(lines));
    assert!(length(&[file(LONGEST)]).is_empty());
    assert_eq!(length(&[file(LONGEST + 1)]).len(), 1);
}

#[test]
fn names_that_say_nothing_are_found() {
    for text in [
        "struct JobManager;",
        "mod util {}",
        "mod x { pub trait HttpService {} }",
        "type RunImpl = u8;",
    ] {
        assert_eq!(names(&[Source::of("crates/core/src/a.rs", text)]).len(), 1, "{text}");
    }
    let domain = "struct Utility; enum Served {} fn helper() {} mod manage {} // struct Manager";
    assert!(names(&[Source::of("crates/core/src/a.rs", domain)]).is_empty());
}

#[test]
fn a_branch_on_the_name_of_a_backend_is_found_above_backends_only() {
    let guilty = [
        "fn f(b: &str) -> bool { b == \"codex\" }",
        "fn f(b: &str) -> bool { \"claude\" != b }",
        "fn f(b: &str) { match b { \"opencode\" => {}, _ => {} } }",
        "fn f(b: &str) -> bool { matches!(b, \"claude\" | \"codex\") }",
    ];
    for text in guilty {
        assert_eq!(
            vendor_branches(&[Source::of("crates/dcli/src/exec/run.rs", text)]).len(),
            1,
            "{text}"
        );
        assert!(vendor_branches(&[Source::of("crates/dcli/src/backend/x.rs", text)]).is_empty());
    }
    let default = "const DEFAULT: &str = \"claude\"; fn f() { g(\"codex\") }";
    assert!(vendor_branches(&[Source::of("crates/dcli/src/cli/exec.rs", default)]).is_empty());
}
