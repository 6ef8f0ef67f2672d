//! The backstop: values under credential-like names and keys of well-known shapes, in text and in
//! JSON values; and all that only looks like them.

#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use dcli_core::redact::Redactor;
use serde_json::{Value, json};

fn redact(text: &str) -> String {
    Redactor::new([]).text(text).into_owned()
}

#[track_caller]
fn becomes(text: &str, expected: &str) {
    assert_eq!(redact(text), expected);
    assert_eq!(redact(expected), expected, "a second time");
    let (mut stream, mut out) = (Redactor::new([]).stream(), Vec::new());
    for byte in text.as_bytes() {
        stream.push(std::slice::from_ref(byte), &mut out);
    }
    stream.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), expected, "byte for byte");
}

#[track_caller]
fn stays(text: &str) {
    becomes(text, text);
}

#[test]
fn strings_under_credential_like_names_of_json_are_covered() {
    becomes(
        r#"{"api_key": "abc", "n": 1, "accessToken":"d\"e\\","clientSecret" : "", "password":"x"}"#,
        r#"{"api_key": "«redacted:api_key»", "n": 1, "accessToken":"«redacted:accessToken»","clientSecret" : "", "password":"«redacted:password»"}"#,
    );
    becomes(r#"{"Authorization":"Bearer abc"}"#, r#"{"Authorization":"«redacted:Authorization»"}"#);
    becomes(r#""x-api-key":"k1""#, r#""x-api-key":"«redacted:x-api-key»""#);
}

#[test]
fn json_that_is_a_string_in_json_is_seen_through() {
    becomes(
        r#"{"arguments":"{\"api_key\":\"a\\\"b\",\"n\":\"m\"}"}"#,
        r#"{"arguments":"{\"api_key\":\"«redacted:api_key»\",\"n\":\"m\"}"}"#,
    );
    becomes(
        r#"["{\"a\":\"{\\\"token\\\": \\\"abc\\\", \\\"n\\\":1}\"}"]"#,
        r#"["{\"a\":\"{\\\"token\\\": \\\"«redacted:token»\\\", \\\"n\\\":1}\"}"]"#,
    );
    becomes(
        r#"{"command":"export FOO_TOKEN=\"abc d\" && X_KEY=abc\nY=1"}"#,
        r#"{"command":"export FOO_TOKEN=\"«redacted:FOO_TOKEN»\" && X_KEY=«redacted:X_KEY»\nY=1"}"#,
    );
}

#[test]
fn a_string_of_json_that_ends_with_a_name_keeps_its_end() {
    stays(r#"{"a":"password=","b":"c"}"#);
    stays(r#"["token=" , "x"]"#);
    stays(r#"{"a":"{\"token\":"}"#);
    stays(r#"{"a":"{\"token\":","b":"c"}"#);
    stays(r#"{"token":"#);
}

#[test]
fn assignments_in_text_are_covered() {
    becomes("FOO_TOKEN=abc BAR=1\n", "FOO_TOKEN=«redacted:FOO_TOKEN» BAR=1\n");
    becomes("password=hunter\r\n", "password=«redacted:password»\r\n");
    becomes("db_password: hunter2\n", "db_password: «redacted:db_password»\n");
    becomes("secret = \"a b\" # c", "secret = \"«redacted:secret»\" # c");
    becomes("apiKey: 'a b',", "apiKey: '«redacted:apiKey»',");
    becomes("/x?access_token=abc&y=1", "/x?access_token=«redacted:access_token»&y=1");
    becomes(
        "AWS_SECRET_ACCESS_KEY=a/b+c",
        "AWS_SECRET_ACCESS_KEY=«redacted:AWS_SECRET_ACCESS_KEY»",
    );
    becomes("GITHUB_TOKEN_2=é«x»", "GITHUB_TOKEN_2=«redacted:GITHUB_TOKEN_2»");
}

#[test]
fn a_header_is_covered_to_its_end() {
    becomes(
        "GET /\nAuthorization: Digest user=\"a\", response=\"b\"\r\nHost: x\n",
        "GET /\nAuthorization: «redacted:Authorization»\r\nHost: x\n",
    );
    becomes("> authorization: Basic YTpi\n", "> authorization: «redacted:authorization»\n");
    becomes(
        r#"{"cmd":"curl -H 'Authorization: Bearer abc d' x"}"#,
        r#"{"cmd":"curl -H 'Authorization: «redacted:Authorization»' x"}"#,
    );
    becomes(
        r#""a\nProxy-Authorization: Basic x\nHost: y""#,
        r#""a\nProxy-Authorization: «redacted:Proxy-Authorization»\nHost: y""#,
    );
}

#[test]
fn keys_are_known_by_their_shape() {
    for (key, name) in [
        ("sk-ant-api03-abcdefghijklmnop", "anthropic-key"),
        ("sk-proj-abcdefghijklmnop1234567", "api-key"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github-token"),
        ("github_pat_11ABCDEFG0abcdefghij_klm", "github-token"),
        ("xoxb-1234567890-abcdef", "slack-token"),
        ("AKIAIOSFODNN7EXAMPLE", "aws-key-id"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "google-key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_DEF", "jwt"),
        ("glpat-abcdefghijklmnopqrst", "gitlab-token"),
    ] {
        becomes(&format!("x {key}, y"), &format!("x «redacted:{name}», y"));
        becomes(&format!("\"a\\n{key}\""), &format!("\"a\\n«redacted:{name}»\""));
        stays(&format!("prefix{key}"));
    }
}

#[test]
fn a_bearer_credential_is_covered_in_a_list_of_words() {
    becomes(
        r#"["Authorization","Bearer 0123456789abcdef=="]"#,
        r#"["Authorization","Bearer «redacted:bearer»"]"#,
    );
}

#[test]
fn a_password_in_a_url_is_covered_and_a_user_is_not() {
    becomes("https://user:pass@host/x", "https://«redacted:userinfo»@host/x");
    becomes("git clone https://:p@h", "git clone https://«redacted:userinfo»@h");
    becomes("\"postgres://u:p@ss@h:1/d\"", "\"postgres://«redacted:userinfo»@h:1/d\"");
    becomes(
        "sk-ant-0123456789abcdefgh://u:p@h",
        "«redacted:anthropic-key»://«redacted:userinfo»@h",
    );
    stays("https://user:«redacted:DB»@host/x");
    stays("ssh://git@github.com/x http://[::1]:80/a@b https://host:80/?m=a:b@c x://:@y");
}

#[test]
fn counters_numbers_and_ordinary_words_stay() {
    for plain in [
        r#"{"usage":{"input_tokens":12,"max_tokens": 4096,"total_tokens":"12","tokens":{"input":1}}}"#,
        r#"{"token_count":7,"token": 12,"password":null,"secret":true,"api_key":{"a":"b"}}"#,
        r#"{"key":"value","sortKey":"1009","apiKeySource":"none","token_type":"bearer","keys":["a"]}"#,
        r#"{"tokenizer":"cl100k","monkey":"banana","secretary":"x","keyboard":"de","public_key":"x"}"#,
        "fn next(token: &str) -> Token { Token::new(token) } let secret: Vec<u8> = key();",
        "TOKEN=$(cat x) PASSWORD=${PASSWORD} secret=true token=12345 x == token==1",
        "max_tokens=4096 tokens: 12 the password: must be long, a secret : no",
        "unexpected token: foo, bearer of bad news, sk-learn AKIA eyJ ghp_ xoxb-",
        "token://a1b2c3/x",
        "password=\npassword: \"\"\ntoken=''",
    ] {
        stays(plain);
    }
}

#[test]
fn a_value_that_never_ends_is_swallowed_and_one_without_a_quote_ends_with_its_line() {
    let long = "x".repeat(100_000);
    becomes(&format!("FOO_TOKEN={long} y"), "FOO_TOKEN=«redacted:FOO_TOKEN» y");
    becomes(&format!("{{\"token\":\"{long}"), "{\"token\":\"«redacted:token»");
    becomes("\"token\": \"abc\nnext", "\"token\": \"«redacted:token»\nnext");
    becomes(&format!("eyJhbGc.eyJ{long}.y z"), "«redacted:jwt» z");
    becomes(&format!("a://{long}:p@h/x"), "a://«redacted:userinfo»/x");
}

#[test]
fn a_registered_value_keeps_its_own_name_below_another() {
    let redactor = Redactor::new([("MINE".to_string(), "hunter22".to_string())]);
    assert_eq!(redactor.text(r#"{"api_key":"hunter22"}"#), r#"{"api_key":"«redacted:MINE»"}"#);
    assert_eq!(redactor.text("API_KEY=xhunter22"), "API_KEY=«redacted:API_KEY»");
}

#[test]
fn json_values_are_covered_below_credential_like_names() {
    let mut value: Value = json!({
        "credentials": {"user": "u", "n": 3, "list": ["a", ""], "ok": true, "none": null},
        "max_tokens": 5, "input_tokens": "12", "apiKey": "«redacted:MINE»",
        "text": "see https://u:p@h", "headers": {"Authorization": "Bearer x"},
    });
    Redactor::new([]).value(&mut value);
    let expected = json!({
        "credentials": {
            "user": "«redacted:credentials»", "n": 3, "list": ["«redacted:credentials»", ""],
            "ok": true, "none": null,
        },
        "max_tokens": 5, "input_tokens": "12", "apiKey": "«redacted:MINE»",
        "text": "see https://«redacted:userinfo»@h",
        "headers": {"Authorization": "«redacted:Authorization»"},
    });
    assert_eq!(value, expected);
}

/// What real CLIs print in ordinary runs holds no secret: it has to come out byte for byte.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its streams; core itself does not")]
fn the_streams_of_real_clis_stay_as_they_are() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/golden");
    let folders = |path: &std::path::Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut streams = 0;
    for scenario in folders(golden.as_ref()).iter().flat_map(|cli| folders(cli)) {
        let Ok(bytes) = std::fs::read(scenario.join("stdout.jsonl")) else { continue };
        let (mut stream, mut out) = (Redactor::new([]).stream(), Vec::new());
        stream.push(&bytes, &mut out);
        stream.finish(&mut out);
        assert!(out == bytes, "{} was changed", scenario.display());
        streams += 1;
    }
    assert!(streams > 20, "only {streams} streams were found");
}
