//! What jobs cost: one in the foreground over a direct start of the same program, one handed to the
//! background, and how soon who waits for one hears of its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use dcli_testkit::hang::{HANG_LIMIT, wait_until};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::overhead;
use super::sample::Sample;
use super::stage::{Stage, ms, timed};
use super::streams;
use crate::command;

const PAIRS: usize = 100;
const ROUNDS: usize = 50;
const WAITS: usize = 15;
/// Between two looks for the end that somebody else waits for.
const LOOK: Duration = Duration::from_micros(200);

/// A record that prints a short good run, and the file that it prints.
pub(super) fn short(stage: &Stage) -> Result<(PathBuf, PathBuf), BenchError> {
    let stream = stage.file("job.jsonl", |out| streams::write_events(out, 2))?;
    Ok((overhead::cat(stage, &stream)?, stream))
}

/// One figure for each of the three.
pub(super) fn measure(stage: &Stage) -> Result<Vec<Figure>, BenchError> {
    let (record, stream) = short(stage)?;
    let (run, submit) = (run(stage, &record, &stream)?, submit(stage, &record)?);
    Ok(vec![run, submit, wake(stage, &stream)?])
}

fn run(stage: &Stage, record: &Path, stream: &Path) -> Result<Figure, BenchError> {
    let mut direct = stage.command("cat");
    direct.arg(stream);
    let mut run = stage.ask("run", record, &[]);
    Ok(Figure {
        what: "run over a direct start".into(),
        command: "dcli run --record CAT − cat STREAM".into(),
        unit: "ms",
        sample: overhead::pairs(&mut direct, &mut run, PAIRS)?,
        target: Target::AtMost(25.0),
    })
}

fn submit(stage: &Stage, record: &Path) -> Result<Figure, BenchError> {
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        // Until its output ends, as for `id=$(dcli submit …)`.
        let id = submitted(stage, record)?;
        took.push(ms(begun.elapsed()));
        timed(&mut stage.dcli(&["wait", &id]), "dcli wait")?;
    }
    Ok(Figure {
        what: "submit, until its output has ended".into(),
        command: "id=$(dcli submit --record CAT)".into(),
        unit: "ms",
        sample: Sample::of(took),
        target: Target::AtMost(30.0),
    })
}

/// Hands a job over, and gives its id.
pub(super) fn submitted(stage: &Stage, record: &Path) -> Result<String, BenchError> {
    let mut submit = stage.ask("submit", record, &[]);
    Ok(command::output_of(submit.stdout(Stdio::piped()))?.trim().to_owned())
}

/// The job's directory.
pub(super) fn directory(stage: &Stage, id: &str) -> Result<PathBuf, BenchError> {
    let jobs = fs::read_dir(stage.state().join("jobs")).named("read the state root")?;
    let found = jobs.flatten().map(|repository| repository.path().join(id));
    let missing = || BenchError::Unexpected(format!("job {id} has no directory"));
    found.into_iter().find(|path| path.exists()).ok_or_else(missing)
}

fn wake(stage: &Stage, stream: &Path) -> Result<Figure, BenchError> {
    let go = stage.path("go");
    let (sign, stream) = (go.to_string_lossy(), stream.to_string_lossy());
    let script = format!("until [ -e '{sign}' ]; do sleep 0.02; done; exec cat '{stream}'");
    let record = stage.record("sh", &["-c", &script])?;
    let sample = (0..WAITS).map(|_| woken(stage, &record, &go));
    Ok(Figure {
        what: "wait, from the record of the end to its own end".into(),
        command: "dcli wait ID".into(),
        unit: "ms",
        sample: Sample::of(sample.collect::<Result<Vec<_>, _>>()?),
        target: Target::None,
    })
}

fn woken(stage: &Stage, record: &Path, go: &Path) -> Result<f64, BenchError> {
    let id = submitted(stage, record)?;
    let record_of_job = directory(stage, &id)?.join("status.json");
    let mut wait = stage.dcli(&["wait", &id]).spawn().named("start dcli wait")?;
    let sleeps = format!("/proc/{}/stat", wait.id());
    wait_until("dcli wait to sleep", HANG_LIMIT, || {
        fs::read_to_string(&sleeps).is_ok_and(|stat| stat.contains(") S "))
    })?;
    fs::write(go, "").named("let the job go on")?;
    let is_done = || fs::read_to_string(&record_of_job).is_ok_and(|text| is_over(&text));
    let given_up = Instant::now() + HANG_LIMIT;
    while !is_done() && Instant::now() < given_up {
        std::thread::sleep(LOOK);
    }
    let ended = Instant::now();
    let status = wait.wait().named("wait for dcli wait")?;
    let took = ended.elapsed();
    fs::remove_file(go).named("stop the next job")?;
    match status.success() {
        true => Ok(ms(took)),
        false => Err(BenchError::Ended { what: "dcli wait".into(), status }),
    }
}

fn is_over(status: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(status)
        .is_ok_and(|status| status["phase"] == "terminal")
}
