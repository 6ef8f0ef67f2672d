//! Lines, JSONL, server-sent events and paths from foreign bytes: no panic, any chunking alike.
#![no_main]

use dcli_core::decode::{JsonlDecoder, Path, Projection, SseDecoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |size: usize| {
        let mut decoder = JsonlDecoder::new(Projection::whole(), 4096);
        let mut seen = Vec::new();
        for chunk in bytes.chunks(size) {
            decoder.push(chunk, |line| seen.push(format!("{line:?}")));
        }
        (seen, format!("{:?}", decoder.finish()))
    };
    assert_eq!(read(1), read(bytes.len().max(1)));
    let mut events = SseDecoder::new(4096);
    for chunk in bytes.chunks(7) {
        events.push(chunk, |_| {});
    }
    if let Ok(path) = String::from_utf8_lossy(bytes).parse::<Path>() {
        assert_eq!(path.to_string().parse::<Path>().ok(), Some(path));
    }
});
