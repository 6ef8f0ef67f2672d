//! Registered values in a stream of bytes: each is found in all of its forms, wherever it is cut.
//!
//! Of two values that begin at one place the longer is taken; of two that overlap the union goes.
//! A mark never cuts an escape of JSON in two.

use std::sync::Arc;

use memchr::memchr;

use super::escape;
use super::forms::forms;
use super::grams::Grams;
use super::mark::{PLAIN, Quotes};

/// How much of what has been written out is kept for a look back, in bytes.
const KEPT: usize = escape::LONGEST + escape::COUNTED;

/// All forms of all registered values.
#[derive(Clone)]
pub(super) struct Registered {
    /// In the order of their bytes, but of two with one beginning the longer first.
    patterns: Vec<Pattern>,
    grams: Grams,
    quotes: Quotes,
}

#[derive(Clone)]
struct Pattern {
    bytes: Vec<u8>,
    mark: Arc<str>,
}

/// What stands at one place.
enum Match<'a> {
    Nothing,
    /// The text is too short to say.
    Open,
    Found {
        length: usize,
        mark: &'a Arc<str>,
    },
}

impl Registered {
    /// Of two equal values the name that comes first is written.
    pub(super) fn new(values: &[(String, String)]) -> Self {
        let texts: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        let quotes = Quotes::unlike(&texts);
        let mut patterns: Vec<Pattern> = values
            .iter()
            .flat_map(|(name, value)| {
                let mark: Arc<str> = quotes.mark(name).into();
                forms(value).into_iter().map(move |form| (form.into_bytes(), Arc::clone(&mark)))
            })
            .map(|(bytes, mark)| Pattern { bytes, mark })
            .collect();
        patterns.sort_by(|a, b| {
            (a.beginning(), b.bytes.len(), &a.bytes).cmp(&(b.beginning(), a.bytes.len(), &b.bytes))
        });
        patterns.dedup_by(|later, earlier| later.bytes == earlier.bytes);
        let grams = Grams::new(patterns.iter().map(|pattern| pattern.bytes.as_slice()), false);
        let mut registered = Self { patterns, grams, quotes };
        registered.name_safely();
        registered
    }

    /// Takes names away that would show a value.
    fn name_safely(&mut self) {
        let safe: Vec<Arc<str>> =
            self.patterns.iter().map(|pattern| self.unless_telling(&pattern.mark)).collect();
        for (pattern, mark) in self.patterns.iter_mut().zip(safe) {
            pattern.mark = mark;
        }
    }

    fn unless_telling(&self, mark: &Arc<str>) -> Arc<str> {
        if self.holds(mark.as_bytes()) { self.quotes.mark(PLAIN).into() } else { Arc::clone(mark) }
    }

    pub(super) fn quotes(&self) -> Quotes {
        self.quotes
    }

    /// The mark of a name that was read in the text.
    pub(super) fn mark(&self, name: &str) -> Arc<str> {
        self.unless_telling(&self.quotes.mark(name).into())
    }

    /// Whether any form of any value occurs in `text`.
    pub(super) fn holds(&self, text: &[u8]) -> bool {
        let mut from = 0;
        while let Some(at) = self.grams.find(text, from) {
            if matches!(self.at(&text[at..], true), Match::Found { .. }) {
                return true;
            }
            from = at + 1;
        }
        false
    }

    /// The longest value at the start of `rest`, which is all there will be if it is the `last`.
    fn at(&self, rest: &[u8], last: bool) -> Match<'_> {
        let beginning = &rest[..rest.len().min(super::grams::GRAM)];
        let first = self.patterns.partition_point(|pattern| pattern.beginning() < beginning);
        let alike = self.patterns[first..].iter();
        for pattern in alike.take_while(|pattern| pattern.beginning() == beginning) {
            if rest.starts_with(&pattern.bytes) {
                return Match::Found { length: pattern.bytes.len(), mark: &pattern.mark };
            }
            if !last && pattern.bytes.starts_with(rest) {
                return Match::Open;
            }
        }
        Match::Nothing
    }
}

impl Pattern {
    fn beginning(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(super::grams::GRAM)]
    }
}

/// One stream. Equal input gives equal output for any chunking.
pub(super) struct Search {
    registered: Arc<Registered>,
    pending: Vec<u8>,
    /// The first place that has not been compared.
    cursor: usize,
    /// The first byte that has neither been written out nor covered.
    written: usize,
    /// Where the last mark's text ended, in `pending`.
    covered: usize,
}

impl Search {
    pub(super) fn new(registered: Arc<Registered>) -> Self {
        Self { registered, pending: Vec::new(), cursor: 0, written: 0, covered: 0 }
    }

    pub(super) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(chunk);
        self.run(false, out);
        let settled = self.written.min(self.cursor).saturating_sub(KEPT);
        self.pending.drain(..settled);
        self.cursor -= settled;
        self.written -= settled;
        self.covered = self.covered.saturating_sub(settled);
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        self.run(true, out);
    }

    fn run(&mut self, last: bool, out: &mut Vec<u8>) {
        let registered = Arc::clone(&self.registered);
        while let Some(at) = registered.grams.find(&self.pending, self.cursor) {
            self.cursor = at;
            match registered.at(&self.pending[at..], last) {
                Match::Nothing => self.cursor = at + 1,
                Match::Open => return self.write_out(at, out),
                Match::Found { length, .. } if !last && self.may_grow(at + length) => {
                    return self.write_out(at, out);
                }
                Match::Found { length, mark } => self.cover(at, length, mark, out),
            }
        }
        self.cursor = if last {
            self.pending.len()
        } else {
            registered.grams.cut_off(&self.pending, self.cursor)
        };
        let until = if last { self.pending.len() } else { self.cursor };
        if last { self.write(until, out) } else { self.write_out(until, out) }
    }

    /// Whether `end` may lie inside an escape of which more is to come.
    fn may_grow(&self, end: usize) -> bool {
        let reach = escape::LONGEST - 1;
        let nearby = &self.pending[end.saturating_sub(reach)..end];
        nearby.contains(&b'\\') && self.pending.len() < end + reach
    }

    /// Puts a mark in the place of a value, or makes the last mark stand for this one, too.
    fn cover(&mut self, at: usize, length: usize, mark: &str, out: &mut Vec<u8>) {
        let end = at + length;
        let floor = self.covered;
        let end = escape::around(&self.pending, end, floor).map_or(end, |escape| escape.end);
        if at >= self.covered {
            let start = escape::around(&self.pending, at, floor).map_or(at, |escape| escape.start);
            self.write(start, out);
            out.extend_from_slice(mark.as_bytes());
        }
        self.covered = self.covered.max(end);
        self.written = self.written.max(self.covered);
        self.cursor = at + 1;
    }

    /// Writes out what came before `until`, but for an escape that a value may turn out to begin
    /// in.
    fn write_out(&mut self, until: usize, out: &mut Vec<u8>) {
        let start = until.saturating_sub(escape::LONGEST - 1).max(self.written).min(until);
        let open = memchr(b'\\', &self.pending[start..until]);
        self.write(open.map_or(until, |offset| start + offset), out);
    }

    fn write(&mut self, until: usize, out: &mut Vec<u8>) {
        if until > self.written {
            out.extend_from_slice(&self.pending[self.written..until]);
            self.written = until;
        }
    }
}
