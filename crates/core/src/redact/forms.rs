//! The ways in which one value may be written: as it is, escaped in JSON, percent-encoded.
//!
//! JSON escaping differs between writers (`\/`, `\u00e9`, `\u003c`), and JSON is often carried
//! as a string in JSON, so each form is also escaped once more.

use std::fmt::Write as _;

/// How a writer of JSON strings escapes beyond what it must.
#[derive(Clone, Copy)]
struct Habit {
    slash: bool,
    /// Everything outside ASCII as `\uXXXX`.
    ascii: bool,
    /// `<`, `>`, `&` as `\u00XX`.
    markup: bool,
    upper: bool,
}

impl Habit {
    fn every() -> impl Iterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            slash: bits & 1 != 0,
            ascii: bits & 2 != 0,
            markup: bits & 4 != 0,
            upper: bits & 8 != 0,
        })
    }

    fn escape(self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + 8);
        for character in text.chars() {
            match character {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                '\u{8}' => escaped.push_str("\\b"),
                '\u{c}' => escaped.push_str("\\f"),
                '/' if self.slash => escaped.push_str("\\/"),
                '<' | '>' | '&' if self.markup => self.units(character, &mut escaped),
                '\0'..='\u{1f}' | '\u{7f}' => self.control(character, &mut escaped),
                other if self.ascii && !other.is_ascii() => self.units(other, &mut escaped),
                other => escaped.push(other),
            }
        }
        escaped
    }

    /// DEL is a control character that JSON lets through, and some writers escape.
    fn control(self, character: char, escaped: &mut String) {
        if character == '\u{7f}' && !self.ascii {
            escaped.push(character);
        } else {
            self.units(character, escaped);
        }
    }

    fn units(self, character: char, escaped: &mut String) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = if self.upper {
                write!(escaped, "\\u{unit:04X}")
            } else {
                write!(escaped, "\\u{unit:04x}")
            };
        }
    }
}

/// All bytes outside the unreserved characters of RFC 3986 as `%XX`.
fn percent(text: &str, upper: bool) -> String {
    let mut encoded = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ =
                if upper { write!(encoded, "%{byte:02X}") } else { write!(encoded, "%{byte:02x}") };
        }
    }
    encoded
}

/// Every form of `value`, each once; most values have one.
pub(super) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for habit in Habit::every() {
        let once = habit.escape(value);
        let twice = habit.escape(&once);
        forms.extend([once, twice]);
    }
    forms.extend([percent(value, true), percent(value, false)]);
    forms.sort_unstable();
    forms.dedup();
    forms
}
