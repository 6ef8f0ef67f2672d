//! `tail`: the facts of a job, or its backend's own lines, as they come.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use dcli_core::fact::FactLine;
use dcli_core::job::id::JobId;

use super::engine::Engine;
use super::error::JobError;
use super::reconcile;
use crate::store::attempt::LogName;
use crate::store::job_dir::JobDir;
use crate::store::lines::Lines;
use crate::store::regular;

/// Between two looks at a file that grows.
const PAUSE: Duration = Duration::from_millis(100);
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Gives each fact of the job to `each`, in their order. With `follow`, goes on until the job has
/// ended; `each` ends it earlier by answering false.
///
/// ```no_run
/// use dcli::job::{Engine, tail};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// tail::facts(engine, id, true, |line| {
///     println!("{} {:?}", line.at, line.fact);
///     true // go on
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job does not exist, or its record cannot be read.
pub fn facts(
    engine: &Engine,
    id: &JobId,
    follow: bool,
    mut each: impl FnMut(&FactLine) -> bool,
) -> Result<(), JobError> {
    let dir = engine.find(id)?;
    let mut lines: Option<Lines<FactLine>> = None;
    until_over(engine, &dir, follow, || {
        if lines.is_none() {
            lines = open(&dir)?;
        }
        let Some(lines) = &mut lines else { return Ok(true) };
        while let Some(line) = lines.next_line().map_err(|error| JobError::journal(id, &error))? {
            if !each(&line) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Gives the backend's own output to `each`, redacted, in pieces. With `follow`, goes on until the
/// job has ended; `each` ends it earlier by answering false.
///
/// ```no_run
/// use std::io::Write;
///
/// use dcli::job::{Engine, tail};
/// # use dcli::model::job::id::JobId;
/// # fn example(engine: &Engine, id: &JobId) -> Result<(), dcli::job::JobError> {
/// tail::raw(engine, id, false, |bytes| std::io::stdout().write_all(bytes).is_ok())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The job does not exist, or its log cannot be read.
pub fn raw(
    engine: &Engine,
    id: &JobId,
    follow: bool,
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<(), JobError> {
    let dir = engine.find(id)?;
    let attempt = dir.latest_attempt().map_err(|error| JobError::record(id, error))?;
    // A server's output is no protocol; what it sends is.
    let has = |name| attempt.log(name).exists();
    let is_server = || !has(LogName::Stdout) && (has(LogName::Events) || has(LogName::Server));
    let mut file: Option<File> = None;
    until_over(engine, &dir, follow, || {
        let path = attempt.log(if is_server() { LogName::Events } else { LogName::Stdout });
        if file.is_none() {
            file =
                present(regular::open_own(&path)).map_err(|source| JobError::io(&path, source))?;
        }
        let Some(file) = &mut file else { return Ok(true) };
        pour(file, &mut each).map_err(|source| JobError::io(&path, source))
    })
}

/// Gives what is there of a file to `each`, until that answers false.
fn pour(file: &mut File, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(true),
            count if !each(chunk.get(..count).unwrap_or_default()) => return Ok(false),
            _ => {}
        }
    }
}

/// Looks, again and again where that is wanted, until the job has ended or `look` answers false.
fn until_over(
    engine: &Engine,
    dir: &JobDir,
    follow: bool,
    mut look: impl FnMut() -> Result<bool, JobError>,
) -> Result<(), JobError> {
    loop {
        // Asked before the files are read: what was written before the end is read after it.
        let is_over = !follow || reconcile::status(engine, dir)?.state.is_terminal();
        if !look()? || is_over {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

fn open(dir: &JobDir) -> Result<Option<Lines<FactLine>>, JobError> {
    let attempt = dir.latest_attempt().map_err(|error| JobError::record(dir.id(), error))?;
    match Lines::open(&attempt.facts()) {
        Ok(lines) => Ok(Some(lines)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(JobError::journal(dir.id(), &error)),
    }
}

fn present(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}
