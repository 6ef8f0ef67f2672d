//! Redaction of foreign bytes: no panic, any chunking alike, twice is once, no value is left.
#![no_main]

use dcli_core::redact::Redactor;
use libfuzzer_sys::fuzz_target;

const VALUES: [&str; 5] = ["hunter22", "p\"a/ß", "clef", "aaaa", "00e9"];

fuzz_target!(|bytes: &[u8]| {
    let values = VALUES.iter().map(|value| (format!("N{}", value.len()), value.to_string()));
    let redactor = Redactor::new(values);
    let through = |bytes: &[u8], size: usize| {
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        for chunk in bytes.chunks(size) {
            stream.push(chunk, &mut out);
        }
        stream.finish(&mut out);
        out
    };
    let whole = through(bytes, bytes.len().max(1));
    assert_eq!(whole, through(bytes, 1));
    assert_eq!(whole, through(bytes, 7));
    for value in VALUES {
        assert!(!whole.windows(value.len()).any(|window| window == value.as_bytes()));
    }
    // Rules look 512 bytes ahead, and a mark may be longer than what it stands for.
    if bytes.len() < 256 {
        assert_eq!(whole, through(&whole, whole.len().max(1)));
    }
});
