//! What the machine gives: containment, `/proc`, git, and limits.

use std::time::Duration;

use dcli_core::capability::RungCapability;
use dcli_core::doctor::{Check, CheckStatus};
use dcli_core::executor::record::Environment;
use rustix::process::{Resource, getrlimit};
use semver::Version;

use super::{Examination, NO_START};
use crate::backend::program::find;
use crate::exec::Host;
use crate::exec::brief::Brief;
use crate::job::capabilities::{no_rungs, rungs};

/// Git's own answer comes at once.
const GIT_LIMIT: Duration = Duration::from_secs(30);
/// Linked worktrees with `--orphan`-free detached checkouts and `safe.directory` are all there.
const GIT_OLDEST: Version = Version::new(2, 31, 0);
/// Fewer descriptors than this are used up by a job with its tail, its lease and its slots.
const FILES: u64 = 256;
/// Fewer processes than this are used up by one coding CLI with its tools.
const PROCESSES: u64 = 256;
/// Fewer process ids than this are used up by a few jobs at once.
const PIDS: u64 = 4096;

pub(super) fn checks(examination: &Examination) -> Vec<Check> {
    let rungs = match &examination.host {
        Ok(host) => rungs(&host.support()),
        Err(reason) => no_rungs(reason),
    };
    let git = match &examination.host {
        Ok(host) => git(host),
        Err(_) => Check::skipped("git", GIT, NO_START),
    };
    let mut checks = containment(&rungs);
    checks.extend([proc(), git, limits()]);
    checks
}

/// One check a rung. Any rung is enough for a run, so that a missing one is a warning as long as
/// another is there.
fn containment(rungs: &[RungCapability]) -> Vec<Check> {
    let any = rungs.iter().any(|rung| rung.available);
    rungs.iter().map(|rung| rung_check(rung, any)).collect()
}

fn rung_check(rung: &RungCapability, any: bool) -> Check {
    let (id, title) = (format!("containment.{}", rung.kind), format!("containment {}", rung.kind));
    let Some(reason) = &rung.reason else {
        return Check::ok(&id, &title, "tried out with a child that does nothing");
    };
    let (status, remedy) = match any {
        true => (CheckStatus::Warning, "allow user namespaces; until then weaker rungs are used"),
        false => (CheckStatus::Failed, "without any rung of containment nothing is started"),
    };
    Check::ok(&id, &title, reason).but(status, remedy)
}

/// Whose processes `/proc` shows decides whether a process can be told from another one.
fn proc() -> Check {
    let title = "/proc";
    let own = std::fs::read_link("/proc/self").map(|link| link.display().to_string());
    let boot = std::fs::metadata("/proc/sys/kernel/random/boot_id");
    let seen = match (own, boot) {
        (Ok(own), Ok(_)) if own == std::process::id().to_string() => {
            return Check::ok("proc", title, "shows this process, and the boot it belongs to");
        }
        (Ok(own), Ok(_)) => format!("this process is {own} there, not {}", std::process::id()),
        (Err(error), _) => format!("/proc/self: {error}"),
        (_, Err(error)) => format!("/proc/sys/kernel/random/boot_id: {error}"),
    };
    let remedy = "mount the proc file system of this pid namespace on /proc";
    Check::ok("proc", title, seen).but(CheckStatus::Failed, remedy)
}

const GIT: &str = "git";

/// Plain runs do without git: its absence is no failure.
fn git(host: &Host) -> Check {
    let remedy = "install git 2.31 or later: jobs that change a repository need it";
    let warned = |seen: String| Check::ok("git", GIT, seen).but(CheckStatus::Warning, remedy);
    let search = host.search_path();
    let program = match find("git".as_ref(), search.as_deref(), &[]) {
        Ok(program) => program.path,
        Err(error) => return warned(error.to_string()),
    };
    let environment = Environment::default();
    let args = ["--version".to_owned()];
    let brief = Brief {
        program: &program,
        args: &args,
        environment: &environment,
        backend: None,
        limit: GIT_LIMIT,
    };
    let said = match host.run_briefly(&brief) {
        Ok(said) if said.is_well() => said.stdout,
        Ok(said) => {
            return warned(format!(
                "{} does not say its version: {}",
                program.display(),
                said.stderr
            ));
        }
        Err(error) => return warned(error),
    };
    let seen = format!("{} at {}", said.trim(), program.display());
    match git_version(&said) {
        Some(version) if version >= GIT_OLDEST => Check::ok("git", GIT, seen),
        _ => warned(seen),
    }
}

/// `git version 2.39.5`, with whatever a vendor puts behind the third number.
fn git_version(said: &str) -> Option<Version> {
    let word = said.split_whitespace().nth(2)?;
    let mut numbers = word.split('.').map_while(|part| part.parse().ok());
    Some(Version::new(numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)))
}

fn limits() -> Check {
    let soft = |resource| getrlimit(resource).current;
    let (files, processes) = (soft(Resource::Nofile), soft(Resource::Nproc));
    let pids: Option<u64> = std::fs::read_to_string("/proc/sys/kernel/pid_max")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let shown = |limit: Option<u64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let seen = format!(
        "open files: {}; processes of this user: {}; process ids: {}",
        shown(files),
        shown(processes),
        pids.map_or("unknown".to_owned(), |pids| pids.to_string()),
    );
    let low = |limit: Option<u64>, least| limit.is_some_and(|limit| limit < least);
    let remedies = [
        (low(files, FILES), "raise the limit of open files (ulimit -n)"),
        (low(processes, PROCESSES), "raise the limit of processes (ulimit -u)"),
        (low(pids, PIDS), "raise kernel.pid_max"),
    ];
    let check = Check::ok("limits", "limits", seen);
    match remedies.into_iter().find(|(is_low, _)| *is_low) {
        Some((_, remedy)) => check.but(CheckStatus::Warning, remedy),
        None => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_git_is_read_as_vendors_write_it() {
        assert_eq!(git_version("git version 2.39.5\n"), Some(Version::new(2, 39, 5)));
        assert_eq!(git_version("git version 2.45.2.windows.1\n"), Some(Version::new(2, 45, 2)));
        assert_eq!(git_version("git version 2.39.5 (Apple Git-154)"), Some(Version::new(2, 39, 5)));
        assert_eq!(git_version("git version 2.31"), Some(Version::new(2, 31, 0)));
        assert_eq!(git_version("nothing of the kind"), None);
    }

    #[test]
    fn a_missing_rung_fails_only_where_none_is_left() {
        let rung = |kind: &str, available: bool| RungCapability {
            kind: kind.to_owned(),
            available,
            reason: (!available).then(|| "refused".to_owned()),
        };
        let statuses = |rungs: &[RungCapability]| -> Vec<CheckStatus> {
            containment(rungs).iter().map(|check| check.status).collect()
        };
        use CheckStatus::{Failed, Ok, Warning};
        assert_eq!(statuses(&[rung("a", false), rung("b", true)]), [Warning, Ok]);
        assert_eq!(statuses(&[rung("a", false), rung("b", false)]), [Failed, Failed]);
    }
}
