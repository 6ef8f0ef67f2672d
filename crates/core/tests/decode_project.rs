//! Projection: the wanted parts equal those of a full parse, and the whole text is still checked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dcli_core::decode::{Path, ProjectError, Projection};
use proptest::prelude::*;
use serde_json::{Value, json};

fn project(text: &str, wanted: &[&str]) -> Result<Value, ProjectError> {
    let wanted: Vec<Path> = wanted.iter().map(|text| text.parse().unwrap()).collect();
    Projection::new(&wanted).project(text)
}

#[test]
fn only_the_wanted_parts_are_built() {
    let text = r#"{"type":"x","big":{"a":[1,2,3]},"u":{"in":5,"out":6},"deep":{"skip":1}}"#;
    assert_eq!(project(text, &["type", "u.in"]), Ok(json!({"type": "x", "u": {"in": 5}})));
    assert_eq!(project(text, &["deep.none"]), Ok(json!({"deep": {}})));
    assert_eq!(project(text, &["type.deeper"]), Ok(json!({})));
    assert_eq!(project(text, &[]), Ok(json!({})));
}

#[test]
fn a_wanted_leaf_keeps_its_whole_subtree_also_beside_a_longer_path() {
    let text = r#"{"a":{"b":1,"c":[{"d":2}]}}"#;
    for wanted in [["a", "a.b"], ["a.b", "a"]] {
        assert_eq!(project(text, &wanted), Ok(json!({"a": {"b": 1, "c": [{"d": 2}]}})));
    }
    assert_eq!(Projection::whole().project(text), Ok(json!({"a": {"b": 1, "c": [{"d": 2}]}})));
}

#[test]
fn indices_hold_and_a_star_meets_a_number() {
    let text = r#"{"l":[{"a":1,"b":1},{"a":2,"b":2},{"a":3,"b":3}]}"#;
    assert_eq!(project(text, &["l.1.a"]), Ok(json!({"l": [null, {"a": 2}]})));
    let both = project(text, &["l.*.a", "l.1.b"]);
    assert_eq!(both, Ok(json!({"l": [{"a": 1}, {"a": 2, "b": 2}, {"a": 3}]})));
    assert_eq!(project(r#"{"l":{"1":{"a":9}}}"#, &["l.1.a"]), Ok(json!({"l": {"1": {"a": 9}}})));
}

#[test]
fn of_two_equal_keys_the_last_one_counts() {
    assert_eq!(project(r#"{"a":{"b":1},"a":5}"#, &["a.b"]), Ok(json!({})));
    assert_eq!(project(r#"{"a":5,"a":{"b":1}}"#, &["a.b"]), Ok(json!({"a": {"b": 1}})));
    assert_eq!(project(r#"{"a":{"b":1},"a":{"c":1}}"#, &["a.b"]), Ok(json!({"a": {}})));
}

#[test]
fn escaped_keys_are_matched_by_what_they_mean() {
    assert_eq!(project(r#"{"\u0061":1}"#, &["a"]), Ok(json!({"a": 1})));
}

#[test]
fn a_fault_in_a_skipped_part_is_still_found() {
    let broken = [
        "",
        "{",
        "}",
        r#"{"x":}"#,
        r#"{"x":tru}"#,
        r#"{"x":01}"#,
        r#"{"x":"\q"}"#,
        r#"{"x":[1,]}"#,
        "{\"x\":\"\n\"}",
        r#"{"x":1,}"#,
        r#"{"x":1} {}"#,
        r#"{"x":1}x"#,
        r#"{"x":"open}"#,
        r#"{x:1}"#,
        r#"{"x" 1}"#,
        r#"{"x":{"y":[}]}"#,
        r#"{"x":1."#,
        "[1,2",
        "nul",
        "1 2",
    ];
    for text in broken {
        assert_eq!(project(text, &["a"]), Err(ProjectError::NotJson), "{text}");
    }
}

#[test]
fn json_that_is_no_object_is_told_apart() {
    for text in ["1", "null", " [1, {\"a\":2}] ", "\"{\"", "true", "-0.5e3"] {
        assert_eq!(project(text, &["a"]), Err(ProjectError::NotObject), "{text}");
    }
}

#[test]
fn nesting_beyond_any_stack_is_an_answer() {
    let deep = 200_000;
    let nested = format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep));
    assert_eq!(project(&nested, &["b"]), Ok(json!({})));
    assert_eq!(project(&nested, &["a"]), Err(ProjectError::NotJson));
    assert_eq!(project(&nested, &["a.*.*.b"]), Ok(json!({"a": [[[]]]})));
    let unclosed = "[".repeat(deep);
    assert_eq!(project(&unclosed, &["a"]), Err(ProjectError::NotJson));
}

#[test]
fn half_a_character_from_javascript_does_not_cost_the_record() {
    let text = r#"{"a":"cut \ud83d","b":"\ude00 \\ud83d","c":"\ud83d\ude00","\udfff":1}"#;
    let wanted = json!({"a": "cut \u{fffd}", "b": "\u{fffd} \\ud83d", "c": "\u{1f600}"});
    assert_eq!(project(text, &["a", "b", "c"]), Ok(wanted));
    let pair_after = json!({"a": "\u{fffd}\u{1f600}"});
    assert_eq!(project(r#"{"a":"\ud83d\ud83d\ude00"}"#, &["a"]), Ok(pair_after));
    assert_eq!(project(r#"{"a":"\ud83d"#, &["a"]), Err(ProjectError::NotJson));
    assert_eq!(project(r#"{"a":"\ud83d\ud8"}"#, &["a"]), Err(ProjectError::NotJson));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab\"\\\\\n\u{1f600}]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[ab01*.]{1}", inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn wanted_paths() -> impl Strategy<Value = Vec<Path>> {
    let segment = prop::sample::select(vec!["a", "b", "0", "1", "*", "\\*", "\\."]);
    let path =
        prop::collection::vec(segment, 1..5).prop_map(|parts| parts.join(".").parse().unwrap());
    prop::collection::vec(path, 0..5)
}

proptest! {
    #[test]
    fn a_projection_equals_a_full_parse_at_every_wanted_path(
        root in prop::collection::vec(("[ab01*.]{1}", value()), 0..6),
        wanted in wanted_paths(),
    ) {
        // Written by hand, so that equal keys can follow each other.
        let entries = root.iter().map(|(key, value)| format!("{}: {value}", json!(key)));
        let text = format!("{{{}}}", entries.collect::<Vec<_>>().join(" , "));
        let full: Value = serde_json::from_str(&text).unwrap();
        let projected = Projection::new(&wanted).project(&text).unwrap();
        for path in &wanted {
            prop_assert_eq!(path.get(&projected), path.get(&full), "{}", path);
            prop_assert_eq!(path.get_all(&projected), path.get_all(&full), "{}", path);
        }
    }

    #[test]
    fn a_damaged_text_is_refused_wherever_the_damage_lies(
        root in prop::collection::vec(("[ab]{1}", value()), 1..4),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"{}[]\",:\\0ax \n".to_vec()),
        wanted in wanted_paths(),
    ) {
        let object = Value::Object(root.into_iter().collect());
        let mut bytes = object.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let is_refused = Projection::new(&wanted).project(&text) == Err(ProjectError::NotJson);
        prop_assert!(is_json || is_refused, "accepted: {}", text);
        let full = serde_json::from_str::<Value>(&text);
        prop_assert!(full.is_err() || !is_refused, "refused: {}", text);
    }
}
