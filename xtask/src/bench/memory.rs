//! What dcli itself takes while a job runs: the proportional set of every process of its tree but
//! the backend.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dcli_testkit::hang::{HANG_LIMIT, wait_until};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::jobs;
use super::sample::Sample;
use super::stage::Stage;
use super::streams::{self, Shape};

const ROUNDS: usize = 5;
const BYTES: usize = 32_000_000;
/// Two looks this far apart that find the same CPU time find a process at rest.
const REST: Duration = Duration::from_millis(300);

/// A job that waits, and one that has printed a lot before.
pub(super) fn measure(stage: &Stage) -> Result<Vec<Figure>, BenchError> {
    let stream = stage
        .file("big.jsonl", |out| streams::write_bytes(out, Shape::Opencode, BYTES).map(drop))?;
    let print = format!("cat '{}'; exec sleep 100", stream.display());
    let scripts =
        [("which has printed nothing", "exec sleep 100"), ("after 32 MB of output", &print)];
    let figure = |(what, script): (&str, &str)| {
        let samples = (0..ROUNDS).map(|_| once(stage, script));
        Ok(Figure {
            what: format!("memory of dcli and its init beside a job {what}"),
            command: "dcli exec --record SH; Pss of smaps_rollup, backend left out".into(),
            unit: "MB",
            sample: Sample::of(samples.collect::<Result<Vec<_>, BenchError>>()?),
            target: Target::AtMost(8.0),
        })
    };
    let mut figures = scripts.into_iter().map(figure).collect::<Result<Vec<_>, BenchError>>()?;
    figures.push(of_job(stage)?);
    Ok(figures)
}

/// Beside a job in the background: its worker, and that one's init.
fn of_job(stage: &Stage) -> Result<Figure, BenchError> {
    let samples = (0..ROUNDS).map(|_| once_submitted(stage));
    Ok(Figure {
        what: "memory of dcli and its init beside a submitted job".into(),
        command: "dcli submit --record SH; Pss of smaps_rollup, backend left out".into(),
        unit: "MB",
        sample: Sample::of(samples.collect::<Result<Vec<_>, BenchError>>()?),
        target: Target::AtMost(8.0),
    })
}

/// A pid in a job's record: of its worker, or of its backend.
fn pid_of(stage: &Stage, id: &str, who: &str) -> Result<u32, BenchError> {
    let status = jobs::directory(stage, id)?.join("status.json");
    let text = fs::read_to_string(status).named("read the job's record")?;
    let pid = serde_json::from_str::<serde_json::Value>(&text)?[who].as_u64();
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    pid.ok_or_else(|| BenchError::Unexpected(format!("a job has no {who}")))
}

/// What dcli takes beside a job that waits for an answer: all of its tree that is dcli's own.
pub(super) fn of_waiting(stage: &Stage, id: &str) -> Result<f64, BenchError> {
    let tree = tree_of(pid_of(stage, id, "worker_pid")?);
    let backend = tree_of(pid_of(stage, id, "backend_pid")?);
    let ours = tree.into_iter().filter(|pid| !backend.contains(pid));
    let sets = ours.map(|pid| pss(pid).ok_or(pid)).collect::<Result<Vec<_>, _>>();
    let sets = sets.map_err(|pid| BenchError::Unexpected(format!("process {pid} has no Pss")))?;
    match sets.len() {
        0 | 1 => Err(BenchError::Unexpected("there is no init beside dcli".into())),
        _ => Ok(sets.iter().sum::<f64>() / 1e6),
    }
}

fn once_submitted(stage: &Stage) -> Result<f64, BenchError> {
    let record = endless(stage, "exec sleep 100")?;
    let id = jobs::submitted(stage, &record)?;
    let measured = at_rest(pid_of(stage, &id, "worker_pid")?);
    let ended = stage.dcli(&["cancel", &id]).status().named("end the job")?;
    match ended.code() {
        Some(0) => measured,
        _ => Err(BenchError::Ended { what: "dcli cancel".into(), status: ended }),
    }
}

fn once(stage: &Stage, script: &str) -> Result<f64, BenchError> {
    let record = endless(stage, script)?;
    let mut dcli = stage.exec(&record, &[]).spawn().named("start dcli")?;
    let measured = at_rest(dcli.id());
    dcli.kill().and_then(|()| dcli.wait()).named("end dcli")?;
    measured
}

/// A good run would end once its answer is there: this record's evidence never comes.
fn endless(stage: &Stage, script: &str) -> Result<PathBuf, BenchError> {
    let record = stage.record("sh", &["-c", script])?;
    let text = fs::read_to_string(&record).named("read the record")?;
    let endless = text.replace("{ type = \"step_finish\" }", "{ type = \"never\" }");
    fs::write(&record, endless).named("write the record")?;
    Ok(record)
}

fn at_rest(dcli: u32) -> Result<f64, BenchError> {
    let (mut before, mut seen) = (0, false);
    wait_until("the job to be at rest", HANG_LIMIT, || {
        std::thread::sleep(REST);
        let tree = tree_of(dcli);
        seen |= tree.iter().any(|pid| name_of(*pid) == "sleep");
        let cpu = tree.iter().map(|pid| cpu_of(*pid)).sum();
        seen && std::mem::replace(&mut before, cpu) == cpu
    })?;
    let ours = tree_of(dcli).into_iter().filter(|pid| name_of(*pid) != "sleep");
    let sets = ours.map(|pid| pss(pid).ok_or(pid)).collect::<Result<Vec<_>, _>>();
    let sets = sets.map_err(|pid| BenchError::Unexpected(format!("process {pid} has no Pss")))?;
    match sets.len() {
        0 | 1 => Err(BenchError::Unexpected("there is no init beside dcli".into())),
        _ => Ok(sets.iter().sum::<f64>() / 1e6),
    }
}

/// A process and all its descendants, by parent.
fn tree_of(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> =
        pids.filter_map(|pid| Some((pid, stat(pid)?.get(1)?.parse().ok()?))).collect();
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(parent) = tree.get(at).copied() {
        tree.extend(parents.iter().filter(|(_, ppid)| *ppid == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    tree
}

/// The fields of proc(5)'s stat after the name: state, parent, …
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

fn cpu_of(pid: u32) -> u64 {
    let fields = stat(pid).unwrap_or_default();
    [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum()
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// In bytes.
fn pss(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}
