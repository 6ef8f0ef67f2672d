//! What is left where a worker died: whether its tree is gone, and a result if one was complete.

use std::time::{Duration, Instant};

use dcli_contain::{Identity, Presence};
use dcli_core::decode::DEFAULT_LINE_CAP;
use dcli_core::envelope::{ResultEnvelope, Status, SurvivorReport};
use dcli_core::executor::Scanner;
use dcli_core::executor::record::Record;
use dcli_core::fact::{Tokens, Warning};
use dcli_core::job::machine::{Decided, Job, Stage};
use dcli_core::job::request::JobRequest;
use dcli_core::job::verdict::Loss;
use serde::Deserialize;

use crate::store::job_dir::JobDir;
use crate::store::job_writer::JobWriter;
use crate::store::regular;

/// How long a tree may take to end after its controller: measured 2 to 18 ms, more under load.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// How much of a capture is read at once.
const CHUNK: usize = 256 * 1024;

/// What is known where nothing may be written: a result that was judged and saved before the death.
pub(super) fn known(dir: &JobDir, job: &Job, reason: String) -> Loss {
    let warnings = job.status().warnings.clone();
    let loss = Loss { reason, warnings, ..Loss::default() };
    let Ok(attempt) = dir.latest_attempt() else { return loss };
    let saved = dir.result(&attempt).ok().flatten().map(|bytes| bytes.len() as u64);
    let judged = dir.record::<ResultEnvelope>(&attempt.envelope());
    let is_ok = judged.is_ok_and(|envelope| envelope.status == Status::Ok);
    Loss { result_bytes: saved, is_proven: is_ok && saved.is_some(), ..loss }
}

/// What was found, and how it is known that the worker died.
pub(super) fn loss(writer: &JobWriter, job: &Job, reason: String) -> Loss {
    let survivors = match job.stage() {
        Stage::Launching | Stage::Working => survivors(writer),
        _ => job.status().containment_survivors.clone(),
    };
    let mut loss = Loss { survivors, ..known(writer.dir(), job, reason) };
    if job.decided() == Some(Decided::Completion)
        && !loss.is_proven
        && let Some((bytes, tokens)) = rescan(writer)
    {
        let message = "the result was read from the captured output after the worker's death";
        loss.warnings.push(Warning::new("result_recovered", message));
        loss = Loss { result_bytes: Some(bytes), is_proven: true, tokens, ..loss };
    }
    loss
}

#[derive(Deserialize)]
struct Command {
    leader: Identity,
}

/// Waits until the backend's own process is gone. The kernel, the guardian or its parent's death
/// ends it; nothing is signalled here, since nobody knows any more whose pid that is.
fn survivors(writer: &JobWriter) -> Option<Vec<SurvivorReport>> {
    let command: Command = writer.dir().record(&writer.attempt().command()).ok()?;
    let began = Instant::now();
    loop {
        match command.leader.presence().ok()? {
            Presence::Gone | Presence::OtherBoot => return Some(Vec::new()),
            Presence::OtherNamespace => return None,
            Presence::Alive if began.elapsed() > LIMIT => {
                let pid = u32::try_from(command.leader.pid).unwrap_or_default();
                let start_time = command.leader.start_time;
                return Some(vec![SurvivorReport { pid, start_time, comm: "backend".to_owned() }]);
            }
            Presence::Alive => std::thread::sleep(PAUSE),
        }
    }
}

/// The result in what was captured, saved; only where the stream is complete.
fn rescan(writer: &JobWriter) -> Option<(u64, Tokens)> {
    use std::io::Read;
    let kept: JobRequest = writer.dir().request().ok()?;
    let record: Record = serde_json::from_value(kept.record).ok()?;
    let path = writer.attempt().capture().join(crate::exec::CAPTURED_STDOUT);
    let mut file = regular::open_own(&path).ok()?;
    let mut scanner = Scanner::new(std::sync::Arc::new(record), DEFAULT_LINE_CAP);
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk).ok()? {
            0 => break,
            count => scanner.push(chunk.get(..count)?, |_| {}),
        }
    }
    let scan = scanner.finish(|_| {});
    let result = scan.answer().filter(|_| scan.complete())?;
    writer.write_result(result.as_bytes()).and_then(|()| writer.sync_names()).ok()?;
    Some((result.len() as u64, scan.tokens))
}
