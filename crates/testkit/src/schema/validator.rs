//! The validator of `schemas/` as a child process: one for all tests of a program.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use super::closed;

/// Environment variable that turns every skip into a failure.
const REQUIRE: &str = "DCLI_REQUIRE_ALL";

/// The validator is not installed, or Node is not.
#[derive(Debug, thiserror::Error)]
#[error("the schema validator cannot run: {reason}; it takes Node 20 and `npm ci` in schemas/")]
pub struct ValidatorMissing {
    reason: String,
}

/// A running validator.
#[derive(Debug)]
pub struct Validator {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    known: HashSet<String>,
}

impl Validator {
    /// Starts it.
    ///
    /// # Errors
    /// It is not installed.
    pub fn start() -> Result<Self, ValidatorMissing> {
        let missing = |reason: String| ValidatorMissing { reason };
        let directory = directory();
        if !directory.join("node_modules/ajv/package.json").is_file() {
            return Err(missing(format!("{} holds no ajv", directory.display())));
        }
        let mut command = Command::new("node");
        command.arg("validate.cjs").current_dir(&directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| missing(format!("node: {error}")))?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| missing("no standard output".to_owned()))?;
        Ok(Self { child, requests, answers: BufReader::new(answers), known: HashSet::new() })
    }

    /// Holds `value` to `schema`, which is told apart from others by its `$id`.
    ///
    /// # Errors
    /// What does not fit, in the validator's words.
    pub fn check(&mut self, schema: &Value, value: &Value) -> Result<(), String> {
        let id = schema["$id"].as_str().ok_or("the schema has no $id")?;
        let schema = self.known.insert(id.to_owned()).then_some(schema);
        let request = json!({"id": id, "schema": schema, "value": value});
        let answer = self.ask(&request).map_err(|error| format!("the validator: {error}"))?;
        match serde_json::from_str(&answer) {
            Ok(Value::Null) => Ok(()),
            Ok(Value::String(fault)) => Err(fault),
            _ => Err(format!("the validator said {answer:?}")),
        }
    }

    fn ask(&mut self, request: &Value) -> std::io::Result<String> {
        let mut requests = self.requests.as_ref().ok_or(std::io::ErrorKind::BrokenPipe)?;
        requests.write_all(format!("{request}\n").as_bytes())?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Validator {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.requests.take());
        drop(self.child.wait());
    }
}

/// Holds `value` to `schema` in its closed form, by the one validator of this process.
///
/// Where none is installed, nothing is checked, which standard error says once; with
/// `DCLI_REQUIRE_ALL` set that is an error.
///
/// # Errors
/// What does not fit, and in which value.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    static VALIDATOR: OnceLock<Result<Mutex<Validator>, String>> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let started = Validator::start().map(Mutex::new).map_err(|missing| missing.to_string());
        if let Err(missing) = &started {
            let said = format!("SKIPPED: {missing}\n");
            drop(std::io::stderr().write_all(said.as_bytes()));
        }
        started
    });
    match validator {
        Ok(validator) => {
            let mut validator = validator.lock().unwrap_or_else(PoisonError::into_inner);
            let told = validator.check(&closed(schema), value);
            told.map_err(|fault| format!("{}: {fault}\nin {value:#}", schema["$id"]))
        }
        Err(missing) if std::env::var_os(REQUIRE).is_some() => Err(missing.clone()),
        Err(_) => Ok(()),
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_its_schema_or_the_fault_is_named() {
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "urn:test:a", "type": "object", "properties": {"a": {"type": "integer"}},
            "required": ["a"]});
        check(&schema, &json!({"a": 1})).unwrap();
        if Validator::start().is_err() {
            // Said by the line above, or failed by it.
            return;
        }
        for (value, fault) in [
            (json!({"a": "1"}), "value/a must be integer"),
            (json!({}), "must have required property 'a'"),
            (json!({"a": 1, "b": 2}), "must NOT have unevaluated properties"),
        ] {
            let told = check(&schema, &value).unwrap_err();
            assert!(told.contains(fault) && told.contains("urn:test:a"), "{told}");
        }
    }

    #[test]
    fn a_keyword_that_holds_nothing_is_refused() {
        let Ok(mut validator) = Validator::start() else {
            assert!(std::env::var_os(REQUIRE).is_none(), "the validator is not installed");
            return;
        };
        let schema = json!({"$id": "urn:test:b", "propertys": {}});
        let told = validator.check(&schema, &json!({})).unwrap_err();
        assert!(told.contains("unknown keyword"), "{told}");
        validator.check(&json!({"$id": "urn:test:c"}), &json!("ü\u{2028}\n")).unwrap();
    }
}
