//! `dcli run`: a job in the foreground; its result on standard output.

use std::io;

use dcli_core::exit::{FailureClass, SUCCESS};
use dcli_core::job::answer::JobReport;
use dcli_core::job::state::JobState;

use super::answer;
use super::args_of_jobs::Run;
use super::engine::spec;
use super::following::Following;
use crate::job::{Engine, JobError, Spec, WhenFull, run as run_job};
use crate::report::human::say;
use crate::report::json;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: Run, backend: Option<&str>) -> u8 {
    let as_json = args.job.json;
    let when_full = if args.queue { WhenFull::Queue } else { WhenFull::Refuse };
    let ran = spec(args.job, backend).and_then(|(engine, spec)| {
        perform(&engine, spec, when_full).map_err(|error| error.report())
    });
    match ran {
        Ok(report) => print(as_json, &report),
        Err(report) => answer::fail(as_json, &report),
    }
}

fn perform(engine: &Engine, spec: Spec, when_full: WhenFull) -> Result<JobReport, JobError> {
    let following = Following::new(&spec.request.executor.record.id, |_| {});
    let ran = run_job(engine, spec, when_full, &following.hooks);
    following.end();
    ran
}

fn print(as_json: bool, report: &JobReport) -> u8 {
    let status = &report.status;
    let class = status.failure.as_ref().map(|failure| failure.class);
    let code = status.command_exit_code.unwrap_or_else(|| status.state.exit_code(class));
    for warning in &status.warnings {
        say(&format!("dcli: warning: {}", warning.message));
    }
    if let Some(failure) = &status.failure {
        say(&format!("dcli: job {} is {}: {}", status.job_id, status.state, failure.message));
    }
    let out = &mut io::stdout().lock();
    let result = report.envelope.as_ref().and_then(|envelope| envelope.run()?.result.as_deref());
    let printed = match (as_json, result) {
        (true, _) => json::line(out, report),
        (false, Some(result)) if status.state == JobState::Done => json::raw(out, result),
        (false, _) => Ok(()),
    };
    match printed {
        Ok(()) => code,
        Err(error) => {
            say(&format!(
                "dcli: the result cannot be printed: {error}; see 'dcli read {}'",
                status.job_id
            ));
            if code == SUCCESS { FailureClass::NoResult.exit_code() } else { code }
        }
    }
}
