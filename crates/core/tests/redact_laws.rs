//! Laws of redaction over made-up secrets and texts: none is left, chunks do not matter, twice is
//! once, JSON stays JSON, and what holds no secret stays as it is.

use dcli_core::redact::Redactor;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// Text in which rules meet: names, quotes, escapes, shapes, marks, and halves of all of them.
const PIECES: [&str; 58] = [
    "\"",
    "\\\"",
    "\\\\\\\"",
    "\\",
    "\\n",
    "\\u00",
    "\\ud83d",
    "\\ude00",
    "'",
    ":",
    "=",
    " ",
    "\n",
    ",",
    "{",
    "}",
    "api_key",
    "token",
    "input_tokens",
    "FOO_TOKEN=",
    "password: ",
    "\"secret\":\"",
    "key",
    "Authorization: ",
    "authorization",
    "Bearer 0123456789abcdef",
    "bearer ",
    "https://",
    "://",
    "user:",
    "@",
    "@host/",
    "sk-",
    "sk-ant-0123456789abcdefgh",
    "ghp_abcdefghijklmnopqrstuvwxyz",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-1234567890",
    "eyJhbGci.eyJzdWIi.x",
    "eyJ",
    ".",
    "-",
    "_",
    "«redacted:",
    "»",
    "«redacted:token»",
    "«redacted:x»",
    "é",
    "😀",
    "12",
    "true",
    "null",
    "a1b2c3d4",
    "${",
    "$(",
    "/",
    "?",
    "\r\n",
    "\t",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{4,7}",
        "[ -~]{4,12}",
        "\\PC{4,8}",
        "[a-c\"\\\\/\n»«é😀]{4,7}",
        proptest::collection::vec(select(&PIECES[..]), 1..4).prop_map(|pieces| pieces.concat()),
    ]
}

fn values() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(value(), 0..5)
}

fn knowing(values: &[String]) -> Redactor {
    Redactor::new(values.iter().enumerate().map(|(at, value)| (format!("N{at}"), value.clone())))
}

/// What is registered of the values: the rest has its own test.
fn registered(values: &[String]) -> Vec<&str> {
    let redactor = knowing(values);
    let covered = |value: &&str| *redactor.text(value) != **value;
    values.iter().map(|value| value.trim()).filter(covered).collect()
}

/// Texts made of pieces, and of the values whole, escaped and in halves.
fn text(values: &[String]) -> impl Strategy<Value = String> + use<> {
    let values = values.to_vec();
    let piece = (any::<Index>(), any::<Index>(), 0..8_u8).prop_map(move |(which, cut, kind)| {
        let piece = *which.get(&PIECES);
        if values.is_empty() || kind < 4 {
            return piece.to_string();
        }
        let value = which.get(&values);
        let cuts: Vec<usize> = value.char_indices().map(|(at, _)| at).collect();
        let escaped = serde_json::to_string(value).unwrap_or_default();
        match kind {
            4 => value.clone(),
            5 => escaped.trim_matches('"').to_string(),
            6 => {
                cuts.is_empty().then(String::new).unwrap_or_else(|| value[..*cut.get(&cuts)].into())
            }
            _ => {
                cuts.is_empty().then(String::new).unwrap_or_else(|| value[*cut.get(&cuts)..].into())
            }
        }
    });
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn scene() -> impl Strategy<Value = (Vec<String>, String)> {
    values().prop_flat_map(|values| {
        let text = text(&values);
        (Just(values), text)
    })
}

/// Through a stream, cut where the numbers say.
fn streamed(redactor: &Redactor, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
    let (mut stream, mut out, mut rest) = (redactor.stream(), Vec::new(), bytes);
    for cut in cuts.iter().cycle().take(if cuts.is_empty() { 0 } else { bytes.len() }) {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        stream.push(chunk, &mut out);
        rest = after;
    }
    stream.push(rest, &mut out);
    stream.finish(&mut out);
    out
}

fn json(values: &[String]) -> impl Strategy<Value = Value> + use<> {
    let name = prop_oneof![
        select(&["api_key", "token", "n", "input_tokens", "text"][..]).prop_map(String::from),
        text(values),
    ];
    let leaf = prop_oneof![
        text(values).prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    // A string that is itself JSON, as arguments of tools are.
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner.clone()), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

/// Secrets that occur within strings of JSON, but not across them: no quotes, no bare tokens.
fn within_strings() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(
        prop_oneof![
            "[a-z]{1}[a-z0-9]{3,8}",
            "[nrtbfu]{1}[a-f0-9\\\\/]{3,8}",
            "[a-fé😀\n/\\\\]{3,6}[g-m]{1}",
            "x[a-f\"\n]{3,6}z"
        ],
        0..4,
    )
}

fn strings<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, into)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            into.push(name);
            strings(value, into);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_registered_value_is_left((values, text) in scene()) {
        let redacted = knowing(&values).text(&text).into_owned();
        for value in registered(&values) {
            prop_assert!(!redacted.contains(value), "{value:?} is left in {redacted:?}");
            let escaped = serde_json::to_string(value).unwrap();
            let escaped = &escaped[1..escaped.len() - 1];
            prop_assert!(!redacted.contains(escaped), "{escaped:?} is left in {redacted:?}");
        }
    }

    #[test]
    fn chunks_do_not_matter(
        (values, text) in scene(),
        cuts in proptest::collection::vec(0..40_usize, 0..8),
        noise in proptest::collection::vec(any::<u8>(), 0..4),
    ) {
        let redactor = knowing(&values);
        let whole = redactor.text(&text).into_owned().into_bytes();
        prop_assert_eq!(whole, streamed(&redactor, text.as_bytes(), &cuts));
        let bytes = [&noise, text.as_bytes(), &noise, text.as_bytes()].concat();
        let whole = streamed(&redactor, &bytes, &[]);
        prop_assert_eq!(&whole, &streamed(&redactor, &bytes, &cuts));
        prop_assert_eq!(&whole, &streamed(&redactor, &bytes, &[1]));
    }

    #[test]
    fn twice_is_once((values, text) in scene()) {
        let redactor = knowing(&values);
        let once = redactor.text(&text).into_owned();
        prop_assert_eq!(redactor.text(&once), once.as_str());
    }

    #[test]
    fn a_line_of_json_stays_one(
        (values, value) in within_strings().prop_flat_map(|values| {
            let value = json(&values);
            (Just(values), value)
        }),
    ) {
        let line = value.to_string();
        let redacted = knowing(&values).text(&line).into_owned();
        let read = serde_json::from_str::<Value>(&redacted);
        prop_assert!(read.is_ok(), "{line} became {redacted} with {values:?}");
        prop_assert_eq!(redacted.lines().count(), line.lines().count());
    }

    #[test]
    fn a_json_value_keeps_its_shape_and_no_string_of_it_a_registered_value(
        (values, value) in values().prop_flat_map(|values| {
            let value = json(&values);
            (Just(values), value)
        }),
    ) {
        let (redactor, mut redacted) = (knowing(&values), value.clone());
        redactor.value(&mut redacted);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        strings(&value, &mut before);
        strings(&redacted, &mut after);
        prop_assert_eq!(before.len(), after.len());
        for value in registered(&values) {
            prop_assert!(!after.iter().any(|text| text.contains(value)), "{value:?} in {redacted}");
        }
        let once = redacted.clone();
        redactor.value(&mut redacted);
        prop_assert_eq!(once, redacted);
    }

    #[test]
    fn bytes_without_a_secret_stay_as_they_are(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        values in values(),
    ) {
        let redactor = knowing(&values);
        let text = String::from_utf8_lossy(&bytes);
        let names = ["token", "key", "pass", "secret", "credential", "auth", "bearer", "sk", "://"];
        let lower = text.to_lowercase();
        prop_assume!(!names.iter().any(|name| lower.contains(name)));
        prop_assume!(!registered(&values).iter().any(|value| text.contains(value)));
        prop_assert_eq!(streamed(&redactor, &bytes, &[7]), bytes);
    }
}
