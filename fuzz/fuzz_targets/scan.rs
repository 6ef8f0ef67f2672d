//! A stream through every shipped record: no panic, and a stream without proof is never ok.
#![no_main]

use std::sync::Arc;

use dcli_core::envelope::Status;
use dcli_core::executor::{Catalogue, Scanner};
use dcli_core::outcome::{Ending, Surroundings, conclude};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(catalogue) = Catalogue::shipped() else { return };
    for executor in catalogue.iter() {
        let mut scanner = Scanner::new(Arc::clone(&executor.record), 1 << 16);
        for chunk in bytes.chunks(11) {
            scanner.push(chunk, drop);
        }
        let scan = scanner.finish(drop);
        let verdict = conclude(&Ending::Exited(0), &scan, &Surroundings::default());
        if verdict.status == Status::Ok {
            assert!(scan.terminal && scan.answer().is_some() && scan.failure.is_none());
        }
    }
});
