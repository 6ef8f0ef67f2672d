//! Clauses about what a run amounts to.

use dcli_core::envelope::Data;
use dcli_core::executor::record::NativeEnforcement;
use dcli_testkit::agent::Step;
use serde_json::{Value, json};

use crate::clauses::{every, every_with};
use crate::common::dialect::COST;
use crate::common::tale::Tale;
use crate::common::{Dialect, Envelope, Stage, say};

fn run(dialect: &Dialect, steps: impl IntoIterator<Item = Step>) -> Envelope {
    let stage = Stage::new(steps);
    dialect.exec(&stage).words("Do it.").run().envelope()
}

/// The whole of `data` that a good run gives, but for durations and the program's path.
fn expected(dialect: &Dialect, answer: &str) -> Value {
    let record = &dialect.record;
    let parts = record.usage.as_ref().map(|usage| usage.breakdown.clone()).unwrap_or_default();
    let figures = dialect.figures();
    let figure = |path: &Option<_>| path.as_ref().map(|path| figures[path]);
    let cost = record.usage.as_ref().and_then(|usage| usage.cost_path.as_ref()).map(|_| COST);
    let is_enforced = record.access.enforcement == NativeEnforcement::Backend;
    let unenforced = json!([{
        "code": "access_not_enforced",
        "message": format!("nobody enforces this access: {}'s own permission rules are all that \
                            keeps it", record.display_name),
    }]);
    let mut data = json!({"result": answer});
    data.as_object_mut().unwrap().extend(dialect.metadata_told());
    let rest = json!({
        "usage": dialect.charged(1),
        "usageWindows": null,
        "run": {
            "durations_ms": null,
            "exit": {"code": 0, "signal": null, "kind": "exited"},
            "containment": {"kind": "pid-namespace", "degraded": false},
            "access_enforcement": {
                "kind": if is_enforced { "backend" } else { "none" },
                "verified": false,
            },
            "survivors": [],
            "left_behind": 0,
            "cancel_rung_reached": null,
            "warnings": if is_enforced { json!([]) } else { unenforced },
            "executor": {
                "id": dialect.id(),
                "source": dialect.source(),
                "chosen_by": "invocation",
                "program": null,
                "version": null,
            },
            "backend_session_id": dialect.session_told(),
            "tokens": {
                "input": figure(&parts.input),
                "output": figure(&parts.output),
                "reasoning": figure(&parts.reasoning),
                "cache_read": figure(&parts.cache_read),
                "cache_write": figure(&parts.cache_write),
                "total": dialect.charged(1),
            },
            "cost": cost,
            "failure": null,
        },
    });
    data.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    data
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

#[test]
fn clause_ok_maps_exactly_the_expected_data() {
    every("ok-maps-exactly", |dialect| {
        let answer = "  \n It is done. \n\nÄ second line.\n";
        let envelope = run(dialect, [dialect.ok(answer).told()]);
        let mut found = envelope.data().clone();
        for place in ["/run/durations_ms", "/run/executor/program"] {
            assert!(!found.pointer(place).unwrap().is_null(), "{place}");
            *found.pointer_mut(place).unwrap() = Value::Null;
        }
        let wanted = expected(dialect, answer);
        assert_eq!(found, wanted);
        assert_eq!((keys(&found), keys(&found["run"])), (keys(&wanted), keys(&wanted["run"])));
        assert_eq!(keys(&envelope.0), ["status", "data", "summary"]);
        assert_eq!(envelope.0["summary"], "It is done.");
        let typed: Data = serde_json::from_value(envelope.data().clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), *envelope.data());
    });
}

#[test]
fn clause_bom_before_the_stream_is_nothing() {
    every("bom", |dialect| {
        let envelope = run(dialect, [say("\u{feff}"), dialect.ok("Done.").told()]);
        envelope.ok("Done.");
        assert_eq!(envelope.data().get("malformedStreamLines"), None);
        assert_eq!(envelope.data()["usage"], json!(dialect.charged(1)));
    });
}

#[test]
fn clause_self_reported_failure_at_exit_0_is_a_failure() {
    every("self-reported-failure", |dialect| {
        for rule in &dialect.record.output.failure {
            let failing = dialect.failing(rule, "It could not be done.");
            let envelope = run(dialect, [dialect.tale([failing]).told()]);
            envelope.failed("executorRunFailed");
            assert_eq!(envelope.message(), "It could not be done.");
            assert_eq!(envelope.class(), "backend_execution_failed");
            assert_eq!(envelope.run()["exit"]["code"], 0);
        }
    });
}

#[test]
fn clause_self_reported_failure_has_the_class_of_its_recorded_phrase() {
    every("self-reported-failure-class", |dialect| {
        for rule in &dialect.record.output.failure {
            for signal in rule.signals.iter().chain(&dialect.record.output.signals) {
                let said = format!("so it said: {} (really)", signal.contains);
                let failing = dialect.failing(rule, &said);
                let envelope = run(dialect, [dialect.tale([failing]).told()]);
                assert_eq!(envelope.failed("executorRunFailed").class(), signal.class.name());
                assert_eq!(envelope.run()["failure"]["matched_signal"], signal.contains.as_str());
            }
        }
    });
}

#[test]
fn clause_payload_at_non_zero_exit_is_kept() {
    every("payload-at-non-zero-exit", |dialect| {
        let stderr = || Step::Stderr("first\nit went wrong here\n".to_owned());
        let rule = &dialect.record.output.failure[0];
        let failing = dialect.failing(rule, "It could not be done.");
        let told = match dialect.is_single() {
            true => dialect.ok("Half of it.").records().to_vec(),
            false => dialect.unproven("Half of it."),
        };
        let tale = dialect.tale(told.clone()).then([failing]).told();
        let envelope = run(dialect, [tale, stderr(), Step::Exit(3)]);
        assert_eq!(envelope.failed("executorRunFailed").message(), "It could not be done.");
        keeps_payload(dialect, &envelope);
        if !dialect.is_single() {
            let envelope = run(dialect, [dialect.tale(told).told(), stderr(), Step::Exit(3)]);
            let message = envelope.failed("executorRunFailed").message();
            assert!(message.contains("exited 3") && message.contains("it went wrong here"));
            keeps_payload(dialect, &envelope);
        }
    });
}

fn keeps_payload(dialect: &Dialect, envelope: &Envelope) {
    assert_eq!(envelope.run()["exit"]["code"], 3);
    for (key, value) in dialect.metadata_told() {
        assert_eq!(envelope.data()[&key], value, "{envelope:#?}");
    }
    if dialect.is_single() || dialect.answers_apart() {
        assert_eq!(envelope.result(), "Half of it.");
    }
}

#[test]
fn clause_payload_at_non_zero_exit_after_a_good_terminal_record_is_ok_with_a_warning() {
    every("non-zero-exit-after-result", |dialect| {
        let envelope = run(dialect, [dialect.ok("Done.").told(), Step::Exit(1)]);
        let warning = envelope.ok("Done.").warning("exit_after_result");
        assert!(warning.is_some_and(|text| text.contains("exited 1")), "{envelope:#?}");
        assert_eq!(envelope.run()["exit"]["code"], 1);
    });
}

#[test]
fn clause_failure_then_more_output_stays_a_failure() {
    every("failure-then-more", |dialect| {
        let Some(rule) = dialect.failure_rule(false) else { return };
        let failing = dialect.failing(rule, "It could not be done.");
        let tale = dialect.tale([failing]).then(dialect.ok("All is well.").records().to_vec());
        let envelope = run(dialect, [tale.told()]);
        assert_eq!(envelope.failed("executorRunFailed").message(), "It could not be done.");
    });
}

#[test]
fn clause_failure_then_more_output_after_a_good_end_is_a_failure_too() {
    every("failure-after-success", |dialect| {
        for rule in &dialect.record.output.failure {
            let failing = dialect.failing(rule, "It could not be done.");
            let mut tale: Tale = dialect.ok("All is well.").then([failing]);
            if !dialect.is_single() {
                tale = tale.then([dialect.reasoning("Hm.")]);
            }
            let envelope = run(dialect, [tale.told()]);
            let message = envelope.failed("executorRunFailed").message();
            assert_eq!(message, "It could not be done.");
        }
    });
}

#[test]
fn clause_reasoning_is_never_the_answer() {
    every("reasoning", |dialect| {
        let secret = "What I think of you.";
        let before = dialect.tale([dialect.reasoning(secret)]);
        let tale = before.then(dialect.ok("Done.").records().to_vec());
        let after = if dialect.is_single() { tale } else { tale.then([dialect.reasoning(secret)]) };
        let stage = Stage::new([after.told()]);
        let outcome = dialect.exec(&stage).arg("--events").words("Do it.").run();
        outcome.events().1.ok("Done.");
        assert!(!outcome.text().contains(secret), "{outcome:?}");
        // Without an answer there is none; reasoning does not stand in for it.
        let alone = dialect.tale([dialect.reasoning(secret), dialect.success()]);
        let envelope = run(dialect, [alone.told()]);
        envelope.failed("executorNoResult");
        assert!(!envelope.0.to_string().contains(secret));
    });
}

#[test]
fn clause_recovered_error_then_success_is_ok_with_a_warning() {
    every_with(
        "recovered-error",
        |dialect| dialect.failure_rule(true).is_some(),
        |dialect| {
            let rule = dialect.failure_rule(true).unwrap();
            let failing = || dialect.failing(rule, "It will be tried again.");
            let recovery = rule.recovered_by.iter().map(crate::common::shape::shape);
            let tale = dialect.tale([failing(), failing()]).then(recovery);
            let envelope = run(dialect, [tale.then(dialect.ok("Done.").records().to_vec()).told()]);
            let warning = envelope.ok("Done.").warning("recovered_errors").unwrap();
            assert!(warning.contains('2'), "{warning}");
            // Before what shows recovery it is none, whatever text there is.
            let tale = dialect.tale([failing(), dialect.answer("Half of it.")]);
            let envelope = run(dialect, [tale.told()]);
            assert_eq!(envelope.failed("executorRunFailed").message(), "It will be tried again.");
        },
    );
}
