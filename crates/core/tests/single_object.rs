//! One object at the end of a run, among noise: which one counts, and how long it takes to find.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::sync::Arc;

use dcli_core::executor::{Catalogue, Scan, Scanner, Source};

const RECORD: &str = include_str!("../../dcli/tests/records/unseen-single.toml");
const ANSWER: &str = r#"{"answer":[0,{"text":"yes"}],"meta":{"v":2}}"#;

fn scan(text: &str) -> Scan {
    let mut catalogue = Catalogue::shipped().unwrap();
    catalogue.add(RECORD, Source::File, "test").unwrap();
    let record = Arc::clone(&catalogue.find("unseen-single").unwrap().record);
    let mut scanner = Scanner::new(record, 1 << 26);
    scanner.push(text.as_bytes(), |_| {});
    scanner.finish(|_| {})
}

#[test]
fn the_object_is_found_behind_noise_that_looks_like_one() {
    for noise in ["", "warning\n", "{not json\n", "{\n", "{}x\n", "a {\n{\"a\" 1}\n"] {
        let found = scan(&format!("{noise}{ANSWER}\n"));
        let expected = if noise == "{}x\n" { None } else { Some("yes") };
        assert_eq!(found.answer(), expected, "{noise:?}");
    }
}

#[test]
fn an_object_inside_one_that_is_cut_is_no_answer() {
    let found = scan(&format!("{{\"items\":[\n{ANSWER},\n{ANSWER}\n"));
    assert_eq!((found.answer(), found.cut), (None, true));
}

/// Read anew from each beginning, this takes minutes.
#[test]
fn noise_without_end_is_read_in_linear_time() {
    let nested = "{\"a\":[\n".repeat(2_000_000);
    assert!(scan(&nested).cut);
}
