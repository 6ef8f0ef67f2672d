//! Escapes of JSON strings: what may not be cut in two if a line of JSON is to stay one.
//!
//! A value is looked for as bytes, so it may be found to begin or end inside an escape: `token`
//! in the text `\token`, which is a tab and `oken`.

use std::ops::Range;

/// Length of the longest escape, a pair of surrogates, in bytes.
pub(super) const LONGEST: usize = 12;

/// How many backslashes in a row are counted before an escape.
pub(super) const COUNTED: usize = 32;

/// The escape that `at` lies strictly inside of, if any. Nothing before `floor` is looked at, and
/// an escape that `text` does not hold in full is none.
pub(super) fn around(text: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    let first = at.saturating_sub(LONGEST - 1).max(floor);
    (first..at)
        .filter(|start| begins(text, *start, floor))
        .map(|start| start..start + length(&text[start..]))
        .find(|escape| escape.end > at)
}

/// Whether an escape begins at `at`: a backslash after an even number of backslashes.
fn begins(text: &[u8], at: usize, floor: usize) -> bool {
    let bound = at.saturating_sub(COUNTED).max(floor);
    let before = text[bound..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    text[at] == b'\\' && before % 2 == 0
}

/// Length of the escape at the start of `text`; 1 if what stands there is none.
fn length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
        [b'\\', b'u', ..] => match (unit(text), text.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => LONGEST,
            (Some(_), _) => 6,
            (None, _) => 1,
        },
        _ => 1,
    }
}

/// The number of the `\uXXXX` at the start of `text`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}
