//! One backend: its program, its version, what would refuse a run, and its own sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dcli_core::capability::Standing;
use dcli_core::doctor::{BackendReport, Check, CheckStatus, PROGRAM, Smoke};
use dcli_core::executor::Executor;
use dcli_core::executor::access::Access;
use dcli_core::executor::record::{Record, SandboxProbe, Verification};

use super::settings::Settings;
use super::{Examination, NO_START, smoke};
use crate::backend::program::{ProgramError, find};
use crate::exec::brief::Brief;
use crate::exec::version::look;

/// Measured: 0.1 s.
const SANDBOX_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn report(
    examination: &Examination,
    settings: &Settings,
    executor: &Executor,
) -> BackendReport {
    let chosen = settings.chose(executor);
    let checks = checks(examination, settings, executor, chosen);
    let not_ready = checks.iter().find(|check| check.has_failed() || is_absent(check));
    let smoke = match (&examination.host, examination.smoke, not_ready) {
        (_, None, _) => Smoke::skipped("no live run was asked for"),
        (_, _, Some(check)) => Smoke::skipped(format!("not tried, because of: {}", check.title)),
        (Err(_), ..) => Smoke::skipped(NO_START),
        (Ok(host), Some(limit), None) => smoke::run(host, executor, limit, &examination.cancel),
    };
    BackendReport {
        backend: executor.record.id.clone(),
        display_name: executor.record.display_name.clone(),
        chosen,
        checks,
        smoke,
    }
}

fn is_absent(check: &Check) -> bool {
    check.id == PROGRAM && check.status == CheckStatus::Skipped
}

fn checks(
    examination: &Examination,
    settings: &Settings,
    executor: &Executor,
    chosen: bool,
) -> Vec<Check> {
    let record = &*executor.record;
    let (check, program) = program(examination, record, chosen);
    let mut checks = vec![allowed(settings, record, chosen), check];
    let Some(program) = program else { return checks };
    checks.push(version(examination, record));
    checks.extend(unverified(record));
    checks.extend(root_guard(record));
    let probe = record.access.sandbox_probe.as_ref();
    checks.extend(probe.map(|probe| sandbox(examination, record, &program, probe)));
    checks
}

/// What the user or the project forbids is refused before anything is started.
fn allowed(settings: &Settings, record: &Record, chosen: bool) -> Check {
    let (id, title) = ("allowed", "allowed here");
    let user = settings.user.allow(&record.id);
    match user.and_then(|()| settings.policy.allow(&record.id, Access::ReadOnly)) {
        Ok(()) => Check::ok(id, title, "by the configuration and the project's policy"),
        Err(reason) if chosen => Check::ok(id, title, reason)
            .but(CheckStatus::Failed, "choose another backend, or have it allowed"),
        Err(reason) => Check::ok(id, title, reason)
            .but(CheckStatus::Warning, "nothing, unless you want to use it"),
    }
}

const ITS_PROGRAM: &str = "its program";

fn program(examination: &Examination, record: &Record, chosen: bool) -> (Check, Option<PathBuf>) {
    let search = examination.search_path();
    let command = record.command.as_ref();
    let found = match find(command, search.as_deref(), &record.native_executable) {
        Ok(found) => found,
        Err(error) => {
            let seen = match error {
                ProgramError::NotInPath { .. } => format!("{} is not in PATH", record.command),
                other => other.to_string(),
            };
            let check = Check::skipped(PROGRAM, ITS_PROGRAM, seen);
            let status = if chosen { CheckStatus::Failed } else { CheckStatus::Skipped };
            let remedy = match record.install.as_str() {
                "" => "install it where PATH has it".to_owned(),
                install => format!("to use it: {install}"),
            };
            return (check.but(status, remedy), None);
        }
    };
    let check = Check::ok(PROGRAM, ITS_PROGRAM, found.path.display().to_string());
    let check = match found.is_wrapper {
        false => check,
        true => check.but(
            CheckStatus::Warning,
            "it is a script, and the real executable beside it was not found: install it anew",
        ),
    };
    (check, Some(found.path))
}

fn version(examination: &Examination, record: &Record) -> Check {
    let (id, title) = ("version", "its version");
    if record.version.args.is_empty() {
        return Check::skipped(id, title, "its record does not say how to ask");
    }
    let Ok(host) = &examination.host else { return Check::skipped(id, title, NO_START) };
    let version = look(host, record).version;
    let supported = match record.version.supported.as_str() {
        "" => "any version".to_owned(),
        range => format!("supported: {range}"),
    };
    let found = version.as_deref().unwrap_or("not told");
    let seen = |standing: &str| Check::ok(id, title, format!("{found}, {standing} ({supported})"));
    let other = match record.install.as_str() {
        "" => "install a supported version".to_owned(),
        install => format!("install a supported version: {install}"),
    };
    match Standing::of(record, version.as_deref()) {
        Standing::Tested => seen("tested"),
        Standing::InRange => seen("in range, not tested"),
        Standing::OutOfRange => seen("out of range").but(CheckStatus::Failed, other),
        Standing::KnownBad => seen("known not to work").but(CheckStatus::Failed, other),
        Standing::Unknown => {
            let remedy = format!("run '{} {}'", record.command, record.version.args.join(" "));
            seen("unknown").but(CheckStatus::Warning, remedy)
        }
    }
}

fn unverified(record: &Record) -> Option<Check> {
    let check = Check::ok("record", "its record", "was never run against the real program");
    let remedy = "do not rely on it before a live run went well";
    (record.verification == Verification::Unverified)
        .then(|| check.but(CheckStatus::Warning, remedy))
}

/// Some CLIs refuse their own arguments for root.
fn root_guard(record: &Record) -> Option<Check> {
    let guard = record.access.root_guard.as_ref()?;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let (id, title) = ("root", "runs as root");
    if std::env::var_os(&guard.variable).is_some_and(|value| *value == *guard.value) {
        return Some(Check::ok(id, title, format!("{}={} is set", guard.variable, guard.value)));
    }
    let accesses = [
        ("read-only", Access::ReadOnly),
        ("workspace", Access::Workspace),
        ("unconfined", Access::Unconfined),
    ];
    let refused = |access| record.access.unenforced(access).args.contains(&guard.argument);
    let refused: Vec<&str> =
        accesses.iter().filter(|(_, access)| refused(*access)).map(|(name, _)| *name).collect();
    if refused.is_empty() {
        return Some(Check::ok(id, title, "with every access"));
    }
    let seen = format!("refused with access {}", refused.join(", "));
    let remedy = format!(
        "run as an ordinary user, or take the risk on yourself with --env {}={}",
        guard.variable, guard.value
    );
    Some(Check::ok(id, title, seen).but(CheckStatus::Warning, remedy))
}

/// Started contained, as in a run: what works outside may fail there.
fn sandbox(
    examination: &Examination,
    record: &Record,
    program: &Path,
    probe: &SandboxProbe,
) -> Check {
    let (id, title) = ("sandbox", "its own sandbox");
    let Ok(host) = &examination.host else { return Check::skipped(id, title, NO_START) };
    let remedy = "its tools will not run: allow user namespaces, and keep its home out of /tmp";
    let failed = |seen: String| Check::ok(id, title, seen).but(CheckStatus::Failed, remedy);
    let brief = Brief {
        program,
        args: &probe.args,
        environment: &record.environment,
        backend: Some(&record.id),
        limit: SANDBOX_LIMIT,
    };
    let said = match host.run_briefly(&brief) {
        Ok(said) => said,
        Err(error) => return failed(error),
    };
    let fault = |line: &&str| probe.faults.iter().any(|fault| line.contains(fault));
    let lines = || said.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    if let Some(line) = lines().find(fault) {
        return failed(line.to_owned());
    }
    if said.is_well() {
        return Check::ok(id, title, "starts");
    }
    let ended = match said.exit {
        None => format!("no answer within {} s", SANDBOX_LIMIT.as_secs()),
        Some(exit) => format!("exit code {:?}, signal {:?}", exit.code, exit.signal),
    };
    failed(lines().next_back().map_or(ended, str::to_owned))
}
