//! A short program: started contained, bounded in time, its output read when it has ended.

use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use dcli_contain::{Exit, Input, Launch, Requirement, Support};
use dcli_core::executor::record::{Environment, Native};

use super::host::Host;
use crate::backend::environment::{Inherit, Recipe, environment};
use crate::backend::spawn::Running;
use crate::supervise::capture::Captures;

/// The most bytes that are read of each stream.
const CAP: u64 = 64 * 1024;

/// What to run: a program that says something and ends. Nobody asked it to do anything, so that it
/// gets an empty standard input and the temporary directory to be in.
pub(crate) struct Brief<'a> {
    pub program: &'a Path,
    pub args: &'a [String],
    /// Variables set and removed, as for a run of the same program.
    pub environment: &'a Environment,
    /// The backend that it is the program of.
    pub backend: Option<&'a str>,
    /// It is ended after this long.
    pub limit: Duration,
}

/// What it said.
pub(crate) struct Said {
    /// `None` where it was ended at its limit, or nobody saw how it ended.
    pub exit: Option<Exit>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// Whether it ended with 0.
    pub(crate) fn is_well(&self) -> bool {
        self.exit == Some(Exit::with_code(0))
    }
}

impl Host {
    /// Runs a short program to its end.
    ///
    /// # Errors
    /// It could not be started, or its output not be kept, in words.
    pub(crate) fn run_briefly(&self, brief: &Brief<'_>) -> Result<Said, String> {
        let said = |error: std::io::Error| error.to_string();
        let cwd = std::env::temp_dir().canonicalize().map_err(said)?;
        let mut captures = Captures::new().map_err(said)?;
        let (stdout, stderr) = captures.writers().map_err(said)?;
        let chosen = self.spawn.support().choose(&Requirement::BestAvailable);
        let launch = Launch {
            program: brief.program.to_owned(),
            args: brief.args.iter().map(Into::into).collect(),
            arg0: None,
            env: environment(&Recipe {
                ambient: &self.ambient,
                inherit: &Inherit::All,
                record: brief.environment,
                access: &Native::default(),
                explicit: &[],
                stamps: &self.lineage.stamps(brief.backend, None),
                cwd: &cwd,
            }),
            cwd: cwd.clone(),
            stdin: Input::Null,
            stdout,
            stderr,
            kind: chosen.map_err(|unmet| unmet.to_string())?.kind,
        };
        let run = self.spawn.start(launch).map_err(|error| error.to_string())?;
        let exit = wait_bounded(&*run, brief.limit);
        let mut text = [Vec::new(), Vec::new()];
        captures.stdout.read(CAP, |bytes| text[0].extend_from_slice(bytes)).map_err(said)?;
        captures.stderr.read(CAP, |bytes| text[1].extend_from_slice(bytes)).map_err(said)?;
        let [stdout, stderr] = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Said { exit, stdout, stderr })
    }

    /// Where runs of this host look for programs.
    pub(crate) fn search_path(&self) -> Option<OsString> {
        self.variable("PATH").cloned()
    }

    /// The rungs of containment of this host.
    pub(crate) fn support(&self) -> Support {
        self.spawn.support()
    }
}

fn wait_bounded(run: &dyn Running, limit: Duration) -> Option<Exit> {
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        // A receiver that has gone has waited long enough.
        scope.spawn(move || drop(sender.send(run.wait_leader())));
        let exit = ended.recv_timeout(limit).ok().and_then(Result::ok);
        run.end();
        exit
    })
}
