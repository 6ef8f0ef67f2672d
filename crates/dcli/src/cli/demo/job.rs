//! The last scene: a job of the scripted agent, handed over, waited for, read and listed.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use dcli_contain::Entry;
use dcli_core::job::answer::JobReport;
use dcli_core::job::state::JobState;
use serde::Serialize;

use super::agent::{ANSWER, Part};
use super::{Narrator, SCENES, Trouble, environment, request, tell};
use crate::exec::Host;
use crate::job::{Answer, Engine, Filter, JobError, Spec, Until, Which};
use crate::job::{list, read, status, submit, wait};
use crate::report::human::printable;
use crate::report::{job, json};

/// The job is given so long, and waited for so long.
const LIMIT: Duration = Duration::from_secs(30);
/// Variables of a job around this process: the demonstration's store is none of that job's.
const AROUND: [&str; 2] = ["DCLI_JOB_ID", "DCLI_STATE_ROOT"];

/// Plays the scene in the first directory, with its records in the second; true where it came out as
/// announced.
pub(super) fn play(
    out: &Narrator,
    host: &Host,
    (work, scratch): (&Path, &Path),
) -> Result<bool, Trouble> {
    out.before(
        SCENES.len() + 1,
        "A job, which outlives the command that asked for it",
        "A worker of its own runs it, in a session of its own, and keeps a record: what was asked, \
         what happened, what came of it. Each command below is one of dcli's.",
    );
    let engine = engine(host, scratch)?;
    let mut spec = Spec::new(request(Part::Good, LIMIT, work)?);
    spec.label = "a greeting".parse().ok();

    let made = submit(&engine, spec).map_err(trouble)?;
    let id = made.job_id.clone();
    out.show("submit \"Greet the reader in a file.\"", &made, || format!("{id}\n"));
    let which = Which::Jobs(vec![id.clone()]);
    let waited = wait(&engine, &which, Until::All, LIMIT, |_| {}).map_err(trouble)?;
    let report = status(&engine, &id).map_err(trouble)?;
    out.show(&format!("wait {id}"), &report, || job::line(&report.status));
    if report.status.state != JobState::Done {
        out.end(&report, "");
        return Ok(false);
    }
    let Answer { result, .. } = read(&engine, &id, false).map_err(trouble)?;
    let result = String::from_utf8_lossy(&result).into_owned();
    out.command(&format!("read {id}"), &format!("{result}\n"));
    let listed = list(&engine, Some(work), &Filter::default()).map_err(trouble)?;
    let table = || job::table(&listed.listing.jobs, false);
    out.show("list", &listed.listing, table);
    out.end(&report, &result);

    let is_listed = listed.listing.jobs == [report.status.clone()];
    let own = report.status.worker_pid != Some(std::process::id());
    Ok(waited.is_over && is_listed && own && result == ANSWER && listed.unreadable.is_empty())
}

/// Everything of the scene stays in the scratch directory, the worker's configuration too.
fn engine(host: &Host, scratch: &Path) -> Result<Engine, Trouble> {
    let root = scratch.join("state");
    let set = [("DCLI_STATE_ROOT", &root), ("XDG_CONFIG_HOME", &scratch.join("configuration"))];
    let set = set.map(|(name, value)| (OsString::from(name), value.clone().into_os_string()));
    let is_ours = |name: &OsString| {
        AROUND.iter().any(|other| name == other) || set.iter().any(|(other, _)| name == other)
    };
    let ambient = std::env::vars_os().filter(|(name, _)| !is_ours(name));
    let ambient = ambient.chain(set.clone()).collect();
    let entry = Entry::current().map_err(environment)?;
    Ok(Engine::at(entry, root).with_host(host.clone()).with_ambient(ambient))
}

fn trouble(error: JobError) -> Trouble {
    let report = error.report();
    let class = report.error.class.unwrap_or(dcli_core::exit::FailureClass::Internal);
    Trouble(class, report.error.message)
}

impl Narrator {
    /// One command and its answer: the value as JSON, or the same for people.
    fn show(&self, words: &str, value: &impl Serialize, for_people: impl FnOnce() -> String) {
        if self.as_json {
            // A reader that has gone is a quiet end.
            let _ = json::line(&mut io::stdout().lock(), value);
            return;
        }
        self.command(words, &for_people());
    }

    fn command(&self, words: &str, answer: &str) {
        if self.as_json {
            return;
        }
        let lines: Vec<String> = answer.lines().map(|line| format!("      {line}\n")).collect();
        tell(&format!("    $ dcli {words}\n{}", lines.concat()));
    }

    fn end(&self, report: &JobReport, result: &str) {
        let state = report.status.state;
        let code = report.status.command_exit_code.unwrap_or_else(|| state.exit_code(None));
        let reason = report.status.failure_reason.as_deref().unwrap_or(result);
        let reason = printable(reason, 120);
        self.tell(&format!("   status {state}, exit code {code}: {reason}\n"));
        self.tell("   Had the worker been killed, the status would say so: 'interrupted'.\n");
    }
}
