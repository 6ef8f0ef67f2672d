//! The mark that stands for what was taken out: `«redacted:NAME»`.

const WORD: &str = "redacted:";

/// The name that is used where another would show a registered value. A value that is part of it
/// is not registered.
pub(super) const PLAIN: &str = "key";

/// Longest name within a mark, in bytes.
const LONGEST_NAME: usize = 64;

/// What a mark begins and ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quotes {
    open: char,
    close: char,
}

impl Quotes {
    /// `«` and `»`, unless a value holds one of them: then others that no value holds, so that a
    /// mark and the text next to it never make up a value.
    pub(super) fn unlike(values: &[&str]) -> Self {
        let spare = ('\u{E000}'..='\u{F8FE}').step_by(2).zip(('\u{E001}'..='\u{F8FF}').step_by(2));
        [('«', '»'), ('‹', '›'), ('⟦', '⟧'), ('⟪', '⟫')]
            .into_iter()
            .chain(spare)
            .find(|(open, close)| !values.iter().any(|value| value.contains([*open, *close])))
            .map_or(Self { open: '«', close: '»' }, |(open, close)| Self { open, close })
    }

    /// The mark of that name. Characters that a JSON string or a terminal could take for something
    /// else become `_`.
    pub(super) fn mark(self, name: &str) -> String {
        let name: String = name.chars().take(LONGEST_NAME).map(plain).collect();
        let name = if name.is_empty() { PLAIN } else { &name };
        format!("{}{WORD}{name}{}", self.open, self.close)
    }

    /// Length of the mark at the start of `text`, in bytes. `None` if there is none.
    pub(super) fn length(self, text: &[u8]) -> Option<usize> {
        let (mut open, mut close) = ([0; 4], [0; 4]);
        let open = self.open.encode_utf8(&mut open).as_bytes();
        let close = self.close.encode_utf8(&mut close).as_bytes();
        let rest = text.strip_prefix(open)?.strip_prefix(WORD.as_bytes())?;
        let name = rest.iter().take_while(|byte| is_plain(**byte)).count();
        let fits = (1..=LONGEST_NAME).contains(&name) && rest[name..].starts_with(close);
        fits.then(|| open.len() + WORD.len() + name + close.len())
    }

    /// Length of the longest mark, in bytes.
    pub(super) const LONGEST: usize = 4 + WORD.len() + LONGEST_NAME + 4;
}

/// Whether `value` is part of what every mark says, so that no mark could be written without it.
pub(super) fn says(value: &str) -> bool {
    format!("{WORD}{PLAIN}").contains(value)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

fn plain(character: char) -> char {
    u8::try_from(character).ok().filter(|byte| is_plain(*byte)).map_or('_', char::from)
}
