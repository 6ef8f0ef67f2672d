//! The cache of version probes: one of the CLIs needs more than a second to print its version.

use dcli_testkit::clis::{Cli, CliId};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::{Stage, ms, timed};

const ROUNDS: usize = 3;

/// A miss and a hit; `None` where the CLI is not installed.
pub(super) fn measure(stage: &Stage) -> Result<Option<[Figure; 2]>, BenchError> {
    let Ok(cli) = Cli::find(CliId::Opencode) else { return Ok(None) };
    let directory = cli.program.parent().unwrap_or(&cli.program);
    let (mut misses, mut hits) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let state = stage.path(&format!("versions-{round}"));
        std::fs::create_dir(&state).named("make a state root")?;
        let mut backends = stage.command(stage.path("dcli"));
        backends.args(["backends", "--json"]).env("PATH", directory).env("DCLI_STATE_ROOT", state);
        misses.push(ms(timed(&mut backends, "dcli backends")?));
        hits.push(ms(timed(&mut backends, "dcli backends")?));
    }
    let figure = |what: &str, values| Figure {
        what: format!("version of {}, {what}", cli.id.name()),
        command: "dcli backends --json".into(),
        unit: "ms",
        sample: Sample::of(values),
        target: Target::None,
    };
    Ok(Some([figure("asked", misses), figure("remembered", hits)]))
}
