//! Values that are assigned to a credential-like name: `"api_key": "…"`, `FOO_TOKEN=…`,
//! `password: …`, `Authorization: …`, also in JSON that is a string in JSON.
//!
//! Numbers, `true`, `false`, `null` and references such as `${NAME}` are never covered. After a
//! colon or white space a bare word is covered only if it looks like a secret: programs and prose
//! are full of `token: String`.

use super::cover::{Extent, Run, closing, depth};
use super::key;
use super::mark::Quotes;
use super::shape::Found;
use super::window::{Short, Window, is_word};

/// What each credential-like name contains, letters in either case.
const WORDS: [&[u8]; 7] =
    [b"token", b"key", b"password", b"passwd", b"passphrase", b"secret", b"credential"];

const HEADER: &[u8] = b"authorization";

/// Most spaces and tabs before and after a separator.
const MOST_SPACE: usize = 16;

/// A bare word shorter than this does not look like a secret, in bytes.
const LEAST_WORD: usize = 6;

/// So many bytes of a bare word are looked at.
const MOST_WORD: usize = 64;

/// What these rules begin with.
pub(super) fn beginnings() -> impl Iterator<Item = &'static [u8]> {
    WORDS.into_iter().chain([HEADER])
}

/// The value that is assigned to the name within which this place is.
pub(super) fn judge(window: &Window<'_>, quotes: Quotes) -> Result<Option<Found>, Short> {
    if !has_word(window)? {
        return Ok(None);
    }
    let start = window.word_start(window.at);
    let end = window.skip(window.at, is_word)?;
    let Some(name) = window.text.get(start..end) else { return Ok(None) };
    let name = String::from_utf8_lossy(name);
    let Some(place) = Place::after(window, end)? else { return Ok(None) };
    let Some(extent) = place.extent(window, start, &name)? else { return Ok(None) };
    if !key::is_credential(&name) || place.is_covered(window, quotes, extent)? {
        return Ok(None);
    }
    Ok(Some(Found { from: place.value, name: name.into_owned(), extent }))
}

fn has_word(window: &Window<'_>) -> Result<bool, Short> {
    for word in beginnings() {
        let seen = &window.text[window.at..];
        let seen = &seen[..seen.len().min(word.len())];
        if word[..seen.len()].eq_ignore_ascii_case(seen) {
            return Ok(window.from(window.at, word.len())?.eq_ignore_ascii_case(word));
        }
    }
    Ok(false)
}

/// Where the value of a name is, and what stood between.
struct Place {
    /// The value's first byte, after its opening quote.
    value: usize,
    /// The quote after the name, with the number of backslashes before it.
    name_quote: Option<(u8, usize)>,
    /// The quote before the value, likewise.
    value_quote: Option<(u8, usize)>,
    /// `=` and no white space: the way variables are given.
    tight: bool,
}

impl Place {
    fn after(window: &Window<'_>, name_end: usize) -> Result<Option<Self>, Short> {
        let (name_quote, after_quote) = quote(window, name_end)?;
        let before = skip_space(window, after_quote)?;
        let Some((separator, after)) = separator(window, before)? else { return Ok(None) };
        let value = skip_space(window, after)?;
        let tight = separator == b'=' && before == after_quote && value == after;
        let (value_quote, value) = quote(window, value)?;
        Ok(Some(Self { value, name_quote, value_quote, tight }))
    }

    /// What is covered. `None` if there is no value, or none that is a secret.
    fn extent(
        &self,
        window: &Window<'_>,
        name_start: usize,
        name: &str,
    ) -> Result<Option<Extent>, Short> {
        match (self.value_quote, self.name_quote) {
            (Some((b'"', slashes)), Some((b'"', same))) if slashes == same => {
                self.quoted(window, slashes)
            }
            (Some((b'"', slashes)), None) if !self.closes(window)? => self.quoted(window, slashes),
            (Some((b'\'', 0)), None | Some((b'\'', 0))) => {
                let run = Run::Single;
                Ok(window
                    .byte(self.value)?
                    .is_some_and(|byte| run.holds(byte))
                    .then_some(Extent::Run(run)))
            }
            (None, None) if key::is_header(name) => self.header(window, name_start),
            (None, None) => self.bare(window),
            _ => Ok(None),
        }
    }

    fn quoted(&self, window: &Window<'_>, slashes: usize) -> Result<Option<Extent>, Short> {
        let Some(depth) = depth(slashes) else { return Ok(None) };
        let empty = self.ends_quoted(window, self.value, depth)?;
        Ok((!empty).then_some(Extent::Quoted { depth }))
    }

    /// Whether a quoted value ends at that place.
    fn ends_quoted(&self, window: &Window<'_>, place: usize, depth: u32) -> Result<bool, Short> {
        let quote = window.skip(place, |byte| byte == b'\\')?;
        Ok(match window.byte(quote)? {
            None => quote == place,
            Some(b'\n') => quote == place,
            Some(b'"') => closing(quote - place, depth).is_some_and(|kept| kept == quote - place),
            Some(_) => false,
        })
    }

    /// Whether the quote before the value closes a string of JSON that ends with `name=`: then
    /// JSON's own punctuation follows.
    fn closes(&self, window: &Window<'_>) -> Result<bool, Short> {
        let next = window.skip(self.value, |byte| byte.is_ascii_whitespace())?;
        Ok(window.byte(next)?.is_none_or(|byte| b",:]}".contains(&byte)))
    }

    /// A header's whole value; to the end of the line, quotes and all, where the line is its own.
    fn header(&self, window: &Window<'_>, name_start: usize) -> Result<Option<Extent>, Short> {
        let margin = window.back(name_start, |byte| b" \t><*".contains(&byte));
        let own = match window.before(margin) {
            Some(byte) => byte == b'\n',
            None => window.is_origin(margin),
        };
        let run = if own { Run::Line } else { Run::Header };
        let some = window.byte(self.value)?.is_some_and(|byte| run.holds(byte));
        Ok(some.then_some(Extent::Run(run)))
    }

    fn bare(&self, window: &Window<'_>) -> Result<Option<Extent>, Short> {
        let mut end = self.value;
        while end < self.value + MOST_WORD {
            if !window.byte(end)?.is_some_and(|byte| Run::Bare.holds(byte)) {
                break;
            }
            end += 1;
        }
        let word = &window.text[self.value..end];
        let covered = is_value(word) && (self.tight || looks_secret(word));
        Ok(covered.then_some(Extent::Run(Run::Bare)))
    }

    /// Whether a mark stands there already, and nothing else.
    fn is_covered(
        &self,
        window: &Window<'_>,
        quotes: Quotes,
        extent: Extent,
    ) -> Result<bool, Short> {
        let Some(length) = quotes.length(window.from(self.value, Quotes::LONGEST)?) else {
            return Ok(false);
        };
        let end = self.value + length;
        match extent {
            Extent::Quoted { depth } => self.ends_quoted(window, end, depth),
            Extent::Run(run) => Ok(window.byte(end)?.is_none_or(|byte| !run.holds(byte))),
            Extent::Fixed(_) => Ok(false),
        }
    }
}

/// The quote at that place with the backslashes before it, and the place after it.
fn quote(window: &Window<'_>, place: usize) -> Result<(Option<(u8, usize)>, usize), Short> {
    let end = window.skip(place, |byte| byte == b'\\')?;
    Ok(match window.byte(end)? {
        Some(byte @ (b'"' | b'\'')) => (Some((byte, end - place)), end + 1),
        _ => (None, place),
    })
}

/// `:`, `=`, `:=` or `=>`, and the place after it.
fn separator(window: &Window<'_>, place: usize) -> Result<Option<(u8, usize)>, Short> {
    let Some(first @ (b':' | b'=')) = window.byte(place)? else { return Ok(None) };
    Ok(match (first, window.byte(place + 1)?) {
        (b':', Some(b':')) | (b'=', Some(b'=' | b'~')) => None,
        // A URL whose scheme has such a name.
        (b':', Some(b'/')) if window.byte(place + 2)? == Some(b'/') => None,
        (b':', Some(b'=')) | (b'=', Some(b'>')) => Some((b':', place + 2)),
        _ => Some((first, place + 1)),
    })
}

fn skip_space(window: &Window<'_>, place: usize) -> Result<usize, Short> {
    let mut end = place;
    while end < place + MOST_SPACE && matches!(window.byte(end)?, Some(b' ' | b'\t')) {
        end += 1;
    }
    Ok(end)
}

/// Whether a bare word is a value at all: not a number, a constant, or a reference to one.
fn is_value(word: &[u8]) -> bool {
    let constants: [&[u8]; 6] = [b"true", b"false", b"null", b"none", b"nil", b"undefined"];
    let number = word.iter().all(|byte| byte.is_ascii_digit() || b"+-._eE%".contains(byte));
    let reference =
        matches!(word, [b'{' | b'[' | b'(' | b'<' | b'*', ..] | [b'$', b'{' | b'(', ..]);
    !number && !reference && !constants.iter().any(|constant| word.eq_ignore_ascii_case(constant))
}

fn looks_secret(word: &[u8]) -> bool {
    word.len() >= LEAST_WORD
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-+/=.~!@#%^".contains(byte))
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_alphabetic)
}
