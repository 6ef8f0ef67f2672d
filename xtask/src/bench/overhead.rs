//! What `dcli exec` costs over a direct start of the same program: paired, in turns, in one run.

use std::path::Path;
use std::process::Command;

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::{Stage, ms, timed};
use super::streams;

const PAIRS: usize = 200;
pub(super) const WARM: usize = 5;
const EVENT_PAIRS: usize = 7;
const EVENTS: u64 = 400_000;

/// One figure for each rung of containment.
pub(super) fn starts(stage: &Stage, who: &str) -> Result<Vec<Figure>, BenchError> {
    let stream = stage.file("ok.jsonl", |out| streams::write_events(out, 2))?;
    let record = cat(stage, &stream)?;
    ["pid-namespace", "guardian", "process-group"]
        .into_iter()
        .map(|rung| {
            let mut direct = stage.command("cat");
            direct.arg(&stream);
            let mut exec = stage.exec(&record, &["--containment", rung]);
            Ok(Figure {
                what: format!("exec over a direct start, {rung}, {who}"),
                command: format!("dcli exec --record CAT --containment {rung} − cat STREAM"),
                unit: "ms",
                sample: pairs(&mut direct, &mut exec, PAIRS)?,
                target: Target::AtMost(10.0),
            })
        })
        .collect()
}

/// How long dcli itself takes to start and end; a share of every figure above.
pub(super) fn bare(stage: &Stage) -> Result<Figure, BenchError> {
    let mut version = stage.command(stage.path("dcli"));
    version.arg("--version");
    let took = (0..PAIRS).map(|_| timed(&mut version, "dcli --version").map(ms));
    Ok(Figure {
        what: "start and end of dcli alone (a share of the figures above)".into(),
        command: "dcli --version".into(),
        unit: "ms",
        sample: Sample::of(took.collect::<Result<Vec<_>, _>>()?),
        target: Target::None,
    })
}

/// Many short events, whole: capture, scan, facts, envelope.
pub(super) fn events(stage: &Stage) -> Result<Figure, BenchError> {
    let stream = stage.file("events.jsonl", |out| streams::write_events(out, EVENTS))?;
    let record = cat(stage, &stream)?;
    let mut direct = stage.command("cat");
    // A direct `cat` into /dev/null would copy nothing: both write a file.
    let target = || std::fs::File::create(stage.path("direct.out")).named("make a file");
    direct.arg(&stream);
    let mut exec = stage.exec(&record, &[]);
    let sample = (0..EVENT_PAIRS).map(|_| {
        let alone = ms(timed(direct.stdout(target()?), "cat")?);
        Ok(ms(timed(&mut exec, "dcli exec")?) - alone)
    });
    Ok(Figure {
        what: format!("{EVENTS} events through exec, over the program itself"),
        command: "dcli exec --record CAT − cat STREAM".into(),
        unit: "ms",
        sample: Sample::of(sample.collect::<Result<Vec<_>, BenchError>>()?),
        target: Target::AtMost(500.0),
    })
}

/// A record that prints a file.
pub(super) fn cat(stage: &Stage, stream: &Path) -> Result<std::path::PathBuf, BenchError> {
    stage.record("cat", &[&stream.to_string_lossy()])
}

/// What one command takes longer than the other, in turns.
pub(super) fn pairs(
    direct: &mut Command,
    exec: &mut Command,
    count: usize,
) -> Result<Sample, BenchError> {
    let mut differences = Vec::new();
    for at in 0..WARM + count {
        let difference = if at % 2 == 0 {
            let alone = ms(timed(direct, "the program itself")?);
            ms(timed(exec, "dcli")?) - alone
        } else {
            let whole = ms(timed(exec, "dcli")?);
            whole - ms(timed(direct, "the program itself")?)
        };
        differences.push(difference);
    }
    Ok(Sample::of(differences.split_off(WARM)))
}
