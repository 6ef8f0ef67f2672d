//! An answer before it takes the shape of a wire format.

use serde_json::Value;

use super::Usage;

/// A tool call under the name and arguments that the client's own tool takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// An object; for a free-form tool a string.
    pub(super) args: Value,
    pub(super) free_form: bool,
}

/// Everything a wire format needs to know.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Makes ids unique within one server.
    pub(super) serial: usize,
    pub(super) model: String,
    pub(super) reasoning: Option<String>,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Usage,
}

impl Answer {
    /// The text, which is there, if only empty, when nothing else is.
    pub(super) fn text_to_send(&self) -> Option<&str> {
        self.text.as_deref().or(if self.calls.is_empty() { Some("") } else { None })
    }
}

/// One piece of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Bytes for the client, one whole server-sent event.
    Event(String),
    /// The middle of the answer: where a scripted stall, hold or cut happens.
    Middle,
}

/// Collects the frames of one answer and puts the middle in exactly once.
#[derive(Debug, Default)]
pub(super) struct Frames {
    list: Vec<Frame>,
    has_middle: bool,
}

impl Frames {
    /// An event with a name, as Anthropic Messages and OpenAI Responses have them.
    pub(super) fn named(&mut self, name: &str, data: &Value) {
        self.list.push(Frame::Event(format!("event: {name}\ndata: {data}\n\n")));
    }

    /// An event of data only, as chat completions and Gemini have them.
    pub(super) fn data(&mut self, data: impl std::fmt::Display) {
        self.list.push(Frame::Event(format!("data: {data}\n\n")));
    }

    /// The middle is here, unless it was before.
    pub(super) fn middle(&mut self) {
        if !self.has_middle {
            self.list.push(Frame::Middle);
            self.has_middle = true;
        }
    }

    pub(super) fn finish(self) -> Vec<Frame> {
        self.list
    }
}

/// Cuts a text into the pieces it is streamed in: thirds of a short one, 16 KiB of a long one,
/// never inside a character. An empty text is one empty piece.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let size = if text.len() > 4096 { 16 * 1024 } else { text.len().div_ceil(3).max(1) };
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let (piece, tail) = rest.split_at(rest.ceil_char_boundary(size));
        pieces.push(piece);
        rest = tail;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_make_up_the_text_and_split_no_character() {
        for text in ["", "a", "abc", "äöü€", &"x€".repeat(40_000)] {
            assert_eq!(pieces(text).concat(), *text);
        }
        assert_eq!(pieces(""), [""]);
        assert!(pieces("three words here").len() > 1);
    }
}
