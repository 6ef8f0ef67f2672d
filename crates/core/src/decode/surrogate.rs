//! Unpaired surrogate escapes in JSON text.
//!
//! The grammar of JSON allows `"\ud83d"` alone and JavaScript prints it; a string of Rust cannot
//! hold it and the parser refuses. Only texts that were refused come here.

/// The text with every unpaired surrogate escape replaced by `\ufffd`; `None` if there is none.
pub(super) fn repaired(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..)?) {
        at += found;
        let Some(unit) = escaped_unit(bytes, at) else {
            // Another escape: its second byte may be a backslash, and must not start a new one.
            at += 2;
            if at >= bytes.len() {
                break;
            }
            continue;
        };
        let is_pair = (0xD800..0xDC00).contains(&unit)
            && escaped_unit(bytes, at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        if is_pair {
            at += 12;
            continue;
        }
        if (0xD800..0xE000).contains(&unit) {
            out.push_str(text.get(copied..at)?);
            out.push_str("\\ufffd");
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(text.get(copied..)?);
    Some(out)
}

/// The code unit of a `\uXXXX` escape that starts at `at`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at.checked_add(6)?)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit: u16, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some(unit * 16 + u16::try_from(value).ok()?)
    })
}
