//! Paths: how they are written, what they refuse, what they find.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dcli_core::decode::{Path, PathError};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

#[test]
fn a_path_finds_own_keys_and_elements() {
    let value =
        json!({"a": {"b": [{"c": 1}, {"c": 2}]}, "x.y": 3, "0": 4, "*": 5, "back\\slash": 6});
    let found = |text: &str| path(text).get(&value).cloned();
    assert_eq!(found("a.b.1.c"), Some(json!(2)));
    assert_eq!(found("x\\.y"), Some(json!(3)));
    assert_eq!(found("0"), Some(json!(4)));
    assert_eq!(found("\\*"), Some(json!(5)));
    assert_eq!(found("back\\\\slash"), Some(json!(6)));
    assert_eq!(found("a.b.2.c"), None);
    assert_eq!(found("a.b.01.c"), None);
    assert_eq!(found("x.y"), None);
    assert_eq!(found("a.b.length"), None);
}

#[test]
fn a_star_matches_each_element_and_never_a_key() {
    let value = json!({"list": [{"n": 1}, 7, {"n": 2}], "map": {"k": 1}});
    assert_eq!(path("list.*.n").get_all(&value), [&json!(1), &json!(2)]);
    assert_eq!(path("list.*.n").get(&value), Some(&json!(1)));
    assert_eq!(path("map.*").get_all(&value), Vec::<&serde_json::Value>::new());
    assert_eq!(path("map.*").get(&value), None);
}

#[test]
fn what_could_never_match_is_refused_by_name() {
    let refused = |text: &str| text.parse::<Path>().unwrap_err();
    assert_eq!(refused(""), PathError::Empty);
    for (text, position) in [(".", 1), ("a..b", 2), ("a.", 2), (".a", 1)] {
        let error = refused(text);
        assert_eq!(error, PathError::EmptySegment { path: text.to_owned(), position });
        assert!(error.to_string().contains(text), "{error}");
    }
    for text in ["a\\b", "a\\"] {
        assert_eq!(refused(text), PathError::BadEscape { path: text.to_owned() });
    }
    let deep = vec!["a"; 65].join(".");
    assert_eq!(refused(&deep), PathError::TooDeep { path: deep });
}

#[derive(Debug, Deserialize)]
struct Field {
    result: Path,
}

#[test]
fn a_path_is_a_field_of_a_toml_file_and_its_refusal_names_it() {
    let field: Field = toml::from_str("result = 'a.b\\.c'").unwrap();
    assert_eq!(field.result, path("a.b\\.c"));
    let error = toml::from_str::<Field>("result = 'a..c'").unwrap_err().to_string();
    assert!(error.contains("segment 2 of path `a..c` is empty"), "{error}");
}

proptest! {
    #[test]
    fn a_path_of_any_keys_reads_back_as_it_was_written(
        keys in prop::collection::vec("[a.*\\\\0-9é]{1,5}", 1..6),
    ) {
        let escape = |key: &String| {
            let escaped = key.replace('\\', "\\\\").replace('.', "\\.");
            if escaped == "*" { "\\*".to_owned() } else { escaped }
        };
        let text = keys.iter().map(escape).collect::<Vec<_>>().join(".");
        let read = path(&text);
        prop_assert_eq!(read.segments().len(), keys.len());
        prop_assert_eq!(read.to_string(), text);
        let mut value = json!("leaf");
        for key in keys.iter().rev() {
            value = json!({ key.clone(): value });
        }
        prop_assert_eq!(read.get(&value), Some(&json!("leaf")));
        let stored = serde_json::to_string(&read).unwrap();
        prop_assert_eq!(serde_json::from_str::<Path>(&stored).unwrap(), read);
    }

    #[test]
    fn whatever_is_read_as_a_path_prints_as_the_same_path(text in "[ab.*\\\\0]{0,12}") {
        if let Ok(read) = text.parse::<Path>() {
            prop_assert_eq!(read.to_string().parse::<Path>().unwrap(), read);
        }
    }
}
