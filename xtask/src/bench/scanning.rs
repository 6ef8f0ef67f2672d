//! How fast streams are scanned, with the shipped records and all their rules.

use serde::Deserialize;

use super::error::BenchError;
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::Stage;
use super::streams::{self, Shape};
use crate::command;

const BYTES: usize = 32_000_000;
const LONG: usize = 20_000_000;
const ROUNDS: &str = "9";

/// What the scan example prints.
#[derive(Deserialize)]
struct Scanned {
    bytes: f64,
    records: f64,
    complete: bool,
    seconds: Vec<f64>,
}

/// One figure for each shape of stream, and one for a very long line.
pub(super) fn measure(stage: &Stage) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    for shape in Shape::ALL {
        stage.file("stream.jsonl", |out| streams::write_bytes(out, shape, BYTES).map(drop))?;
        let found = scan(stage, shape.record())?;
        let rate = found.seconds.iter().map(|seconds| found.bytes / seconds / 1e6);
        figures.push(Figure {
            what: format!(
                "scan, {}, {:.0} bytes a record",
                shape.name(),
                found.bytes / found.records
            ),
            command: format!("scan {} STREAM {ROUNDS}", shape.record()),
            unit: "MB/s",
            sample: Sample::of(rate),
            target: if shape == Shape::Short { Target::None } else { Target::AtLeast(400.0) },
        });
    }
    figures.push(long_line(stage)?);
    Ok(figures)
}

fn long_line(stage: &Stage) -> Result<Figure, BenchError> {
    stage.file("stream.jsonl", |out| streams::write_long_line(out, LONG))?;
    let found = scan(stage, "opencode")?;
    Ok(Figure {
        what: format!("scan, one answer in a line of {:.0} MB", found.bytes / 1e6),
        command: format!("scan opencode STREAM {ROUNDS}"),
        unit: "ms",
        sample: Sample::of(found.seconds.iter().map(|seconds| seconds * 1e3)),
        target: Target::AtMost(100.0),
    })
}

fn scan(stage: &Stage, record: &str) -> Result<Scanned, BenchError> {
    let mut scan = stage.command(stage.path("scan"));
    scan.arg(record).arg(stage.path("stream.jsonl")).arg(ROUNDS);
    scan.stdout(std::process::Stdio::piped());
    let found: Scanned = serde_json::from_str(&command::output_of(&mut scan)?)?;
    if found.complete {
        return Ok(found);
    }
    Err(BenchError::Unexpected(format!("the {record} stream was not read as a good run")))
}
