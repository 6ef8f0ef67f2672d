//! Passwords that only a worker and its backend know.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};

/// How many random bytes: 256 bits.
const BYTES: usize = 32;

/// A new password, of letters and digits.
///
/// # Errors
/// The system gives no random bytes.
pub(super) fn password() -> io::Result<String> {
    let mut random = [0; BYTES];
    // random(4): it never blocks once the system is up, and never runs dry.
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let mut text = String::with_capacity(2 * BYTES);
    for byte in random {
        write!(text, "{byte:02x}").map_err(io::Error::other)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::password;

    #[test]
    fn no_password_comes_twice_and_each_has_256_bits() {
        let all: std::collections::BTreeSet<String> =
            std::iter::repeat_with(|| password().unwrap()).take(100).collect();
        assert_eq!(all.len(), 100);
        assert!(
            all.iter().all(|text| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        );
    }
}
