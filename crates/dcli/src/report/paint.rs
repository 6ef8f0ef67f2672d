//! Colour for people: only on a terminal, and not where `NO_COLOR` asks for none.

use std::ffi::OsStr;
use std::io::{IsTerminal, stderr, stdout};

/// What a word is to a reader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It deserves a look.
    Notice,
    /// It is there for completeness.
    Dim,
}

/// Whether words are painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// No colour.
    pub const OFF: Self = Self(false);

    /// For what goes to standard output.
    #[must_use]
    pub fn for_stdout() -> Self {
        Self::wanted(stdout().is_terminal())
    }

    /// For what goes to standard error.
    #[must_use]
    pub fn for_stderr() -> Self {
        Self::wanted(stderr().is_terminal())
    }

    fn wanted(is_terminal: bool) -> Self {
        let variable = |name| std::env::var_os(name);
        let (no_color, term) = (variable("NO_COLOR"), variable("TERM"));
        Self::decided(is_terminal, no_color.as_deref(), term.as_deref())
    }

    /// `NO_COLOR` counts where it is not empty (no-color.org); a `dumb` terminal shows no colour.
    fn decided(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Self {
        let refused = no_color.is_some_and(|value| !value.is_empty());
        Self(is_terminal && !refused && term.is_none_or(|term| term != "dumb"))
    }

    /// `text` in the colour of `tone`. The text must be printable already.
    #[must_use]
    pub fn tone(self, text: &str, tone: Tone) -> String {
        // ECMA-48, select graphic rendition.
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => 32,
            Tone::Bad => 31,
            Tone::Notice => 33,
            Tone::Dim => 2,
        };
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_that_can_and_nobody_who_refuses() {
        let decided = |terminal, no_color: Option<&str>, term: Option<&str>| {
            Paint::decided(terminal, no_color.map(OsStr::new), term.map(OsStr::new)).0
        };
        assert!(decided(true, None, Some("xterm")));
        assert!(decided(true, Some(""), None));
        assert!(!decided(false, None, Some("xterm")));
        assert!(!decided(true, Some("1"), Some("xterm")));
        assert!(!decided(true, None, Some("dumb")));
    }

    #[test]
    fn without_colour_a_word_is_itself() {
        assert_eq!(Paint::OFF.tone("done", Tone::Good), "done");
        assert_eq!(Paint(true).tone("done", Tone::Good), "\u{1b}[32mdone\u{1b}[0m");
        assert_eq!(Paint(true).tone("done", Tone::Plain), "done");
    }
}
