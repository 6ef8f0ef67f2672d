//! Jobs on a stage: made, waited for, looked at, and what is on the disk of them.

use std::path::{Path, PathBuf};

use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::stage::fake_agent;
use super::{Exec, Outcome, Stage};

impl Stage {
    /// `dcli run` or `dcli submit`, the agent in the place of the backend's own program.
    pub(crate) fn job(&self, verb: &str, backend: &str) -> Exec<'_> {
        self.dcli().args([verb, "--backend", backend, "--command"]).arg(self.program(fake_agent()))
    }

    /// Submits a job for `backend`, and gives its id.
    pub(crate) fn submit(&self, backend: &str) -> String {
        self.submitted(self.job("submit", backend).words("Do it."))
    }

    /// The id that a `submit` answered. Its worker lives on.
    pub(crate) fn submitted(&self, submit: Exec<'_>) -> String {
        let outcome = submit.start().finish_uncontained();
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        let id = outcome.text().strip_suffix('\n').unwrap_or_else(|| panic!("{outcome:?}"));
        assert!(self.job_dir(id).is_dir(), "{outcome:?}");
        id.to_owned()
    }

    /// `dcli VERB …` over jobs, while workers may live.
    pub(crate) fn over(&self, arguments: &[&str]) -> Outcome {
        self.dcli().args(arguments).start().finish_uncontained()
    }

    /// Waits for the job's end: its status with its envelope. Nothing of it may be alive then.
    pub(crate) fn waited(&self, id: &str) -> Value {
        let outcome = self.over(&["wait", id, "--timeout-sec", "60", "--json"]);
        let job = outcome.json("job");
        assert_eq!(job["phase"], "terminal", "{outcome:?}");
        self.marker.wait_gone(HANG_LIMIT).unwrap();
        job
    }

    /// What `status` says of the job.
    pub(crate) fn status(&self, id: &str) -> Value {
        self.over(&["status", id, "--json"]).json("job")
    }

    /// Waits until the agent, or anybody, has made this file.
    pub(crate) fn wait_file(&self, inside: &str) {
        let path = self.path(inside);
        wait_until(inside, HANG_LIMIT, || path.exists()).unwrap();
    }

    /// Waits until the job's record says that its backend runs.
    pub(crate) fn wait_running(&self, id: &str) {
        let path = self.job_dir(id).join("status.json");
        let is_running = || {
            let status: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            status["state"] == "running"
        };
        wait_until("the job to run", HANG_LIMIT, is_running).unwrap();
    }

    /// Kills the job's worker, which can clean nothing up then, and waits until it is gone.
    pub(crate) fn kill_worker(&self, id: &str) {
        let worker = self.worker(id);
        kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
        let proc = PathBuf::from(format!("/proc/{worker}/stat"));
        let is_gone = || std::fs::read_to_string(&proc).map_or(true, |stat| stat.contains(") Z "));
        wait_until("the worker to die", HANG_LIMIT, is_gone).unwrap();
    }

    /// The pid of the job's worker, as soon as its record has it.
    pub(crate) fn worker(&self, id: &str) -> i32 {
        let path = self.job_dir(id).join("status.json");
        let find = || {
            let status: Value = serde_json::from_slice(&std::fs::read(&path).ok()?).unwrap();
            i32::try_from(status["worker_pid"].as_i64()?).ok()
        };
        wait_for("a worker", HANG_LIMIT, find).unwrap()
    }

    /// The job's directory.
    pub(crate) fn job_dir(&self, id: &str) -> PathBuf {
        let repositories = std::fs::read_dir(self.room.state().join("jobs")).unwrap();
        let mut dirs = repositories.map(|entry| entry.unwrap().path().join(id));
        dirs.find(|dir| dir.exists()).unwrap_or_else(|| panic!("no job {id}"))
    }

    /// Every job there is.
    pub(crate) fn jobs(&self) -> Vec<String> {
        let Ok(repositories) = std::fs::read_dir(self.room.state().join("jobs")) else {
            return Vec::new();
        };
        let names =
            repositories.flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with('.')).collect()
    }

    /// The one job there is.
    pub(crate) fn only_job(&self) -> String {
        let jobs = self.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs[0].clone()
    }

    /// The events of the job's journal.
    pub(crate) fn journal(&self, id: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.job_dir(id).join("journal.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every file below `directory` with what is in it; not those that are about to replace another.
    pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with(".tmp") {
                continue;
            }
            let path = entry.path();
            match path.is_dir() {
                true => files.extend(Self::files(&path)),
                false => files.push((path.clone(), std::fs::read(&path).unwrap())),
            }
        }
        files
    }
}
