//! Rules: how a record's data picks records out of a stream and fields out of records.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::decode::Path;
use crate::exit::FailureClass;

/// A scalar, or a list of scalars of which one must match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// A flag.
    Flag(bool),
    /// An integer.
    Number(i64),
    /// A string, compared whole.
    Text(String),
    /// Any of these.
    AnyOf(Vec<Expected>),
}

impl Expected {
    fn holds(&self, found: &Value) -> bool {
        match self {
            Self::Flag(flag) => found.as_bool() == Some(*flag),
            Self::Number(number) => found.as_i64() == Some(*number),
            Self::Text(text) => found.as_str() == Some(text),
            Self::AnyOf(any) => any.iter().any(|expected| expected.holds(found)),
        }
    }
}

/// Paths with what must be found there; all must hold. An empty matcher matches every record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Matcher(pub BTreeMap<Path, Expected>);

impl Matcher {
    /// Whether every path holds what is expected.
    #[must_use]
    pub fn matches(&self, record: &Value) -> bool {
        self.0.iter().all(|(path, expected)| path.get(record).is_some_and(|v| expected.holds(v)))
    }

    /// True where nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A path into the record, or (written with a leading `@.`) into the element that `each` walks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Into the record.
    Record(Path),
    /// Into the element; `None` is the element itself (`@`).
    Element(Option<Path>),
}

impl Field {
    /// The value there, if any.
    #[must_use]
    pub fn get<'v>(&self, record: &'v Value, element: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Record(path) => path.get(record),
            Self::Element(Some(path)) => path.get(element),
            Self::Element(None) => Some(element),
        }
    }
}

impl std::str::FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "@" {
            return Ok(Self::Element(None));
        }
        let parse = |path: &str| path.parse::<Path>().map_err(|error| error.to_string());
        match text.strip_prefix("@.") {
            Some(rest) => parse(rest).map(|path| Self::Element(Some(path))),
            None => parse(text).map(Self::Record),
        }
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Record(path) => write!(f, "{path}"),
            Self::Element(Some(path)) => write!(f, "@.{path}"),
            Self::Element(None) => f.write_str("@"),
        }
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Which fact a rule makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// `session_id`.
    Started,
    /// `text`, `message_id`.
    AssistantText,
    /// `message_id`.
    Reasoning,
    /// `call_id`, `tool`, `summary`.
    ToolInvoked,
    /// `call_id`, `summary`; ok where `failed` does not match.
    ToolResult,
    /// `task_id`.
    TaskStarted,
    /// `task_id`, `outcome`.
    TaskSettled,
    /// `attempt`, `next_at`, and `summary` for the prefix.
    Retrying,
    /// `call_id`, `summary`: a permission was asked and nobody could give it.
    PermissionDenied,
    /// `request_id`, `detail`: something is asked, and an answer is waited for. With `dialogue` alone.
    Asked,
    /// `request_id`: it is not asked any more. With `dialogue` alone.
    Withdrawn,
}

impl FactKind {
    /// Whether it makes no fact but a request for an answer, or its end.
    #[must_use]
    pub fn is_request(self) -> bool {
        matches!(self, Self::Asked | Self::Withdrawn)
    }
}

/// How records become facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactRule {
    /// The fact to make.
    pub fact: FactKind,
    /// Which records.
    #[serde(default)]
    pub when: Matcher,
    /// An array in the record: one fact for each element that `element` matches.
    pub each: Option<Path>,
    /// Which elements of `each`.
    #[serde(default)]
    pub element: Matcher,
    /// For a tool result: what in the element (the record, without `each`) shows that it failed.
    pub failed: Option<Matcher>,
    /// A name for the tool where the record does not hold one.
    pub tool_name: Option<String>,
    /// Text that the field `summary` must begin with.
    pub prefix: Option<String>,
    /// The field of each name that [`FactKind`] lists; for `summary` the first that is there.
    #[serde(default)]
    pub fields: BTreeMap<String, OneOrMany>,
}

/// One field, or several of which the first present is taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(Field),
    /// The first that is there.
    Many(Vec<Field>),
}

impl OneOrMany {
    /// The fields in order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::One(field) => std::slice::from_ref(field),
            Self::Many(fields) => fields,
        }
    }
}

/// A recorded phrase and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The phrase, matched as a substring.
    pub contains: String,
    /// What it means.
    pub class: FailureClass,
    /// The HTTP status behind it, where that is known.
    pub http_code: Option<u16>,
    /// Whether trying again may help.
    pub retryable: Option<bool>,
    /// Words after which the text says when to try again, in the vendor's own form.
    pub retry_at_after: Option<String>,
}

/// What one CLI's own name for an error means, beside the names that the large vendors document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorType {
    /// The name, compared whole.
    pub name: String,
    /// What it means.
    pub class: FailureClass,
    /// Whether trying again may help.
    pub retryable: bool,
}

/// Records that say more about a failure which another record reports after them. Each one that
/// `when` matches takes the place of what the rule had kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRule {
    /// Which records.
    pub when: Matcher,
    /// Where this does not hold, nothing is kept.
    #[serde(default)]
    pub only_if: Matcher,
    /// The provider's error type.
    pub error_type_path: Option<Path>,
    /// When to try again, counted where the failure is one of quota.
    pub retry_at_path: Option<Path>,
}
