//! Where a test may hold a worker still: after each effect. Only in builds with debug assertions;
//! release builds never look.
//!
//! `DCLI_TEST_FAULT=NAME` stops the worker the first time that the effect NAME was
//! performed, after it wrote its pid to the file `DCLI_TEST_FAULT_FILE`: whoever waits for that file
//! kills a process that stands exactly there. With `DCLI_TEST_FAULT_UNTIL` it goes on once that file
//! is there.

use std::path::PathBuf;
use std::time::Duration;

use dcli_core::attempt::Effect as AttemptEffect;
use dcli_core::job::machine::Effect;

/// Between two looks for the file that lets a held worker go on.
const LOOK: Duration = Duration::from_millis(5);

/// Holds this process still if the test asked for it here.
pub(super) fn point(name: &str) {
    if cfg!(debug_assertions) && std::env::var("DCLI_TEST_FAULT").is_ok_and(|asked| asked == name) {
        hold();
    }
}

fn hold() {
    if let Some(path) = std::env::var_os("DCLI_TEST_FAULT_FILE") {
        let pid = format!("{}\n", std::process::id());
        // A test that cannot be told hangs, and says so.
        let _ = crate::store::record::replace(path.as_ref(), pid.as_bytes());
    }
    let until = std::env::var_os("DCLI_TEST_FAULT_UNTIL").map(PathBuf::from);
    while !until.as_ref().is_some_and(|file| file.exists()) {
        std::thread::park_timeout(LOOK);
    }
}

/// How long a cancel waits on top of the ladder, where a test says so: milliseconds in
/// `DCLI_TEST_CANCEL_MARGIN`.
pub(super) fn cancel_margin(usual: Duration) -> Duration {
    let asked = cfg!(debug_assertions).then(|| std::env::var("DCLI_TEST_CANCEL_MARGIN").ok());
    let asked = asked.flatten().and_then(|text| text.parse().ok());
    asked.map_or(usual, Duration::from_millis)
}

/// The name of an effect of an attempt.
pub(super) fn name(effect: AttemptEffect) -> String {
    match effect {
        AttemptEffect::Note(milestone) => {
            let word = format!("{milestone:?}");
            let end = word.find([' ', '(', '{']).unwrap_or(word.len());
            format!("note {}", word.get(..end).unwrap_or(&word))
        }
        AttemptEffect::Climb(_) => "climb".to_owned(),
        AttemptEffect::EndTree => "end tree".to_owned(),
        AttemptEffect::Sample => "sample".to_owned(),
        AttemptEffect::LookForRest => "look for rest".to_owned(),
    }
}

/// The name of an effect of a job.
pub(super) fn job_name(effect: &Effect) -> String {
    match effect {
        Effect::Append(event) => format!("append {}", event.name()),
        Effect::TakePlace => "take place".to_owned(),
        Effect::AwaitPlace => "await place".to_owned(),
        Effect::MakeAttempt => "make attempt".to_owned(),
        Effect::StartBackend => "start backend".to_owned(),
        Effect::SaveOutput => "save output".to_owned(),
        Effect::Settle => "settle".to_owned(),
    }
}
