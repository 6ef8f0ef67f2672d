//! A dialect: streams for one executor record, written from that record's own rules, so that a
//! record nobody thought of is tested by the tests there are.

use std::collections::BTreeMap;
use std::path::{Path as File, PathBuf};
use std::sync::Arc;

use dcli_core::decode::Path;
use dcli_core::executor::Catalogue;
use dcli_core::executor::record::{FailureRule, Format, Record};
use dcli_core::executor::rule::{FactKind, FactRule, Field, Matcher};
use serde_json::{Value, json};

use super::shape::{merged, put, shape};
use super::stage::{Exec, Stage};
use super::tale::Tale;

/// What every answer costs, where the record knows costs.
pub(crate) const COST: f64 = 0.25;

/// One record and how to run it.
#[derive(Clone)]
pub(crate) struct Dialect {
    pub(crate) record: Arc<Record>,
    file: Option<PathBuf>,
}

impl Dialect {
    /// Every shipped record, and the ones that the engine has never seen.
    pub(crate) fn all() -> Vec<Self> {
        let catalogue = Catalogue::shipped().unwrap();
        let shipped = catalogue.iter().map(|e| Self { record: Arc::clone(&e.record), file: None });
        shipped.chain(Self::unseen()).collect()
    }

    /// The records that the engine has never seen, each from its file.
    pub(crate) fn unseen() -> Vec<Self> {
        let directory = File::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
        let entries = std::fs::read_dir(&directory).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let read = |file: PathBuf| {
            let text = std::fs::read_to_string(&file).unwrap();
            let record = Record::from_toml(&text, &file.display().to_string()).unwrap();
            Self { record: Arc::new(record), file: Some(file) }
        };
        files.into_iter().map(read).collect()
    }

    pub(crate) fn of(id: &str) -> Self {
        let found = Self::all().into_iter().find(|dialect| dialect.id() == id);
        found.unwrap_or_else(|| panic!("no record {id}"))
    }

    pub(crate) fn id(&self) -> &str {
        &self.record.id
    }

    /// Where the record is from, in the words of the envelope.
    pub(crate) fn source(&self) -> &'static str {
        if self.file.is_some() { "file" } else { "shipped" }
    }

    pub(crate) fn is_single(&self) -> bool {
        self.record.output.format == Format::SingleObject
    }

    /// `dcli exec` with this record and the stage's agent.
    pub(crate) fn exec<'s>(&self, stage: &'s Stage) -> Exec<'s> {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        match &file {
            Some(file) => stage.exec_as(&["--record", file]),
            None => stage.exec(self.id()),
        }
    }

    /// `dcli exec` with this record and the record's own command.
    pub(crate) fn exec_itself<'s>(&self, stage: &'s Stage) -> Exec<'s> {
        let choice = match &self.file {
            Some(file) => ["--record".to_owned(), file.display().to_string()],
            None => ["--backend".to_owned(), self.id().to_owned()],
        };
        stage.dcli().arg("exec").args(choice)
    }

    /// A tale of these records.
    pub(crate) fn tale(&self, records: impl IntoIterator<Item = Value>) -> Tale {
        Tale::new(self.record.output.format, records)
    }

    /// A run that went well: metadata, answer, usage and the proof of success, in as few records
    /// as the rules allow.
    pub(crate) fn ok(&self, answer: &str) -> Tale {
        let mut last = self.success();
        let mut apart = Vec::new();
        for part in self.metadata().into_iter().chain([self.answer(answer)]).chain(self.usage(1)) {
            match merged(&last, &part) {
                Some(both) => last = both,
                None => apart.push(part),
            }
        }
        self.tale(apart).then([last])
    }

    /// The record that proves success; a single object proves it by its answer.
    pub(crate) fn success(&self) -> Value {
        let terminal = self.record.output.terminal.as_ref();
        terminal.map_or_else(|| json!({}), |terminal| shape(&terminal.success))
    }

    /// The record that holds the answer.
    pub(crate) fn answer(&self, answer: &str) -> Value {
        let rule = &self.record.output.result;
        with(&rule.when, &rule.path, json!(answer))
    }

    /// All of a good run but the proof of success, and the answer only where it comes apart.
    pub(crate) fn unproven(&self, answer: &str) -> Vec<Value> {
        let success = &self.record.output.terminal.as_ref().unwrap().success;
        let parts = self.metadata().into_iter().chain([self.answer(answer)]).chain(self.usage(1));
        parts.filter(|part| !success.matches(part)).collect()
    }

    /// Whether the answer comes in another record than the proof of success.
    pub(crate) fn answers_apart(&self) -> bool {
        merged(&self.success(), &self.answer("x")).is_none()
    }

    /// Records with every metadata key.
    fn metadata(&self) -> Vec<Value> {
        let rules = self.record.output.metadata.iter();
        rules.map(|rule| with(&rule.when, &rule.path, json!(meta(&rule.key)))).collect()
    }

    /// The metadata that [`Dialect::ok`] carries.
    pub(crate) fn metadata_told(&self) -> Vec<(String, Value)> {
        let rules = self.record.output.metadata.iter();
        rules.map(|rule| (rule.key.clone(), json!(meta(&rule.key)))).collect()
    }

    /// The session that [`Dialect::ok`] names.
    pub(crate) fn session_told(&self) -> Option<String> {
        let rule = self.record.output.metadata.iter().find(|rule| rule.session)?;
        Some(meta(&rule.key))
    }

    /// The billed record, all its figures multiplied.
    pub(crate) fn usage(&self, times: u64) -> Option<Value> {
        let usage = self.record.usage.as_ref()?;
        let mut billed = shape(&usage.usage_when);
        for (path, figure) in self.figures() {
            put(&mut billed, &path, json!(figure * times));
        }
        if let Some(path) = &usage.cost_path {
            put(&mut billed, path, json!(COST));
        }
        Some(billed)
    }

    /// A different figure for each place where one is read.
    pub(crate) fn figures(&self) -> BTreeMap<Path, u64> {
        let Some(usage) = &self.record.usage else { return BTreeMap::new() };
        let parts = &usage.breakdown;
        let parts =
            [&parts.input, &parts.output, &parts.reasoning, &parts.cache_read, &parts.cache_write];
        let mut paths: Vec<Path> = usage.usage_paths.clone();
        for part in parts.into_iter().flatten() {
            if !paths.contains(part) {
                paths.push(part.clone());
            }
        }
        paths.into_iter().zip((1..).map(|index| index * 100 + index)).collect()
    }

    /// What [`Dialect::usage`] amounts to.
    pub(crate) fn charged(&self, times: u64) -> Option<u64> {
        let usage = self.record.usage.as_ref()?;
        let figures = self.figures();
        Some(usage.usage_paths.iter().map(|path| figures[path] * times).sum())
    }

    /// The first failure rule that nothing recovers, or the first that something does.
    pub(crate) fn failure_rule(&self, is_recoverable: bool) -> Option<&FailureRule> {
        let mut rules = self.record.output.failure.iter();
        rules.find(|rule| rule.recovered_by.is_empty() != is_recoverable)
    }

    /// A record that fails by this rule.
    pub(crate) fn failing(&self, rule: &FailureRule, message: &str) -> Value {
        let mut record = shape(&rule.when);
        if let Some(path) = &rule.flag_path {
            put(&mut record, path, json!(true));
        } else if let (Some(path), Some(prefix)) = (&rule.status_path, &rule.status_prefix) {
            put(&mut record, path, json!(format!("{prefix}_measured")));
        }
        if let Some(path) = rule.message_paths.first() {
            put(&mut record, path, json!(message));
        }
        record
    }

    /// A record of the model's reasoning, its words also where an answer would be.
    pub(crate) fn reasoning(&self, words: &str) -> Value {
        let rule = self.record.facts.iter().find(|rule| rule.fact == FactKind::Reasoning);
        let mut record = rule.map_or_else(
            || json!({"unknown_record": "reasoning"}),
            |rule| made(rule, &[("text", json!(words)), ("thinking", json!(words))]),
        );
        if self.is_single() {
            record["reasoning"] = json!(words);
            return record;
        }
        let answer = with(&Matcher::default(), &self.record.output.result.path, json!(words));
        if let Some(both) = merged(&record, &answer) {
            record = both;
        }
        assert!(!self.record.output.result.when.matches(&record), "that is an answer: {record}");
        record
    }

    /// A record that makes this fact, where the record has a rule for it.
    pub(crate) fn fact(&self, kind: FactKind, fields: &[(&str, Value)]) -> Option<Value> {
        let with = |rule: &FactRule| {
            let prefix = rule.prefix.as_ref();
            let prefix = prefix.map(|prefix| ("summary", json!(format!("{prefix} …"))));
            let fields: Vec<_> = fields.iter().cloned().chain(prefix).collect();
            // A field may lie where the rule wants something else.
            Some(made(rule, &fields)).filter(|record| rule.when.matches(record))
        };
        self.record.facts.iter().filter(|rule| rule.fact == kind).find_map(with)
    }
}

fn meta(key: &str) -> String {
    format!("the {key}")
}

fn with(when: &Matcher, path: &Path, leaf: Value) -> Value {
    let mut record = shape(when);
    put(&mut record, path, leaf);
    record
}

/// The record that `rule` makes its fact of.
fn made(rule: &FactRule, fields: &[(&str, Value)]) -> Value {
    let (mut record, mut element) = (shape(&rule.when), shape(&rule.element));
    for (name, value) in fields {
        let field = rule.fields.get(*name).map(|fields| fields.fields()[0].clone());
        match field {
            Some(Field::Record(path)) => put(&mut record, &path, value.clone()),
            Some(Field::Element(Some(path))) => put(&mut element, &path, value.clone()),
            Some(Field::Element(None)) => element = value.clone(),
            None if rule.each.is_some() => element[*name] = value.clone(),
            None => {}
        }
    }
    if let Some(each) = &rule.each {
        put(&mut record, each, json!([element]));
    }
    record
}
