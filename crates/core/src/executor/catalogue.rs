//! The catalogue: the shipped records and those the user added, keyed by each record's own id.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::record::Record;
use super::validate::RecordError;

/// The shipped records: (file name, text).
const SHIPPED: &[(&str, &str)] = &[
    ("claude.toml", include_str!("../../records/claude.toml")),
    ("codex.toml", include_str!("../../records/codex.toml")),
    ("gemini.toml", include_str!("../../records/gemini.toml")),
    ("opencode.toml", include_str!("../../records/opencode.toml")),
    ("qwen.toml", include_str!("../../records/qwen.toml")),
];

/// Where a record came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Compiled in.
    Shipped,
    /// A file in the user's configuration directory.
    User,
    /// A file named by the caller.
    File,
}

impl Source {
    /// The word that is written in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::User => "user",
            Self::File => "file",
        }
    }
}

/// A validated record with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Executor {
    /// The record.
    pub record: Arc<Record>,
    /// Where it came from.
    pub source: Source,
    /// The file, or the name of the shipped one.
    pub origin: String,
}

/// Why an id gives no executor.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no executor is called {id:?}; known: {}", known.join(", "))]
pub struct NotFound {
    /// What was asked for.
    pub id: String,
    /// What there is.
    pub known: Vec<String>,
}

/// All executors that may be run.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    executors: BTreeMap<String, Executor>,
}

impl Catalogue {
    /// The shipped records alone.
    ///
    /// # Errors
    /// A shipped record that is invalid; the tests hold that there is none.
    pub fn shipped() -> Result<Self, RecordError> {
        let mut catalogue = Self::default();
        for (name, text) in SHIPPED {
            catalogue.add(text, Source::Shipped, name)?;
        }
        Ok(catalogue)
    }

    /// Adds a record; one with the same id takes the place of an earlier one.
    ///
    /// # Errors
    /// The record is invalid, or its id or alias is another record's.
    pub fn add(&mut self, text: &str, source: Source, origin: &str) -> Result<(), RecordError> {
        let record = Record::from_toml(text, origin)?;
        if let Some(taken) = self.taken(&record) {
            return Err(RecordError::Key {
                id: record.id,
                origin: origin.to_owned(),
                key: "aliases".to_owned(),
                problem: format!("{taken:?} already names another record"),
            });
        }
        let id = record.id.clone();
        let record = Arc::new(record);
        self.executors.insert(id, Executor { record, source, origin: origin.to_owned() });
        Ok(())
    }

    /// The executor with this id or alias.
    ///
    /// # Errors
    /// No record has it; the error lists the ids there are.
    pub fn find(&self, id: &str) -> Result<&Executor, NotFound> {
        let by_alias =
            || self.executors.values().find(|e| e.record.aliases.iter().any(|alias| alias == id));
        self.executors.get(id).or_else(by_alias).ok_or_else(|| NotFound {
            id: id.to_owned(),
            known: self.executors.keys().cloned().collect(),
        })
    }

    /// All executors, in order of id.
    pub fn iter(&self) -> impl Iterator<Item = &Executor> {
        self.executors.values()
    }

    fn taken(&self, record: &Record) -> Option<String> {
        let others = || self.executors.values().filter(|other| other.record.id != record.id);
        let clash = |name: &String| {
            others().any(|other| other.record.id == *name || other.record.aliases.contains(name))
        };
        record.aliases.iter().chain(std::iter::once(&record.id)).find(|name| clash(name)).cloned()
    }
}
