//! Splits a byte stream into lines, one chunk at a time, without ever looking at a byte twice.
//!
//! A line ends at LF; one CR before it belongs to the ending. A lone CR is content. One UTF-8
//! byte order mark at the very start of the stream is dropped. Encoding is not checked here.

use memchr::memchr;

/// Longest line that is kept, in bytes without its ending, unless the caller says otherwise: 64 MiB.
pub const DEFAULT_LINE_CAP: usize = 64 * 1024 * 1024;

/// A carry-over buffer larger than this is given back once its line has been handed out.
const KEPT_CAPACITY: usize = 256 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One terminated line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The content, without its ending.
    Whole(&'a [u8]),
    /// A line longer than the cap; its content is gone, and the decoder is in step after it.
    Oversized {
        /// Length of the content without its ending.
        bytes: u64,
    },
}

/// What was left after the last line ending of a finished stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unterminated {
    /// The bytes as they came; a trailing CR is kept, since nothing says what it was half of.
    Bytes(Vec<u8>),
    /// More than the cap.
    Oversized {
        /// How many bytes came after the last line ending.
        bytes: u64,
    },
}

/// Incremental line splitter. Equal input gives equal lines for any chunking.
#[derive(Debug)]
pub struct LineDecoder {
    cap: usize,
    /// Start of a line that no chunk has ended yet; empty while `dropped` counts.
    carry: Vec<u8>,
    /// Bytes of the current line that were thrown away because it is over the cap.
    dropped: u64,
    last_dropped: u8,
    /// No line has been handed out yet, so a byte order mark may still lie at the start.
    at_start: bool,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_LINE_CAP)
    }
}

impl LineDecoder {
    /// `cap` is the longest content kept, in bytes without the line ending.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, carry: Vec::new(), dropped: 0, last_dropped: 0, at_start: true }
    }

    /// Feeds one chunk and calls `each` for every line that it completes, in order.
    ///
    /// A line that lies wholly within the chunk is handed out without being copied.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = chunk;
        while let Some(at) = memchr(b'\n', rest) {
            let (piece, after) = (&rest[..at], &rest[at + 1..]);
            if self.carry.is_empty() && self.dropped == 0 {
                each(self.judge(piece));
            } else {
                self.end_carried(piece, &mut each);
            }
            self.at_start = false;
            rest = after;
        }
        self.extend(rest);
    }

    /// Ends the stream. `None` means that it ended with a line ending, or held nothing.
    #[must_use]
    pub fn finish(mut self) -> Option<Unterminated> {
        if self.dropped > 0 {
            return Some(Unterminated::Oversized { bytes: self.dropped });
        }
        if self.at_start && self.carry.starts_with(BOM) {
            self.carry.drain(..BOM.len());
        }
        match self.carry.len() {
            0 => None,
            length if length > self.cap => Some(Unterminated::Oversized { bytes: length as u64 }),
            _ => Some(Unterminated::Bytes(self.carry)),
        }
    }

    /// Judges a complete line that still has its mark and its CR.
    fn judge<'a>(&self, raw: &'a [u8]) -> Line<'a> {
        let unmarked = if self.at_start { raw.strip_prefix(BOM).unwrap_or(raw) } else { raw };
        let content = unmarked.strip_suffix(b"\r").unwrap_or(unmarked);
        if content.len() > self.cap {
            return Line::Oversized { bytes: content.len() as u64 };
        }
        Line::Whole(content)
    }

    /// Ends the line in `carry` or in `dropped` with its last piece.
    fn end_carried(&mut self, piece: &[u8], each: &mut impl FnMut(Line<'_>)) {
        self.extend(piece);
        if self.dropped > 0 {
            let ending = u64::from(self.last_dropped == b'\r');
            each(Line::Oversized { bytes: self.dropped - ending });
            self.dropped = 0;
            return;
        }
        each(self.judge(&self.carry));
        if self.carry.capacity() > KEPT_CAPACITY {
            self.carry = Vec::new();
        }
        self.carry.clear();
    }

    /// Takes bytes of a line that has not ended; past the cap only their number is kept.
    fn extend(&mut self, piece: &[u8]) {
        let Some(&last) = piece.last() else { return };
        if self.dropped > 0 {
            self.dropped += piece.len() as u64;
            self.last_dropped = last;
            return;
        }
        // Room for the mark and the CR, which do not count: beyond it the line is surely too long.
        let most = self.cap.saturating_add(BOM.len() + 1);
        if self.carry.len().saturating_add(piece.len()) <= most {
            self.carry.extend_from_slice(piece);
            return;
        }
        self.dropped = (self.carry.len() + piece.len()) as u64 - self.mark_length(piece);
        self.last_dropped = last;
        self.carry = Vec::new();
    }

    /// Length of the byte order mark at the start of `carry` followed by `piece`.
    fn mark_length(&self, piece: &[u8]) -> u64 {
        let start = self.carry.iter().chain(piece).take(BOM.len());
        if self.at_start && start.eq(BOM) { BOM.len() as u64 } else { 0 }
    }
}
