//! Reads one line of JSON and builds only the parts that somebody asked for.
//!
//! The whole text is still checked to be one JSON value; what nobody wants is skipped in place.
//! A stream of large tool outputs then costs little more than finding where its strings end.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error;

use super::path::{Path, Segment};
use super::surrogate;

/// Why a text gave no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProjectError {
    /// Not one JSON value with nothing after it, or a wanted part nested deeper than 128.
    #[error("not JSON")]
    NotJson,
    /// JSON, but no object.
    #[error("not a JSON object")]
    NotObject,
}

/// A set of wanted paths, compiled once and applied to many lines.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    root: Node,
}

#[derive(Debug, Clone, Default)]
struct Node {
    /// The whole value is wanted, whatever lies below.
    whole: bool,
    own: Vec<Child>,
    each: Option<Box<Node>>,
}

#[derive(Debug, Clone)]
struct Child {
    key: String,
    index: Option<usize>,
    node: Node,
}

impl Projection {
    /// Compiles the wanted paths. A path that is the start of another one keeps its whole value.
    #[must_use]
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Self {
        let mut root = Node::default();
        for path in paths {
            root.insert(path.segments());
        }
        Self { root }
    }

    /// Everything is wanted.
    #[must_use]
    pub fn whole() -> Self {
        Self { root: Node { whole: true, ..Node::default() } }
    }

    /// The object in `text`, with the wanted parts only.
    ///
    /// For every wanted path, [`Path::get`] on the answer equals [`Path::get`] on the whole value.
    /// Elements of an array before a wanted one are `null`, so that indices hold. Of two
    /// equal keys the last one counts. An unpaired surrogate escape (JavaScript prints one where it
    /// cut a string in the middle of a character) reads as U+FFFD.
    ///
    /// # Errors
    /// [`ProjectError`], for a text that is not one JSON object.
    pub fn project(&self, text: &str) -> Result<Value, ProjectError> {
        match self.read(text) {
            Err(ProjectError::NotJson) => {
                let repaired = surrogate::repaired(text).ok_or(ProjectError::NotJson)?;
                self.read(&repaired)
            }
            answer => answer,
        }
    }

    fn read(&self, text: &str) -> Result<Value, ProjectError> {
        let inside = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if !inside.starts_with('{') {
            let skipped = serde_json::from_str::<IgnoredAny>(inside);
            return Err(skipped.map_or(ProjectError::NotJson, |_| ProjectError::NotObject));
        }
        let mut reader = serde_json::Deserializer::from_str(inside);
        let read = Wanted::One(&self.root).deserialize(&mut reader);
        let value = read.map_err(|_| ProjectError::NotJson)?;
        reader.end().map_err(|_| ProjectError::NotJson)?;
        value.ok_or(ProjectError::NotObject)
    }
}

impl Node {
    fn insert(&mut self, segments: &[Segment]) {
        let mut node = self;
        for segment in segments {
            node = match segment {
                Segment::Each => node.each.get_or_insert_default(),
                Segment::Own { key, index } => node.child(key, *index),
            };
        }
        node.whole = true;
    }

    fn child(&mut self, key: &str, index: Option<usize>) -> &mut Self {
        let at = self.own.iter().position(|child| child.key == key).unwrap_or_else(|| {
            self.own.push(Child { key: key.to_owned(), index, node: Self::default() });
            self.own.len() - 1
        });
        &mut self.own[at].node
    }

    fn at_key(&self, key: &str) -> Option<&Child> {
        self.own.iter().find(|child| child.key == key)
    }

    fn at_index(&self, at: usize) -> Option<&Self> {
        self.own.iter().find(|child| child.index == Some(at)).map(|child| &child.node)
    }
}

/// What is wanted of the value about to be read. Several nodes meet only where a path with a
/// number and one with `*` both reach an element; everything else stays free of allocation.
enum Wanted<'t> {
    Nothing,
    One(&'t Node),
    Several(Vec<&'t Node>),
}

impl<'t> Wanted<'t> {
    fn gather(mut nodes: impl Iterator<Item = &'t Node>) -> Self {
        let Some(first) = nodes.next() else { return Self::Nothing };
        let Some(second) = nodes.next() else { return Self::One(first) };
        Self::Several([first, second].into_iter().chain(nodes).collect())
    }

    fn nodes(&self) -> &[&'t Node] {
        match self {
            Self::Nothing => &[],
            Self::One(node) => std::slice::from_ref(node),
            Self::Several(nodes) => nodes,
        }
    }

    fn element(&self, at: usize) -> Self {
        let both = |node: &&'t Node| {
            let node: &'t Node = node;
            node.at_index(at).into_iter().chain(node.each.as_deref())
        };
        Self::gather(self.nodes().iter().flat_map(both))
    }
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    /// `None`: not wanted, or neither an object nor an array where a path goes deeper.
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Value>, D::Error> {
        if matches!(self, Self::Nothing) {
            return reader.deserialize_ignored_any(IgnoredAny).map(|_| None);
        }
        if self.nodes().iter().any(|node| node.whole) {
            return serde::Deserialize::deserialize(reader).map(Some);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Option<Value>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Option<Value>, A::Error> {
        let mut map = Map::new();
        while let Some(found) = entries.next_key_seed(Key(self.nodes()))? {
            let Some((key, wanted)) = found else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            match entries.next_value_seed(wanted)? {
                Some(value) => map.insert(key.to_owned(), value),
                // A scalar where a path goes deeper; it also replaces an equal key before it.
                None => map.shift_remove(key),
            };
        }
        Ok(Some(Value::Object(map)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Option<Value>, A::Error> {
        let mut items = Vec::new();
        for at in 0.. {
            let Some(item) = elements.next_element_seed(self.element(at))? else { break };
            if let Some(value) = item {
                items.resize(at, Value::Null);
                items.push(value);
            }
        }
        Ok(Some(Value::Array(items)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }
}

/// Reads a key and looks it up without copying it.
struct Key<'s, 't>(&'s [&'t Node]);

impl<'de, 't> DeserializeSeed<'de> for Key<'_, 't> {
    type Value = Option<(&'t str, Wanted<'t>)>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'t> Visitor<'_> for Key<'_, 't> {
    type Value = Option<(&'t str, Wanted<'t>)>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let children = || self.0.iter().filter_map(|node| node.at_key(key));
        let Some(child) = children().next() else { return Ok(None) };
        Ok(Some((&child.key, Wanted::gather(children().map(|child| &child.node)))))
    }
}
