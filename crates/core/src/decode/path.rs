//! Paths into JSON values, written `item.usage.0.tokens`.
//!
//! A segment matches an own key of an object, or, where it is a plain number, an element of an
//! array. `*` alone matches each element of an array. `\.`, `\\` and `\*` stand for themselves.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// Most segments a path may have. The JSON parser refuses deeper values anyway (its limit is 128).
pub const MAX_SEGMENTS: usize = 64;

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// Two dots in a row, or one at an end.
    #[error("segment {position} of path `{path}` is empty")]
    EmptySegment {
        /// The text as given.
        path: String,
        /// Which segment, counted from 1.
        position: usize,
    },
    /// A backslash before anything but `.`, `\` or `*`.
    #[error("path `{path}` has a backslash that escapes nothing (only `\\.`, `\\\\` and `\\*` do)")]
    BadEscape {
        /// The text as given.
        path: String,
    },
    /// More than [`MAX_SEGMENTS`].
    #[error("path `{path}` has more than {MAX_SEGMENTS} segments")]
    TooDeep {
        /// The text as given.
        path: String,
    },
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// An own key of an object, or an element of an array.
    Own {
        /// The key, unescaped.
        key: String,
        /// The same as an array index, if the key is a number in its plain form.
        index: Option<usize>,
    },
    /// Each element of an array.
    Each,
}

impl Segment {
    fn own(key: String) -> Self {
        // `01` and `+1` are keys only, so that one element has one name.
        let index = key.parse::<usize>().ok().filter(|index| index.to_string() == key);
        Self::Own { key, index }
    }
}

/// A non-empty path without empty segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Vec<Segment>);

impl Path {
    /// The steps, never empty.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The value at this path; with `*`, the first one that matches.
    #[must_use]
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        first(&self.0, value)
    }

    /// Every value at this path, in order; more than one only with `*`.
    #[must_use]
    pub fn get_all<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for segment in &self.0 {
            found = found.into_iter().flat_map(|value| step(segment, value)).collect();
        }
        found
    }
}

/// In an object of at most this many keys a walk is faster than hashing the key.
const WALKED: usize = 8;

fn own<'v>(key: &str, index: Option<usize>, value: &'v Value) -> Option<&'v Value> {
    match value {
        Value::Object(map) if map.len() <= WALKED => {
            map.iter().find_map(|(name, value)| (name == key).then_some(value))
        }
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(index?),
        _ => None,
    }
}

fn step<'v>(segment: &Segment, value: &'v Value) -> Vec<&'v Value> {
    match (segment, value) {
        (Segment::Own { key, index }, _) => own(key, *index, value).into_iter().collect(),
        (Segment::Each, Value::Array(items)) => items.iter().collect(),
        (Segment::Each, _) => Vec::new(),
    }
}

fn first<'v>(segments: &[Segment], value: &'v Value) -> Option<&'v Value> {
    let Some((segment, rest)) = segments.split_first() else { return Some(value) };
    match (segment, value) {
        (Segment::Own { key, index }, _) => first(rest, own(key, *index, value)?),
        (Segment::Each, Value::Array(items)) => items.iter().find_map(|item| first(rest, item)),
        (Segment::Each, _) => None,
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let raw = split(text).ok_or_else(|| PathError::BadEscape { path: text.to_owned() })?;
        if let Some(at) = raw.iter().position(|(key, _)| key.is_empty()) {
            return Err(PathError::EmptySegment { path: text.to_owned(), position: at + 1 });
        }
        if raw.len() > MAX_SEGMENTS {
            return Err(PathError::TooDeep { path: text.to_owned() });
        }
        let segment = |(key, escaped): (String, bool)| {
            if key == "*" && !escaped { Segment::Each } else { Segment::own(key) }
        };
        Ok(Self(raw.into_iter().map(segment).collect()))
    }
}

/// Splits at unescaped dots; each part says whether it held an escape. `None`: a bad escape.
fn split(text: &str) -> Option<Vec<(String, bool)>> {
    let mut parts = Vec::new();
    let (mut key, mut escaped) = (String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '.' => parts.push((std::mem::take(&mut key), std::mem::take(&mut escaped))),
            '\\' => {
                key.push(letters.next().filter(|next| matches!(next, '.' | '\\' | '*'))?);
                escaped = true;
            }
            _ => key.push(letter),
        }
    }
    parts.push((key, escaped));
    Some(parts)
}

impl fmt::Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                out.write_str(".")?;
            }
            match segment {
                Segment::Each => out.write_str("*")?,
                Segment::Own { key, .. } if key == "*" => out.write_str("\\*")?,
                Segment::Own { key, .. } => {
                    out.write_str(&key.replace('\\', "\\\\").replace('.', "\\."))?;
                }
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Path {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.to_string()
    }
}
