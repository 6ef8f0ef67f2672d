//! The last line of the page of results: a digest of all above it, so that a number typed by hand is
//! noticed. It keeps nobody out who wants to lie; it catches whoever forgot that the bench writes it.

use std::fmt::Write as _;

/// Begins the last line.
const MARK: &str = "\nDigest of everything above, written by the bench (FNV-1a, 64 bits): `";
/// Ends it.
const END: &str = "`.\n";

/// FNV-1a's offset basis and prime for 64 bits (RFC 9923).
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The page with its last line.
pub(super) fn sealed(body: &str) -> String {
    let mut page = body.to_owned();
    // Writing to a String cannot fail.
    let _ = write!(page, "{MARK}{}{END}", digest(body));
    page
}

/// What stands above the last line, if that line fits it.
pub(super) fn opened(page: &str) -> Option<&str> {
    let (body, digest_there) = page.strip_suffix(END)?.rsplit_once(MARK)?;
    (digest(body) == digest_there).then_some(body)
}

fn digest(text: &str) -> String {
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    format!("{:016x}", text.bytes().fold(BASIS, mixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
        assert_eq!(digest("foobar"), "85944171f73967e8");
    }

    #[test]
    fn a_sealed_page_opens_and_no_other_does() {
        let page = sealed("# Numbers\n\n5.6 ms\n");
        assert_eq!(opened(&page), Some("# Numbers\n\n5.6 ms\n"));
        for typed in [
            page.replace("5.6", "5.5"),
            page.replace("\n\n5", "\n5"),
            format!("{page}\nAnd one more: 1 ms.\n"),
            "# Numbers\n\n5.6 ms\n".to_owned(),
            page.trim_end().to_owned(),
            String::new(),
        ] {
            assert_eq!(opened(&typed), None, "{typed}");
        }
    }
}
