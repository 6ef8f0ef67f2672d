//! Incremental decoder of server-sent events (the `text/event-stream` format of the HTML standard).
//!
//! It parses only: reconnecting, and what an event means, is for its caller.

/// Largest event kept, in bytes of data: 64 MiB.
pub const DEFAULT_EVENT_CAP: usize = 64 * 1024 * 1024;

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field, `message` where there was none.
    pub event: String,
    /// The `data` lines, joined by LF.
    pub data: String,
    /// The last `id` seen on the stream so far; empty if none was.
    pub id: String,
}

/// Incremental decoder. Equal input gives equal events for any chunking.
#[derive(Debug)]
pub struct SseDecoder {
    cap: usize,
    line: Vec<u8>,
    /// The last byte was CR, so that an LF right after it belongs to the same ending.
    after_cr: bool,
    at_start: bool,
    /// The event being gathered is over the cap and will be dropped.
    overflowed: bool,
    event: String,
    data: String,
    id: String,
    retry_ms: Option<u64>,
    oversized: u64,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_EVENT_CAP)
    }
}

impl SseDecoder {
    /// `cap` bounds one line, and the data of one event, in bytes.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            overflowed: false,
            event: String::new(),
            data: String::new(),
            id: String::new(),
            retry_ms: None,
            oversized: 0,
        }
    }

    /// The reconnection time that the stream last asked for, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// How many events were dropped because they were over the cap.
    #[must_use]
    pub fn oversized(&self) -> u64 {
        self.oversized
    }

    /// Feeds one chunk and calls `each` for every event that it completes, in order.
    ///
    /// An event without its closing blank line is never dispatched, as the standard asks.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(SseEvent)) {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.extend(&rest[..at]);
            self.end_line(&mut each);
            let is_cr = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if is_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.extend(rest);
    }

    fn extend(&mut self, piece: &[u8]) {
        // A byte order mark may precede the first line and does not count.
        if self.line.len().saturating_add(piece.len()) > self.cap.saturating_add(3) {
            self.overflowed = true;
        }
        if self.overflowed {
            // The first byte tells a blank line from one that has been dropped.
            let first = piece.first().copied();
            self.line.truncate(1);
            self.line.extend(first.filter(|_| self.line.is_empty()));
            return;
        }
        self.line.extend_from_slice(piece);
    }

    fn end_line(&mut self, each: &mut impl FnMut(SseEvent)) {
        let mut bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && bytes.starts_with(b"\xEF\xBB\xBF") {
            bytes.drain(..3);
        }
        if bytes.is_empty() {
            self.dispatch(each);
        } else if !self.overflowed {
            self.field(&String::from_utf8_lossy(&bytes));
        }
        bytes.clear();
        self.line = bytes;
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" if self.data.len().saturating_add(value.len()) > self.cap => {
                self.overflowed = true;
            }
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            // A comment has an empty name; other fields are ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self, each: &mut impl FnMut(SseEvent)) {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.overflowed) {
            self.oversized += 1;
            return;
        }
        // An event without any data line is dropped; one with an empty data line is not.
        if data.pop().is_none() {
            return;
        }
        let event = if event.is_empty() { "message".to_owned() } else { event };
        each(SseEvent { event, data, id: self.id.clone() });
    }
}
