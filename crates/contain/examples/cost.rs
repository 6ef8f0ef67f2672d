//! What containment costs here: start to exit of `/bin/true`, bare and in each kind, in turns; and the
//! memory of the init. `cargo run --release -p dcli-contain --example cost [ROUNDS]`.
//!
//! Also the shortest program that embeds containment: the entry first in `main`, then probe, choose, start.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dcli_contain::{Entry, Input, Kind, Launch, Requirement, probe, start};

const DEFAULT_ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    dcli_contain::entry();
    let entry = Entry::current()?;
    let rounds = std::env::args().nth(1).map_or(Ok(DEFAULT_ROUNDS), |text| text.parse())?;
    let mut out = std::io::stdout().lock();

    let begun = Instant::now();
    let support = probe(&entry);
    writeln!(out, "probe of every kind: {:?}", begun.elapsed())?;
    let choice = support.choose(&Requirement::BestAvailable)?;
    writeln!(out, "best available: {}, degraded: {}", choice.kind, choice.degraded)?;

    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|k| support.reason(*k).is_none()).collect();
    let mut bare = Vec::new();
    let mut contained = vec![(Vec::new(), Vec::new()); kinds.len()];
    for _round in 0..rounds {
        bare.push(time_bare()?);
        for (kind, (run, end)) in kinds.iter().zip(&mut contained) {
            let (ran, ended) = time_contained(&entry, *kind)?;
            run.push(ran);
            end.push(ended);
        }
    }
    writeln!(out, "{:<16} {:>10} {:>10}   (medians of {rounds})", "", "to exit", "end")?;
    writeln!(out, "{:<16} {:>10?}", "bare spawn", median(&mut bare))?;
    for (kind, (run, end)) in kinds.iter().zip(&mut contained) {
        writeln!(out, "{kind:<16} {:>10?} {:>10?}", median(run), median(end))?;
    }
    Ok(())
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

fn time_bare() -> std::io::Result<Duration> {
    let begun = Instant::now();
    let mut command = Command::new("/bin/true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(begun.elapsed())
}

fn time_contained(entry: &Entry, kind: Kind) -> Result<(Duration, Duration), Box<dyn Error>> {
    let null = || OpenOptions::new().write(true).open("/dev/null");
    let begun = Instant::now();
    let contained = start(
        entry,
        Launch {
            program: "/bin/true".into(),
            args: Vec::new(),
            arg0: None,
            env: Vec::new(),
            cwd: "/".into(),
            stdin: Input::Null,
            stdout: null()?.into(),
            stderr: null()?.into(),
            kind,
        },
    )?;
    contained.wait_leader()?;
    let ran = begun.elapsed();
    let begun = Instant::now();
    contained.end();
    Ok((ran, begun.elapsed()))
}
