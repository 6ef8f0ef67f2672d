//! Foreign values, cut to what a person reads: what was left out is said in their place.

use serde_json::{Map, Value};

/// The most characters of one text.
const TEXT: usize = 2000;
/// The most entries of an array or an object.
const ENTRIES: usize = 50;
/// The most values within values.
const DEPTH: usize = 6;

/// The same value, or the beginning of each of its parts.
pub(super) fn brief(value: &Value) -> Value {
    cut(value, DEPTH)
}

fn cut(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::String(brief_text(text)),
        Value::Array(all) if depth > 0 => {
            let kept = all.iter().take(ENTRIES).map(|value| cut(value, depth - 1));
            kept.chain(left_out(all.len()).map(Value::String)).collect()
        }
        Value::Object(all) if depth > 0 => {
            let kept = all.iter().take(ENTRIES);
            let mut kept: Map<String, Value> =
                kept.map(|(name, value)| (brief_text(name), cut(value, depth - 1))).collect();
            kept.extend(left_out(all.len()).map(|words| ("…".to_owned(), Value::String(words))));
            Value::Object(kept)
        }
        Value::Array(_) | Value::Object(_) => Value::String("…".to_owned()),
        other => other.clone(),
    }
}

/// The same text, or its beginning.
pub(super) fn brief_text(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

fn left_out(entries: usize) -> Option<String> {
    (entries > ENTRIES).then(|| format!("… ({entries} in all)"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_short_stays_and_what_is_long_says_how_long_it_was() {
        let short = json!({"a": [1, null, true, "text"], "b": {"c": {"d": "é"}}});
        assert_eq!(brief(&short), short);
        let long = brief(&json!("é".repeat(3000)));
        let long = long.as_str().unwrap();
        assert!(long.len() < 4100 && long.ends_with("é… (6000 bytes in all)"), "{long}");
        let many = brief(&json!(vec![1; 60]));
        assert_eq!((many.as_array().unwrap().len(), &many[50]), (51, &json!("… (60 in all)")));
        let deep = (0..60).fold(json!(1), |inner, _| json!({"x": [inner]}));
        assert!(brief(&deep).to_string().len() < 100);
    }
}
