//! What a rule may see of a stream around the place that it judges: so much before, so much after,
//! and the same for any chunking.

/// How far before its place a rule may look, in bytes.
pub(super) const BEHIND: usize = 2 * super::key::LONGEST;

/// How far beyond its place a rule may look, in bytes.
pub(super) const AHEAD: usize = 512;

/// More bytes have to come before a rule can judge.
#[derive(Debug)]
pub(super) struct Short;

#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a [u8],
    /// The place that is judged.
    pub(super) at: usize,
    /// `text` begins where the stream begins.
    pub(super) whole: bool,
    /// `text` ends where the stream ends.
    pub(super) last: bool,
}

impl<'a> Window<'a> {
    /// The byte at that place. `None` is the end of the stream, or of what may be seen.
    pub(super) fn byte(&self, place: usize) -> Result<Option<u8>, Short> {
        if place >= self.at + AHEAD {
            return Ok(None);
        }
        match self.text.get(place) {
            Some(byte) => Ok(Some(*byte)),
            None if self.last => Ok(None),
            None => Err(Short),
        }
    }

    /// Everything from that place on that may be seen. Asks for at least `least` bytes of it.
    pub(super) fn from(&self, place: usize, least: usize) -> Result<&'a [u8], Short> {
        let end = (self.at + AHEAD).min(place + least);
        if self.text.len() < end && !self.last {
            return Err(Short);
        }
        Ok(self.text.get(place..end.min(self.text.len())).unwrap_or_default())
    }

    /// The first place at or after `place` whose byte is not one of those.
    pub(super) fn skip(&self, place: usize, one: impl Fn(u8) -> bool) -> Result<usize, Short> {
        let mut end = place;
        while self.byte(end)?.is_some_and(&one) {
            end += 1;
        }
        Ok(end)
    }

    /// The first place before `place` from which all bytes up to it are of those.
    pub(super) fn back(&self, place: usize, one: impl Fn(u8) -> bool) -> usize {
        let bound = self.bound();
        let before = self.text.get(bound..place).unwrap_or_default();
        place - before.iter().rev().take_while(|byte| one(**byte)).count()
    }

    /// The byte before that place, if it may be seen.
    pub(super) fn before(&self, place: usize) -> Option<u8> {
        (place > self.bound()).then(|| self.text.get(place - 1).copied()).flatten()
    }

    /// Whether the stream begins at that place.
    pub(super) fn is_origin(&self, place: usize) -> bool {
        self.whole && place == 0 && self.at < BEHIND
    }

    fn bound(&self) -> usize {
        self.at.saturating_sub(BEHIND)
    }

    /// Where a word that reaches to `place` begins: the letter of an escape, as in `\n`, is none
    /// of it.
    pub(super) fn word_start(&self, place: usize) -> usize {
        let start = self.back(place, is_word);
        let escaped = self.before(start) == Some(b'\\');
        let letter = self.text.get(start).is_some_and(|byte| b"nrtbf".contains(byte));
        start + usize::from(escaped && letter)
    }
}

/// Bytes of which names are made, and within which no key of a vendor begins.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
