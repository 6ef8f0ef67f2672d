//! What is covered without having been registered: values under credential-like names, and keys of
//! well-known shapes, in a stream of bytes.
//!
//! The shape of the text around stays: a line of JSON stays one. What was covered already stays as
//! it is.

use std::sync::Arc;

use super::cover::Cover;
use super::grams::Grams;
use super::registered::Registered;
use super::shape::Found;
use super::window::{BEHIND, Short, Window};
use super::{assign, shape};

/// What every search of a redactor shares.
#[derive(Clone)]
pub(super) struct Rules {
    grams: Arc<Grams>,
    registered: Arc<Registered>,
}

impl Rules {
    pub(super) fn new(registered: Arc<Registered>) -> Self {
        let beginnings = shape::beginnings().chain(assign::beginnings());
        Self { grams: Arc::new(Grams::new(beginnings, true)), registered }
    }

    /// Whether there is anything in `text` that a rule would look at.
    pub(super) fn may_judge(&self, text: &[u8]) -> bool {
        self.grams.find(text, 0).is_some()
    }

    fn judge(&self, window: &Window<'_>) -> Result<Option<Found>, Short> {
        let quotes = self.registered.quotes();
        match shape::judge(window, quotes)? {
            Some(found) => Ok(Some(found)),
            None => assign::judge(window, quotes),
        }
    }
}

/// One stream. Equal input gives equal output for any chunking.
pub(super) struct Watch {
    rules: Rules,
    pending: Vec<u8>,
    /// The first byte that has not been written out; also the first place that was not judged.
    cursor: usize,
    /// `pending` begins where the stream begins.
    whole: bool,
    cover: Option<Cover>,
}

impl Watch {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, pending: Vec::new(), cursor: 0, whole: true, cover: None }
    }

    pub(super) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(chunk);
        self.run(false, out);
        let settled = self.cursor.saturating_sub(BEHIND);
        self.pending.drain(..settled);
        self.cursor -= settled;
        self.whole &= settled == 0;
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        self.run(true, out);
    }

    fn run(&mut self, last: bool, out: &mut Vec<u8>) {
        let rules = self.rules.clone();
        let mut from = self.cursor;
        loop {
            if !self.swallow(out) {
                return;
            }
            from = from.max(self.cursor);
            let Some(at) = rules.grams.find(&self.pending, from) else { break };
            match rules.judge(&self.window(at, last)) {
                Ok(None) => from = at + 1,
                Ok(Some(found)) => self.cover(&found, out),
                Err(Short) => return self.write(at, out),
            }
        }
        let end = self.pending.len();
        let until = if last { end } else { rules.grams.cut_off(&self.pending, from) };
        self.write(until, out);
    }

    fn window(&self, at: usize, last: bool) -> Window<'_> {
        Window { text: &self.pending, at, whole: self.whole, last }
    }

    /// Writes out what comes before a value, and a mark in its place.
    fn cover(&mut self, found: &Found, out: &mut Vec<u8>) {
        self.write(found.from, out);
        out.extend_from_slice(self.rules.registered.mark(&found.name).as_bytes());
        self.cover = Some(Cover::new(found.extent));
    }

    /// Passes over what is left of a covered value. Whether the value has ended.
    fn swallow(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(cover) = &mut self.cover else { return true };
        let (length, ended) = cover.swallow(&self.pending[self.cursor..]);
        self.cursor += length;
        if let Some(slashes) = ended {
            out.extend(std::iter::repeat_n(b'\\', slashes));
            self.cover = None;
        }
        ended.is_some()
    }

    fn write(&mut self, until: usize, out: &mut Vec<u8>) {
        if until > self.cursor {
            out.extend_from_slice(&self.pending[self.cursor..until]);
            self.cursor = until;
        }
    }
}
