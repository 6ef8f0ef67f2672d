//! Where a test may hold a worker still: after each effect. Only in builds with debug assertions;
//! release builds never look.
//!
//! `DCLI_TEST_FAULT=NAME` stops the first process that performed the effect NAME, after it wrote its
//! pid to the new file `DCLI_TEST_FAULT_FILE`: whoever waits for that file kills a process that stands
//! exactly there. Where the file is there already, nobody stops. With `DCLI_TEST_FAULT_UNTIL` the
//! process goes on once that file is there.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dcli_core::attempt::Effect as AttemptEffect;
use dcli_core::job::machine::Effect;

/// Between two looks for the file that lets a held worker go on.
const LOOK: Duration = Duration::from_millis(5);

/// Holds this process still if the test asked for it here.
pub(super) fn point(name: &str) {
    if cfg!(debug_assertions)
        && std::env::var("DCLI_TEST_FAULT").is_ok_and(|asked| asked == name)
        && let Some(path) = std::env::var_os("DCLI_TEST_FAULT_FILE")
        && tell(path.as_ref()).is_ok()
    {
        let until = std::env::var_os("DCLI_TEST_FAULT_UNTIL").map(PathBuf::from);
        while !until.as_ref().is_some_and(|file| file.exists()) {
            std::thread::park_timeout(LOOK);
        }
    }
}

/// The file appears whole, once.
fn tell(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    writeln!(file, "{}", std::process::id())?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
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
        AttemptEffect::Note(milestone) => format!("{} {}", effect.name(), milestone.name()),
        _ => effect.name().to_owned(),
    }
}

/// The name of an effect of a job.
pub(super) fn job_name(effect: &Effect) -> String {
    match effect {
        Effect::Append(event) => format!("{} {}", effect.name(), event.name()),
        _ => effect.name().to_owned(),
    }
}
