//! The scripted model server as a program: `dcli-model-server --scenario FILE|JSON [--log FILE]`.
//! Prints one line `{"port":N}` and serves until it is ended.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use dcli_testkit::model::{Scenario, Server};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "dcli-model-server: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut scenario = None;
    let mut log = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--scenario" => scenario = Some(Scenario::parse(&value)?),
            "--log" => log = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {flag}").into()),
        }
    }
    let scenario = scenario.ok_or("--scenario is missing")?;
    let server = Server::start_logged(scenario, log.as_deref())?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", serde_json::json!({"port": server.address().port()}))?;
    stdout.flush()?;
    server.serve_forever();
    Ok(())
}
