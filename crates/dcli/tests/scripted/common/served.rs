//! A stage with a fake opencode server on it: what a job of it came to, and what was asked of the
//! server.

use std::ffi::OsStr;
use std::path::PathBuf;

use dcli_testkit::opencode::{Auth, LOG_VARIABLE, Request, SCRIPT_VARIABLE, Script};
use dcli_testkit::programs::program;
use serde_json::Value;

use super::{Exec, Outcome, Stage};

/// The operation by which a prompt is sent.
pub(crate) const PROMPT: &str = "POST /session/{sessionID}/prompt_async";

/// A stage, and the server's script on it.
pub(crate) struct Served {
    pub(crate) stage: Stage,
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Served {
    /// A server that plays this.
    pub(crate) fn new(script: &Script) -> Self {
        let stage = Stage::new([]);
        script.save(&stage.path("opencode.json")).unwrap();
        Self { stage, program: program("dcli-fake-opencode").unwrap(), variables: Vec::new() }
    }

    /// The same behind a bad line.
    pub(crate) fn behind_a_bad_line(script: &Script, seed: u64, rate: u64) -> Self {
        let mut served = Self::new(script);
        let behind = served.program.display().to_string();
        served.variables = vec![
            ("LOSSY_PROGRAM", behind),
            ("LOSSY_SEED", seed.to_string()),
            ("LOSSY_RATE", rate.to_string()),
            ("LOSSY_STALL_MS", "300".to_owned()),
        ];
        served.program = program("dcli-lossy-opencode").unwrap();
        served
    }

    /// `dcli run` or `dcli submit` with the server in the place of opencode.
    pub(crate) fn job(&self, verb: &str) -> Exec<'_> {
        let exec = self.stage.dcli().args([verb, "--backend", "opencode", "--command"]);
        let exec = exec.arg(&self.program).env(SCRIPT_VARIABLE, self.stage.path("opencode.json"));
        let exec = exec.env(LOG_VARIABLE, self.stage.path("log.jsonl"));
        self.variables.iter().fold(exec, |exec, (name, value)| exec.env(name, value))
    }

    /// `dcli run` to its end: its record, and what it answered. Nothing of it is alive then.
    pub(crate) fn ran<A: AsRef<OsStr>>(
        &self,
        options: impl IntoIterator<Item = A>,
    ) -> (Value, Outcome) {
        let outcome = self.job("run").arg("--json").args(options).words("Do it.").run();
        let job = outcome.json("job");
        assert_eq!(job["command_exit_code"], outcome.code(), "{outcome:?}");
        assert_eq!(job["phase"], "terminal", "{outcome:?}");
        (job, outcome)
    }

    /// What was asked of the server.
    pub(crate) fn log(&self) -> Vec<Request> {
        let path = self.stage.path("log.jsonl");
        if path.exists() { Request::all(&path).unwrap() } else { Vec::new() }
    }

    /// How often this was called.
    pub(crate) fn calls(&self, route: &str) -> usize {
        self.log().iter().filter(|request| request.route == route).count()
    }

    /// Every request but the one that tries the door has the password and the directory.
    pub(crate) fn assert_polite(&self) {
        let work = self.stage.room.work().canonicalize().unwrap().display().to_string();
        for request in self.log() {
            assert_eq!(request.directory.as_ref(), Some(&work), "{request:?}");
            let tries_the_door =
                request.auth == Auth::None && request.route == "GET /global/health";
            assert!(request.auth == Auth::Right || tries_the_door, "{request:?}");
        }
    }
}

/// State, class and exit code, in words.
pub(crate) fn ending(job: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let class = word(&job["failure"]["class"]);
    format!("{} {class} {}", word(&job["state"]), job["command_exit_code"])
}
