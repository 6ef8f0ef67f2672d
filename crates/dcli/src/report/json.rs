//! Typed values as JSON on a stream. A reader that has gone is a quiet end, not an error.

use std::io::{self, Write};

use serde::Serialize;

/// Writes `value` as one line.
///
/// # Errors
/// The stream cannot be written, for a reason other than a reader that has gone.
pub fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    quiet(out.write_all(&bytes).and_then(|()| out.flush()))
}

/// Writes `text` as it is.
///
/// # Errors
/// As [`line()`].
pub fn raw(out: &mut impl Write, text: &str) -> io::Result<()> {
    bytes(out, text.as_bytes())
}

/// Writes `bytes` as they are.
///
/// # Errors
/// As [`line()`].
pub fn bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    quiet(out.write_all(bytes).and_then(|()| out.flush()))
}

fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
