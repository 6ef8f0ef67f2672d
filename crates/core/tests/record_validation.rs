//! What would fail silently later is refused when a record is loaded, by record and key.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use dcli_core::executor::{Catalogue, Record, RecordError, Source};

/// A record with nothing wrong, as TOML.
const GOOD: &str = r#"
schema_version = 1
id = "good"
display_name = "Good"
command = "good"
args = ["a", "b"]

[prompt]
delivery = "argument"

[version]
args = ["--version"]
supported = ">=1"

[output]
format = "jsonl"
result = { path = "text", when = { type = "answer" } }
terminal = { success = { type = "end" } }
metadata = [{ key = "session", path = "session" }]
failure = [{ when = { type = "end" }, status_path = "status", status_prefix = "error" }]
sandbox_failure = [{ path = "text", contains = ["bwrap:"] }]

[usage]
usage_when = { type = "end" }
usage_paths = ["tokens"]
usage_windows = { path = "windows", keys = ["used"] }

[access]
read_only = {}
workspace = {}
unconfined = {}

[[facts]]
fact = "assistant_text"
when = { type = "answer" }
fields = { text = "text" }
"#;

#[track_caller]
fn refused(from: &str, to: &str, key: &str) {
    assert!(GOOD.contains(from), "{from:?} is not in the good record");
    let error = Record::from_toml(&GOOD.replace(from, to), "test.toml").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("test.toml"), "{text}");
    assert!(text.contains(key), "{text} does not name {key}");
    if let RecordError::Key { id, .. } = error {
        assert!(text.contains(&format!("{id:?}")), "{text} does not name the record");
    }
}

#[test]
fn the_good_record_is_accepted() {
    Record::from_toml(GOOD, "test.toml").unwrap();
}

#[test]
fn identity_and_prompt_are_checked() {
    refused("schema_version = 1", "schema_version = 2", "schema_version");
    refused("id = \"good\"", "id = \"Not Good\"", "`id`");
    refused("id = \"good\"", "id = \"\"", "`id`");
    refused("command = \"good\"", "command = \" \"", "`command`");
    refused("args = [\"a\", \"b\"]", "args = [\"a\"]\nargument_index = 2", "`argument_index`");
    refused("delivery = \"argument\"", "delivery = \"argument\"\nseparator = \"\"", "separator");
    refused("delivery = \"argument\"", "delivery = \"post\"", "delivery");
    refused(
        "delivery = \"argument\"",
        "delivery = \"argument\"\nargument_bound = 131072",
        "argument_bound",
    );
}

#[test]
fn output_rules_that_would_match_everything_or_nothing_are_refused() {
    refused("terminal = { success = { type = \"end\" } }", "", "output.terminal");
    refused("success = { type = \"end\" }", "success = {}", "output.terminal.success");
    refused("path = \"text\", when", "path = \"\", when", "path");
    refused(", status_prefix = \"error\"", "", "status_path");
    refused("status_prefix = \"error\"", "status_prefix = \"\"", "status_prefix");
    refused("status_path = \"status\"", "status_path = \"\"", "path");
    refused(
        "failure = [{ when = { type = \"end\" }, status_path = \"status\", status_prefix = \"error\" }]",
        "failure = [{}]",
        "output.failure.0.when",
    );
    refused("contains = [\"bwrap:\"]", "contains = []", "sandbox_failure.0.contains");
}

#[test]
fn a_phrase_that_classifies_has_words_and_a_note_has_its_records() {
    let with = |line: &str| format!("format = \"jsonl\"\n{line}");
    let after = |line: &str, key: &str| refused("format = \"jsonl\"", &with(line), key);
    after("signals = [{ contains = \"\", class = \"auth\" }]", "output.signals");
    after("signals = [{ contains = \"401\", class = \"auth\" }]", "output.signals");
    after("stderr_signals = [{ contains = \"429 \", class = \"auth\" }]", "output.stderr_signals");
    after(
        "signals = [{ contains = \"limit\", class = \"auth\", retry_at_after = \" \" }]",
        "output.signals",
    );
    after("http_after = [\" \"]", "output.http_after");
    after("notes = [{ when = {}, error_type_path = \"error\" }]", "output.notes.0.when");
    refused(
        "status_prefix = \"error\" }",
        "status_prefix = \"error\", signals = [{ contains = \"500\", class = \"auth\" }] }",
        "output.failure.0.signals",
    );
}

#[test]
fn metadata_may_not_claim_an_engine_key() {
    for key in dcli_core::envelope::ENGINE_KEYS {
        refused("key = \"session\"", &format!("key = \"{key}\""), "output.metadata.0.key");
    }
}

#[test]
fn usage_needs_what_bounds_it() {
    refused("usage_paths = [\"tokens\"]", "usage_paths = []", "usage.usage_paths");
    refused("usage_paths = [\"tokens\"]", "usage_paths = [\"\"]", "path");
    refused("usage_when = { type = \"end\" }", "", "usage_when");
    refused("usage_when = { type = \"end\" }", "usage_when = {}", "usage.usage_when");
    refused("keys = [\"used\"]", "keys = []", "usage_windows.keys");
}

#[test]
fn facts_are_checked_by_kind() {
    refused("fields = { text = \"text\" }", "fields = { txt = \"text\" }", "fields.txt");
    refused("fields = { text = \"text\" }", "", "fields.text");
    refused("fact = \"assistant_text\"", "fact = \"telepathy\"", "fact");
}

#[test]
fn unknown_keys_are_refused_by_name() {
    refused("command = \"good\"", "command = \"good\"\nshell = true", "shell");
    refused("format = \"jsonl\"", "format = \"jsonl\"\ncapture = \"pipe\"", "output.capture");
    refused("format = \"jsonl\"", "format = \"jsonl\"\nregex = \"x\"", "regex");
    refused("supported = \">=1\"", "supported = \"one\"", "version.supported");
}

#[test]
fn a_record_round_trips_through_toml() {
    for executor in Catalogue::shipped().unwrap().iter() {
        let text = toml::to_string(&*executor.record).unwrap();
        assert_eq!(Record::from_toml(&text, "again").unwrap(), *executor.record);
    }
}

#[test]
fn an_alias_finds_its_record_and_an_unknown_id_lists_what_there_is() {
    let catalogue = Catalogue::shipped().unwrap();
    assert_eq!(catalogue.find("claude-code").unwrap().record.id, "claude");
    let error = catalogue.find("clod").unwrap_err().to_string();
    for executor in catalogue.iter() {
        assert!(error.contains(&executor.record.id), "{error}");
    }
}

#[test]
fn a_record_may_replace_one_of_its_id_but_not_take_anothers_alias() {
    let mut catalogue = Catalogue::shipped().unwrap();
    catalogue.add(&GOOD.replace("\"good\"", "\"codex\""), Source::User, "mine.toml").unwrap();
    assert_eq!(catalogue.find("codex").unwrap().origin, "mine.toml");
    let thief = GOOD.replace("command =", "aliases = [\"claude\"]\ncommand =");
    let error = catalogue.add(&thief, Source::User, "thief.toml").unwrap_err().to_string();
    assert!(error.contains("claude") && error.contains("aliases"), "{error}");
}
