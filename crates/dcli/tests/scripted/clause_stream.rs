//! Clauses about the bytes on standard output, and the figures in them.

use dcli_core::executor::record::Usage;
use dcli_testkit::agent::Step;
use serde_json::{Value, json};

use crate::clauses::{every, every_with};
use crate::common::shape::{put, shape};
use crate::common::{Dialect, Envelope, Stage, say};

fn run(dialect: &Dialect, steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    dialect.exec(&stage).words("Do it.").run().envelope()
}

fn malformed(envelope: &Envelope) -> Option<u64> {
    envelope.data().get("malformedStreamLines").and_then(Value::as_u64)
}

#[test]
fn clause_cut_output_is_refused_wherever_the_last_line_was_cut() {
    every("cut-output", |dialect| {
        let text = dialect.ok("Done.").text();
        let whole = text.trim_end();
        let last = whole.rfind('\n').map_or(0, |at| at + 1);
        for end in [last + 1, (last + whole.len()) / 2, whole.len() - 1] {
            let envelope = run(dialect, [say(&whole[..end])]);
            envelope.failed("executorOutputTruncated");
            assert_eq!(envelope.run()["exit"]["code"], 0, "{}", &whole[last..end]);
        }
        // Without its line feed it is whole all the same.
        run(dialect, [say(whole)]).ok("Done.");
    });
}

#[test]
fn clause_cut_output_is_a_result_without_proof_too() {
    let apart = |dialect: &Dialect| !dialect.is_single() && dialect.answers_apart();
    every_with("result-without-proof", apart, |dialect| {
        let envelope = run(dialect, [dialect.tale([dialect.answer("Half of it.")]).told()]);
        assert_eq!(envelope.failed("executorOutputTruncated").result(), "Half of it.");
    });
}

#[test]
fn clause_no_result_shapes_are_three() {
    every("no-result-shapes", |dialect| {
        let garbage = say("Segmentation fault\nUsage: see --help\n");
        let unrelated = say("[1,2]\n{\"hello\":\"world\"}\n\"text\"\n17\nnull\n");
        let blank = dialect.ok(" \n\t ").told();
        for step in [garbage, unrelated, blank, say("")] {
            let shape = format!("{step:?}");
            let envelope = run(dialect, [step]);
            assert_eq!(envelope.code(), "executorNoResult", "{shape}");
            assert_eq!(envelope.status(), "failed", "{shape}");
            assert_eq!(envelope.run()["exit"]["code"], 0, "{shape}");
        }
    });
}

#[test]
fn clause_trailing_noise_changes_nothing() {
    every("trailing-noise", |dialect| {
        let told = || dialect.ok("Done.").told();
        let envelope = run(dialect, [told(), say("npm notice: a new version\n\u{1b}[0m\n\n")]);
        assert_eq!(malformed(envelope.ok("Done.")), Some(2));
        assert_eq!(envelope.data()["usage"], json!(dialect.charged(1)));
        let envelope = run(dialect, [told(), say("\u{1b}]0;done\u{7}\u{1b}[0m")]);
        assert_eq!(envelope.ok("Done.").data()["usage"], json!(dialect.charged(1)), "no record");
    });
}

#[test]
fn clause_malformed_lines_are_counted_and_end_nothing() {
    every("malformed-lines", |dialect| {
        let text = dialect.ok("Done.").text();
        let steps = [
            say("\u{1b}[33mwarning:\u{1b}[0m deprecated\r\n"),
            // "Größe ungültig" in code page 850.
            Step::StdoutHex("47 72 94 E1 65 20 75 6E 67 81 6C 74 69 67 0D 0A".to_owned()),
            say("  \n"),
            say(text),
            say("bye\n"),
        ];
        let envelope = run(dialect, steps);
        assert_eq!(malformed(envelope.ok("Done.")), Some(3));
        assert_eq!(envelope.data()["usage"], json!(dialect.charged(1)));
    });
}

#[test]
fn clause_malformed_lines_that_might_be_billed_void_the_usage() {
    every("malformed-record", |dialect| {
        let steps = [say("{\"type\":\"resu\n"), dialect.ok("Done.").told()];
        let envelope = run(dialect, steps);
        assert_eq!(malformed(envelope.ok("Done.")), Some(1));
        if !dialect.is_single() {
            assert_eq!(envelope.data()["usage"], Value::Null);
        }
    });
}

fn usage(dialect: &Dialect) -> &Usage {
    dialect.record.usage.as_ref().unwrap()
}

#[test]
fn clause_usage_is_the_sum_of_all_billed_records_or_the_last_total() {
    let many = |dialect: &Dialect| dialect.record.usage.is_some() && !dialect.is_single();
    every_with("usage-sums", many, |dialect| {
        let billed = [2, 5].map(|times| dialect.usage(times).unwrap());
        let tale = dialect.tale(billed).then(dialect.ok("Done.").records().to_vec());
        let envelope = run(dialect, [tale.told()]);
        let sum: u64 = [1, 2, 5].map(|times| dialect.charged(times).unwrap()).iter().sum();
        let wanted = if usage(dialect).cumulative { dialect.charged(1).unwrap() } else { sum };
        assert_eq!(envelope.ok("Done.").data()["usage"], wanted);
        assert_eq!(envelope.run()["tokens"]["total"], wanted);
    });
}

#[test]
fn clause_usage_that_cannot_be_read_voids_the_figure() {
    every("usage-voids", |dialect| {
        for bad in [json!("many"), json!(-1), json!(1.5), Value::Null] {
            let mut billed = dialect.usage(3).unwrap();
            put(&mut billed, usage(dialect).usage_paths.last().unwrap(), bad.clone());
            let tale = match dialect.is_single() {
                true => dialect.tale([dialect.answer("Done."), billed]),
                false => dialect.tale([billed]).then(dialect.ok("Done.").records().to_vec()),
            };
            let envelope = run(dialect, [tale.told()]);
            assert_eq!(envelope.ok("Done.").data()["usage"], Value::Null, "{bad}");
            let tokens = &envelope.run()["tokens"];
            assert!(tokens.as_object().unwrap().values().all(Value::is_null), "{bad}: {tokens}");
        }
    });
}

#[test]
fn clause_usage_that_is_all_zero_is_taken_from_the_second_place() {
    let dialect = Dialect::of("claude");
    let model = |tokens: u64| {
        json!({"inputTokens": tokens, "outputTokens": 7, "cacheCreationInputTokens": 0,
               "cacheReadInputTokens": 1, "costUSD": 0.5})
    };
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "Done.",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
                  "cache_read_input_tokens": 0},
        "modelUsage": {"big": model(20), "small": model(3)},
    });
    let envelope = run(&dialect, [dialect.tale([result]).told()]);
    assert_eq!(envelope.ok("Done.").data()["usage"], 39);
}

fn has_windows(dialect: &Dialect) -> bool {
    dialect.record.usage.as_ref().is_some_and(|usage| usage.usage_windows.is_some())
}

/// A record of quota windows, and a good run after it.
fn with_windows(dialect: &Dialect, windows: &[Value]) -> Step {
    let rule = usage(dialect).usage_windows.as_ref().unwrap();
    let record = |windows: &Value| {
        let mut record = shape(&rule.when);
        put(&mut record, &rule.path, windows.clone());
        record
    };
    let records = windows.iter().map(record);
    dialect.tale(records).then(dialect.ok("Done.").records().to_vec()).told()
}

#[test]
fn clause_windows_are_reported_verbatim_and_a_bad_one_is_skipped_alone() {
    every_with("windows", has_windows, |dialect| {
        let keys = &usage(dialect).usage_windows.as_ref().unwrap().keys;
        let window = |value: Value| -> Value {
            keys.iter()
                .map(|key| (key.clone(), value.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let mut more = window(json!(0.75));
        more["status"] = json!("allowed");
        let mut less = window(json!(1));
        less.as_object_mut().unwrap().shift_remove(keys.last().unwrap());
        let last = json!({
            "Five Hours": more, "broken": less, "worse": "full", "odd": window(json!("soon")),
        });
        let told = if dialect.is_single() {
            vec![last]
        } else {
            vec![json!({"a": window(json!(1))}), last]
        };
        let envelope = run(dialect, [with_windows(dialect, &told)]);
        let wanted = json!({"Five Hours": window(json!(0.75)), "odd": window(json!("soon"))});
        assert_eq!(envelope.ok("Done.").data()["usageWindows"], wanted);
        assert_eq!(envelope.data()["usage"], json!(dialect.charged(1)));
        for none in [json!({}), json!({"a": {}}), json!("full"), json!([window(json!(1))])] {
            let envelope = run(dialect, [with_windows(dialect, std::slice::from_ref(&none))]);
            assert_eq!(envelope.ok("Done.").data()["usageWindows"], Value::Null, "{none}");
        }
    });
}
