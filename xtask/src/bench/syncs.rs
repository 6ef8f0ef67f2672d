//! How often a job waits for the disk, as the kernel sees it, and what one such wait costs here.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::jobs;
use super::sample::Sample;
use super::stage::{Stage, ms, timed};

const RUNS: usize = 3;
const WRITES: usize = 100;
/// As much as a line of a journal has.
const LINE: [u8; 200] = [b'x'; 200];
/// Every call by which a program waits for the disk.
const CALLS: [&str; 5] = ["fsync(", "fdatasync(", "sync_file_range(", "syncfs(", "sync("];

/// `None` for the count where strace is not installed.
pub(super) fn measure(stage: &Stage) -> Result<(Option<Figure>, [Figure; 2]), BenchError> {
    let count = match Command::new("strace").arg("-V").output() {
        Ok(_) => Some(counted(stage)?),
        Err(_) => None,
    };
    Ok((count, [appended(stage)?, replaced(stage)?]))
}

fn counted(stage: &Stage) -> Result<Figure, BenchError> {
    let (record, _) = jobs::short(stage)?;
    let trace = stage.path("trace");
    let calls = (0..RUNS).map(|_| {
        let mut strace = stage.command("strace");
        strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync", "-o"]);
        let run = stage.ask("run", &record, &[]);
        strace.arg(&trace).arg(run.get_program()).args(run.get_args());
        timed(&mut strace, "dcli run below strace")?;
        let text = fs::read_to_string(&trace).named("read what strace saw")?;
        let is_call = |line: &&str| CALLS.iter().any(|call| line.contains(&format!(" {call}")));
        Ok(text.lines().filter(is_call).count() as f64)
    });
    Ok(Figure {
        what: "syncs of a run, from its making to its end".into(),
        command: "strace -f -e trace=fsync,fdatasync dcli run --record CAT".into(),
        unit: "calls",
        sample: Sample::of(calls.collect::<Result<Vec<_>, BenchError>>()?),
        target: Target::None,
    })
}

/// A line at the end of a file.
fn appended(stage: &Stage) -> Result<Figure, BenchError> {
    let mut file = File::create(stage.path("appended")).named("make a file")?;
    let took = (0..WRITES).map(|_| {
        file.write_all(&LINE)?;
        let begun = Instant::now();
        file.sync_data().map(|()| ms(begun.elapsed()))
    });
    let took = took.collect::<std::io::Result<Vec<_>>>().named("append to a file")?;
    Ok(cost("one sync here, of a line at the end of a file", took))
}

/// A new file, whose name is put on the disk too: two syncs, of which this is the mean.
fn replaced(stage: &Stage) -> Result<Figure, BenchError> {
    let directory = stage.path("replaced");
    fs::create_dir(&directory).named("make a directory")?;
    let took = (0..WRITES).map(|_| {
        let mut file = File::create(directory.join("new"))?;
        file.write_all(&LINE)?;
        let begun = Instant::now();
        file.sync_all()?;
        fs::rename(directory.join("new"), directory.join("there"))?;
        File::open(&directory)?.sync_all()?;
        Ok(ms(begun.elapsed()) / 2.0)
    });
    let took = took.collect::<std::io::Result<Vec<_>>>().named("replace a file")?;
    Ok(cost("one sync here, of a new file or its directory", took))
}

fn cost(what: &str, took: Vec<f64>) -> Figure {
    Figure {
        what: what.to_owned(),
        command: "write, fsync".into(),
        unit: "ms",
        sample: Sample::of(took),
        target: Target::None,
    }
}
