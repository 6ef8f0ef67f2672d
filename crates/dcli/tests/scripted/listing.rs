//! The tests of this program by name, as its sources have them.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

/// The names of all tests here that begin with `prefix`. One that is ignored does not count.
pub(crate) fn tests(prefix: &str) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripted");
    let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let texts = sources.map(|file| std::fs::read_to_string(file).unwrap());
    let named = texts.flat_map(|text| tests_of(&text));
    named.filter(|name| name.starts_with(prefix)).collect()
}

/// The names of the functions in `source` with the attribute `test` and no other.
fn tests_of(source: &str) -> Vec<String> {
    let tokens: Vec<TokenTree> = source.parse::<TokenStream>().unwrap().into_iter().collect();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string() == text);
    let is_test = |at: &usize| is(*at, "#") && is(at + 1, "[test]") && is(at + 2, "fn");
    let is_alone = |at: &usize| *at == 0 || !is(at - 1, "[ignore]");
    let starts = (0..tokens.len()).filter(is_test).filter(is_alone);
    starts.map(|at| tokens[at + 3].to_string()).collect()
}

#[test]
fn only_what_runs_is_listed() {
    let source = "#[test]\nfn one() {}\n#[ignore] #[test] fn two() {}\n#[test] #[ignore] fn three() {}
                  fn four() {}\n// #[test] fn five() {}\n#[test] fn six() { \"#[test] fn seven()\"; }";
    assert_eq!(tests_of(source), ["one", "six"]);
}
