//! How late a run ends: deadlines, a cancel, and the death of dcli itself, over hostile trees.

use std::process::Command;
use std::time::{Duration, Instant};

use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::{Hostile, Stage, ms};

const ROUNDS: usize = 7;
const LIMIT: Duration = Duration::from_secs(1);
const RUNGS: [&str; 2] = ["pid-namespace", "guardian"];

/// All of it.
pub(super) fn measure(stage: &Stage) -> Result<Vec<Figure>, BenchError> {
    let mut figures = vec![stalled(stage)?, flooding(stage)?];
    for rung in RUNGS {
        let named = |what: &str, command: &str| Figure {
            what: format!("{what}, {rung}"),
            command: format!("dcli exec --record HOSTILE --containment {rung}{command}"),
            unit: "ms",
            sample: Sample::default(),
            target: Target::AtMost(1000.0),
        };
        let hard =
            named("overshoot of a hard deadline, outputs held open", " --hard-timeout-sec 1");
        figures.push(Figure { sample: rounds(|| overshoot(stage, rung))?, ..hard });
        let cancel = named(
            "from the second cancel to an ended tree that ignored the first",
            "; kill -INT dcli, twice",
        );
        figures.push(Figure { sample: rounds(|| cancelled(stage, rung))?, ..cancel });
        let killed = named("from SIGKILL of dcli to an empty tree", "; kill -KILL dcli");
        figures.push(Figure { sample: rounds(|| killed_dcli(stage, rung))?, ..killed });
    }
    Ok(figures)
}

fn rounds(mut once: impl FnMut() -> Result<f64, BenchError>) -> Result<Sample, BenchError> {
    let values = (0..ROUNDS).map(|_| once()).collect::<Result<Vec<_>, _>>()?;
    Ok(Sample::of(values))
}

/// A backend that has said something and then says nothing more.
fn stalled(stage: &Stage) -> Result<Figure, BenchError> {
    let script = "echo '{\"type\":\"text\",\"part\":{\"text\":\"a\"}}'; exec sleep 100";
    let record = stage.record("sh", &["-c", script])?;
    let sample = rounds(|| late(stage.exec(&record, &["--idle-timeout-sec", "1"])))?;
    Ok(Figure {
        what: "overshoot of the idle deadline, a stalled backend".into(),
        command: "dcli exec --record STALLED --idle-timeout-sec 1".into(),
        unit: "ms",
        sample,
        target: Target::AtMost(1000.0),
    })
}

/// A backend that writes records faster than they can be read.
fn flooding(stage: &Stage) -> Result<Figure, BenchError> {
    let record = stage.record("yes", &["{\"type\":\"text\",\"part\":{\"text\":\"word\"}}"])?;
    let sample = rounds(|| late(stage.exec(&record, &["--hard-timeout-sec", "1"])))?;
    Ok(Figure {
        what: "overshoot of a hard deadline, a backend that floods".into(),
        command: "dcli exec --record YES --hard-timeout-sec 1".into(),
        unit: "ms",
        sample,
        target: Target::AtMost(1000.0),
    })
}

fn late(mut exec: Command) -> Result<f64, BenchError> {
    let begun = Instant::now();
    let status = exec.status().named("start dcli")?;
    refuse_good_end(status)?;
    Ok(ms(begun.elapsed()) - ms(LIMIT))
}

fn overshoot(stage: &Stage, rung: &str) -> Result<f64, BenchError> {
    let options = ["--containment", rung, "--hard-timeout-sec", "1"];
    let mut tree = stage.hostile(&options)?;
    let status = tree.dcli.wait().named("wait for dcli")?;
    let took = ms(tree.begun.elapsed()) - ms(LIMIT);
    refuse_good_end(status)?;
    refuse_survivors(&tree)?;
    Ok(took)
}

fn cancelled(stage: &Stage, rung: &str) -> Result<f64, BenchError> {
    let mut tree = ready(stage, rung)?;
    // The first asks the backend to end, the second ends the tree at once; two at the same moment
    // are one to the kernel.
    interrupt(&tree)?;
    std::thread::sleep(Duration::from_millis(20));
    let begun = Instant::now();
    interrupt(&tree)?;
    let status = tree.dcli.wait().named("wait for dcli")?;
    let took = ms(begun.elapsed());
    refuse_good_end(status)?;
    refuse_survivors(&tree)?;
    Ok(took)
}

fn killed_dcli(stage: &Stage, rung: &str) -> Result<f64, BenchError> {
    let mut tree = ready(stage, rung)?;
    let begun = Instant::now();
    tree.dcli.kill().and_then(|()| tree.dcli.wait()).named("kill dcli")?;
    tree.marker.wait_gone(HANG_LIMIT)?;
    Ok(ms(begun.elapsed()))
}

fn ready(stage: &Stage, rung: &str) -> Result<Hostile, BenchError> {
    let tree = stage.hostile(&["--containment", rung])?;
    wait_until("the hostile tree to be there", HANG_LIMIT, || tree.ready.exists())?;
    Ok(tree)
}

fn interrupt(tree: &Hostile) -> Result<(), BenchError> {
    let pid = i32::try_from(tree.dcli.id()).ok().and_then(Pid::from_raw);
    let gone = || BenchError::Unexpected("dcli has no process id".into());
    kill_process(pid.ok_or_else(gone)?, Signal::INT)
        .map_err(std::io::Error::from)
        .named("interrupt dcli")
}

fn refuse_good_end(status: std::process::ExitStatus) -> Result<(), BenchError> {
    match status.code() {
        Some(0) | None => {
            Err(BenchError::Ended { what: "a run that cannot be good".into(), status })
        }
        Some(_) => Ok(()),
    }
}

fn refuse_survivors(tree: &Hostile) -> Result<(), BenchError> {
    match tree.marker.alive().as_slice() {
        [] => Ok(()),
        alive => Err(BenchError::Unexpected(format!("alive after the end: {alive:?}"))),
    }
}
