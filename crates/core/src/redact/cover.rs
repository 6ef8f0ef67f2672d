//! The end of a value that is being covered: its bytes are swallowed until there.
//!
//! Nothing is held back meanwhile, however long the value is.

/// What ends a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The double quote that closes a string which is that many times escaped itself, or the end
    /// of the line.
    Quoted { depth: u32 },
    /// The first byte that such a value cannot hold.
    Run(Run),
    /// So many bytes more.
    Fixed(usize),
}

/// Values that have no closing quote of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// After `NAME=`: until white space, a quote, a backslash, or punctuation of the text around.
    Bare,
    /// In single quotes.
    Single,
    /// A header within a line of something else.
    Header,
    /// A header that is a line of its own.
    Line,
    /// The part of a URL before its path.
    Authority,
    /// A vendor's key: letters, digits, `_` and `-`.
    Key,
    /// Three parts as in [`Run::Key`], joined with `.`.
    Dotted,
    /// The credential of a bearer scheme (RFC 6750, `b64token`).
    Bearer,
}

impl Run {
    /// Whether a value of this kind may hold the byte.
    pub(super) fn holds(self, byte: u8) -> bool {
        let line_end = byte == b'\n' || byte == b'\r';
        match self {
            Self::Bare => !(byte.is_ascii_whitespace() || b"\"'`\\,;&)}]>|\0".contains(&byte)),
            Self::Single | Self::Header => !(line_end || b"\"'\\".contains(&byte)),
            Self::Line => !line_end,
            Self::Authority => !(byte <= b' ' || b"\"'`\\/?#<>,".contains(&byte)),
            Self::Key => super::window::is_word(byte),
            Self::Dotted => super::window::is_word(byte) || byte == b'.',
            Self::Bearer => byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte),
        }
    }
}

/// A value that is being covered.
#[derive(Debug)]
pub(super) struct Cover {
    extent: Extent,
    /// Backslashes just before.
    slashes: usize,
}

impl Cover {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, slashes: 0 }
    }

    /// Length of the covered part of `text`, and whether the value ended there: then with the
    /// number of backslashes that belong to what closes it.
    pub(super) fn swallow(&mut self, text: &[u8]) -> (usize, Option<usize>) {
        match &mut self.extent {
            Extent::Fixed(left) => {
                let taken = text.len().min(*left);
                *left -= taken;
                (taken, (*left == 0).then_some(0))
            }
            Extent::Run(run) => match text.iter().position(|byte| !run.holds(*byte)) {
                Some(end) => (end, Some(0)),
                None => (text.len(), None),
            },
            Extent::Quoted { depth } => {
                let depth = *depth;
                self.swallow_quoted(text, depth)
            }
        }
    }

    fn swallow_quoted(&mut self, text: &[u8], depth: u32) -> (usize, Option<usize>) {
        for (at, byte) in text.iter().enumerate() {
            let slashes = std::mem::take(&mut self.slashes);
            match byte {
                b'\\' => self.slashes = slashes + 1,
                b'\n' => return (at, Some(0)),
                b'"' if let Some(kept) = closing(slashes, depth) => return (at, Some(kept)),
                _ => {}
            }
        }
        (text.len(), None)
    }
}

/// How many of the `slashes` before a double quote belong to it, if it closes a string that is
/// `depth` times escaped, or one around it.
pub(super) fn closing(slashes: usize, depth: u32) -> Option<usize> {
    let (mut left, mut kept) = (slashes, 0);
    for _ in 0..depth {
        if left % 2 == 0 {
            return Some(kept);
        }
        left /= 2;
        kept = kept * 2 + 1;
    }
    (left % 2 == 0).then_some(kept)
}

/// How many times a string is escaped whose opening quote has so many backslashes before it.
pub(super) fn depth(slashes: usize) -> Option<u32> {
    match slashes {
        0 => Some(0),
        1 => Some(1),
        3 => Some(2),
        7 => Some(3),
        _ => None,
    }
}
