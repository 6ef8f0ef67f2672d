//! Registered values: every form, every cut, overlaps, and what is not registered.

use dcli_core::redact::Redactor;
use serde_json::{Value, json};

fn knowing(values: &[(&str, &str)]) -> Redactor {
    Redactor::new(values.iter().map(|(name, value)| (name.to_string(), value.to_string())))
}

fn text(values: &[(&str, &str)], text: &str) -> String {
    knowing(values).text(text).into_owned()
}

const HARD: &str = "p\"a/ß\n<w>\\d😀\t";

#[test]
fn a_value_becomes_a_mark_with_its_name_wherever_it_stands() {
    assert_eq!(
        text(&[("MY_KEY", "hunter22")], "hunter22 and (hunter22)hunter22"),
        "«redacted:MY_KEY» and («redacted:MY_KEY»)«redacted:MY_KEY»"
    );
}

#[test]
fn a_text_without_secrets_is_handed_back_as_it_is() {
    let plain = "{\"type\":\"result\",\"usage\":{\"input_tokens\":12}} C:\\temp\\new ☃ \u{1}\r\n";
    assert!(matches!(
        knowing(&[("A", "hunter22")]).text(plain),
        std::borrow::Cow::Borrowed(same) if same == plain
    ));
}

#[test]
fn none_changes_nothing_at_all() {
    let secret = "password=hunter22";
    assert_eq!(Redactor::none().text(secret), secret);
    let mut value = json!({"password": "hunter22"});
    Redactor::none().value(&mut value);
    assert_eq!(value, json!({"password": "hunter22"}));
    let (mut stream, mut out) = (Redactor::none().stream(), Vec::new());
    stream.push(secret.as_bytes(), &mut out);
    stream.finish(&mut out);
    assert_eq!(out, secret.as_bytes());
}

#[test]
fn a_value_is_found_as_json_writers_escape_it() {
    let hard = HARD.trim();
    let escaped = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_string();
    let once = serde_json::to_string(hard).unwrap();
    let forms = [
        once.clone(),
        once.replace('/', "\\/"),
        once.replace('ß', "\\u00df").replace('😀', "\\ud83d\\ude00"),
        once.replace('ß', "\\u00DF").replace('😀', "\\uD83D\\uDE00"),
        once.replace('<', "\\u003c").replace('>', "\\u003e"),
        serde_json::to_string(&once).unwrap(),
        serde_json::to_string(&format!("x {once}")).unwrap(),
    ];
    for form in forms {
        let before: Value = serde_json::from_str(&form).unwrap();
        assert!(before.as_str().unwrap().contains(hard) || form.contains(&escaped(&once)));
        let redacted = text(&[("HARD", hard)], &form);
        assert!(redacted.contains("«redacted:HARD»"), "{form} became {redacted}");
        assert!(!redacted.contains('w'), "{form} became {redacted}");
        serde_json::from_str::<Value>(&redacted).unwrap();
    }
}

#[test]
fn a_percent_encoded_value_is_found() {
    assert_eq!(text(&[("A", "a b/c=d?é")], "?q=a%20b%2Fc%3Dd%3F%C3%A9&x"), "?q=«redacted:A»&x");
    assert_eq!(text(&[("A", "a b/c=d?é")], "?q=a%20b%2fc%3dd%3f%c3%a9&x"), "?q=«redacted:A»&x");
}

#[test]
fn of_two_values_at_one_place_the_longer_is_taken() {
    for order in [["short", "long"], ["long", "short"]] {
        let values = order.map(|name| (name, if name == "long" { "abcd12345" } else { "abcd" }));
        assert_eq!(text(&values, "abcd12345 abcd1234"), "«redacted:long» «redacted:short»1234");
    }
}

#[test]
fn a_value_within_another_does_not_hide_the_other() {
    let values = [("inner", "cdef"), ("outer", "abcdefgh")];
    assert_eq!(text(&values, "abcdefgh abcdef"), "«redacted:outer» ab«redacted:inner»");
}

#[test]
fn of_overlapping_values_nothing_is_left() {
    let values = [("one", "abcdef"), ("two", "defghi"), ("three", "hijklm")];
    assert_eq!(text(&values, "<abcdefghijklm>"), "<«redacted:one»>");
    assert_eq!(text(&[("a", "aaaa")], "aaaaaaaaab"), "«redacted:a»b");
}

#[test]
fn a_value_with_line_ends_is_found_and_white_space_around_it_does_not_count() {
    let values = [("PEM", "\n-----BEGIN-----\nMIIabc\n-----END-----\n")];
    assert_eq!(
        text(&values, "x\n-----BEGIN-----\nMIIabc\n-----END-----\ny"),
        "x\n«redacted:PEM»\ny"
    );
}

#[test]
fn what_occurs_everywhere_is_not_registered() {
    let values = [
        ("EMPTY", ""),
        ("SHORT", "abc"),
        ("SPACE", "       "),
        ("FLAG", "true"),
        ("PORT", "8080"),
        ("WORD", "redacted"),
    ];
    let plain = "abc true 8080        redacted";
    assert_eq!(text(&values, plain), plain);
    assert_eq!(text(&[("PIN", "48213377")], "pin 48213377"), "pin «redacted:PIN»");
}

#[test]
fn a_mark_never_shows_a_value() {
    assert_eq!(text(&[("MY_VALUE", "MY_VALUE")], "is MY_VALUE"), "is «redacted:key»");
    assert_eq!(
        text(&[("A", "some_name"), ("some_name", "hunter22")], "hunter22"),
        "«redacted:key»"
    );
    assert_eq!(text(&[("A", "my_token")], "my_token=xyz"), "«redacted:A»=xyz");
    assert_eq!(text(&[("a\"b\n»", "hunter22")], "hunter22"), "«redacted:a_b__»");
}

#[test]
fn a_value_that_holds_a_mark_s_quotes_gets_other_quotes() {
    let values = [("A", "»tail"), ("B", "hunter22")];
    assert_eq!(text(&values, "hunter22tail"), "‹redacted:B›tail");
    let values = [("A", "«»‹›⟦⟧⟪⟫"), ("B", "hunter22")];
    let redacted = text(&values, "hunter22");
    assert!(redacted.contains("redacted:B") && !redacted.contains(['«', '‹', '⟦', '⟪']));
}

#[test]
fn a_mark_does_not_cut_an_escape_of_json_in_two() {
    for (value, line) in [
        ("token123", r#"{"a":"\token123"}"#),
        ("00e9clef", r#"{"a":"\u00e9clef"}"#),
        ("9clef", r#"{"a":"x\\\u00e9clef"}"#),
        (r"clef\", r#"{"a":"clef\"","b":"clef\n"}"#),
        (r"clef\\", r#"{"a":"clef\\\"","b":"clef\\"}"#),
        ("3dclef", r#"{"a":"\ud83d\ude00 \ud83dclef"}"#),
        (r"clef\ud8", r#"{"a":"clef\ud83d\ude00"}"#),
        ("de00clef", r#"{"a":"\ud83d\ude00clef"}"#),
    ] {
        let redacted = text(&[("A", value)], line);
        assert!(redacted.contains("«redacted:A»"), "{line} became {redacted}");
        assert!(!redacted.contains(value), "{line} became {redacted}");
        if serde_json::from_str::<Value>(line).is_ok() {
            serde_json::from_str::<Value>(&redacted).unwrap();
        }
    }
    assert_eq!(text(&[("A", "secret99")], r"C:\secret99\x"), r"C:\«redacted:A»\x");
}

#[test]
fn a_value_is_covered_in_strings_and_names_of_json_and_no_member_is_lost() {
    let redactor = knowing(&[("A", "hunter22"), ("B", "48213377")]);
    let mut value = json!({
        "x hunter22": ["hunter22", {"deep": "a hunter22 b"}],
        "x «redacted:A»": 48_213_377,
        "text": "pin 48213377",
    });
    redactor.value(&mut value);
    let expected = json!({
        "x «redacted:A»": ["«redacted:A»", {"deep": "a «redacted:A» b"}],
        "x «redacted:A» 2": 48_213_377,
        "text": "pin «redacted:B»",
    });
    assert_eq!(value, expected);
}

#[test]
fn explicit_variables_are_covered_and_of_the_ambient_ones_those_that_sound_secret() {
    let explicit = [("PLAIN".to_string(), "plum".to_string())];
    let ambient = [
        ("HOME", "/home/user"),
        ("SOME_API_KEY", "kiwi-kiwi"),
        ("gh_token", "fig-fig-fig"),
        ("CLIENT_SECRET", "sevenby"),
        ("DB_PASSWORD", "eightbyt"),
        ("AWS_CREDENTIALS", "lemon-lemon"),
        ("PLAIN_TOKEN", "plum"),
    ];
    let ambient = ambient.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let redactor = Redactor::for_environment(&explicit, ambient);
    assert_eq!(
        redactor.text("plum /home/user kiwi-kiwi fig-fig-fig sevenby eightbyt lemon-lemon"),
        "«redacted:PLAIN» /home/user «redacted:SOME_API_KEY» «redacted:gh_token» sevenby \
         «redacted:DB_PASSWORD» «redacted:AWS_CREDENTIALS»"
    );
}

#[test]
fn a_value_that_is_part_of_a_spared_text_is_not_covered() {
    let values = [("DIR", "/srv/checkout"), ("MODE", "running"), ("KEY", "hunter22")];
    let redactor = knowing(&values).sparing(&["running", "/srv/checkout/x"]);
    assert_eq!(
        redactor.text("running in /srv/checkout with hunter22"),
        "running in /srv/checkout with «redacted:KEY»"
    );
}

#[test]
fn what_is_printed_for_debugging_shows_no_value() {
    let redactor = knowing(&[("A", "hunter22")]);
    let mut stream = redactor.stream();
    stream.push(b"hunter2", &mut Vec::new());
    assert!(!format!("{redactor:?} {stream:?}").contains("hunter"));
}

#[test]
fn a_stream_holds_back_no_more_than_may_be_the_beginning_of_a_value() {
    let redactor = knowing(&[("A", "hunter22"), ("B", "hunter2233")]);
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    stream.push(b"a line without\n", &mut out);
    assert_eq!(out, b"a line without\n");
    stream.push(b"x hunter", &mut out);
    assert_eq!(out, b"a line without\nx ");
    stream.push(b"s hunter22", &mut out);
    assert_eq!(out, b"a line without\nx hunters ");
    stream.push(b"\xff\n", &mut out);
    assert_eq!(
        out,
        "a line without\nx hunters «redacted:A»".bytes().chain(*b"\xff\n").collect::<Vec<_>>()
    );
}

#[test]
fn no_shipped_record_holds_anything_that_would_be_covered_where_a_job_keeps_it() {
    for executor in dcli_core::executor::Catalogue::shipped().unwrap().iter() {
        let record = serde_json::to_value(&*executor.record).unwrap();
        let mut kept = record.clone();
        knowing(&[]).value(&mut kept);
        assert_eq!(kept, record, "{}", executor.record.id);
    }
}
