//! The doctor's report: one line a check, and what each failure means for a run.
//!
//! Nothing is checked here. Whoever looked brings the checks along, and [`DoctorReport::of`] says
//! whether this machine can do what was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::FailureClass;

/// Version of the shape of [`DoctorReport`].
pub const SCHEMA_VERSION: u32 = 1;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Runs work, but not in every way.
    Warning,
    /// What was checked does not work.
    Failed,
    /// Nothing was checked; the detail says why.
    Skipped,
}

impl CheckStatus {
    /// The word that is written in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// A word to match on.
    pub id: String,
    /// What was looked at, for people.
    pub title: String,
    /// How it ended.
    pub status: CheckStatus,
    /// What was seen.
    pub detail: String,
    /// What helps; `null` where nothing needs help.
    pub remedy: Option<String>,
}

impl Check {
    /// A check that is as it should be.
    #[must_use]
    pub fn ok(id: &str, title: &str, detail: impl Into<String>) -> Self {
        let (id, title) = (id.to_owned(), title.to_owned());
        Self { id, title, status: CheckStatus::Ok, detail: detail.into(), remedy: None }
    }

    /// The same check with another end and what helps.
    #[must_use]
    pub fn but(self, status: CheckStatus, remedy: impl Into<String>) -> Self {
        Self { status, remedy: Some(remedy.into()), ..self }
    }

    /// Nothing was checked.
    #[must_use]
    pub fn skipped(id: &str, title: &str, why: impl Into<String>) -> Self {
        Self { status: CheckStatus::Skipped, ..Self::ok(id, title, why) }
    }

    /// Whether what was checked does not work.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status == CheckStatus::Failed
    }
}

/// A live smoke: the record's own short prompt, run as any other run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Smoke {
    /// How it ended.
    pub status: CheckStatus,
    /// What came of it.
    pub detail: String,
    /// Why it failed; `null` where it did not.
    pub class: Option<FailureClass>,
    /// What helps; `null` where nothing needs help.
    pub remedy: Option<String>,
    /// From the start of the backend to the end of its tree, in milliseconds; `null` where nothing ran.
    pub duration_ms: Option<u64>,
    /// The tokens that it cost; `null` where the vendor reported none.
    pub tokens: Option<u64>,
}

impl Smoke {
    /// No smoke was run.
    #[must_use]
    pub fn skipped(why: impl Into<String>) -> Self {
        Self {
            status: CheckStatus::Skipped,
            detail: why.into(),
            class: None,
            remedy: None,
            duration_ms: None,
            tokens: None,
        }
    }
}

/// What was seen of one backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendReport {
    /// Its id.
    pub backend: String,
    /// Its name for people.
    pub display_name: String,
    /// Whether somebody chose it: the invocation, the project's policy or the user's configuration.
    pub chosen: bool,
    /// The static checks.
    pub checks: Vec<Check>,
    /// The live one.
    pub smoke: Smoke,
}

impl BackendReport {
    /// Whether a run with it can be expected to work.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let absent = |check: &Check| check.id == PROGRAM && check.status == CheckStatus::Skipped;
        !self.has_failed() && !self.checks.iter().any(absent)
    }

    /// Whether one of its checks or its smoke failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.checks.iter().any(Check::has_failed) || self.smoke.status == CheckStatus::Failed
    }
}

/// The check of a backend that says whether its program is there.
pub const PROGRAM: &str = "program";
/// The check that says whether any backend can be used.
pub const BACKENDS: &str = "backends";

/// What was seen of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether nothing that every job needs failed, and nothing of the backends that were chosen.
    pub ok: bool,
    /// What no single backend is the subject of.
    pub checks: Vec<Check>,
    /// One entry a backend.
    pub backends: Vec<BackendReport>,
}

impl DoctorReport {
    /// The report over `checks` and `backends`. Whether any backend is usable is checked here.
    #[must_use]
    pub fn of(mut checks: Vec<Check>, backends: Vec<BackendReport>) -> Self {
        checks.push(usable(&backends));
        let chosen = backends.iter().filter(|backend| backend.chosen);
        let failed = checks.iter().any(Check::has_failed)
            || chosen.clone().any(|backend| !backend.is_usable());
        Self { schema_version: SCHEMA_VERSION, ok: !failed, checks, backends }
    }

    /// 0, or the code of an environment that is unfit.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.ok { crate::exit::SUCCESS } else { FailureClass::Environment.exit_code() }
    }
}

fn usable(backends: &[BackendReport]) -> Check {
    let names: Vec<&str> = backends
        .iter()
        .filter(|backend| backend.is_usable())
        .map(|backend| backend.backend.as_str())
        .collect();
    let title = "a usable backend";
    if names.is_empty() {
        let remedy = "see what each backend below says; one is enough";
        return Check::ok(BACKENDS, title, "none").but(CheckStatus::Failed, remedy);
    }
    Check::ok(BACKENDS, title, names.join(", "))
}

/// What helps against a failure of this class, for somebody who tried a backend out. `command` is
/// the backend's own program by name.
#[must_use]
pub fn remedy(class: FailureClass, command: &str) -> String {
    match class {
        FailureClass::Auth => {
            format!("log in with {command} itself, or set the key that it reads")
        }
        FailureClass::QuotaOrRateLimit => {
            "wait until the vendor's limit resets, or see to your credit there".to_owned()
        }
        FailureClass::Network => {
            "see that this machine reaches the vendor: proxy, name service, firewall".to_owned()
        }
        FailureClass::Timeout => format!(
            "give it more time with --live-smoke-timeout-sec, or run {command} by hand and see \
             what it waits for"
        ),
        FailureClass::PermissionOrSandbox => {
            format!("run {command} as an ordinary user, where its sandbox can start")
        }
        FailureClass::Environment | FailureClass::WorkerLaunch => {
            "see the checks of containment above".to_owned()
        }
        _ => format!("run {command} by hand with a short prompt, and compare"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(id: &str, chosen: bool, status: CheckStatus) -> BackendReport {
        let program = Check { status, ..Check::ok(PROGRAM, "its program", "") };
        BackendReport {
            backend: id.to_owned(),
            display_name: id.to_owned(),
            chosen,
            checks: vec![program],
            smoke: Smoke::skipped("static"),
        }
    }

    const CHOSEN: bool = true;

    #[test]
    fn a_missing_program_counts_only_where_its_backend_was_chosen() {
        let others = || backend("there", !CHOSEN, CheckStatus::Ok);
        let absent = |chosen| backend("absent", chosen, CheckStatus::Skipped);
        assert!(DoctorReport::of(vec![], vec![absent(!CHOSEN), others()]).ok);
        assert!(!DoctorReport::of(vec![], vec![absent(CHOSEN), others()]).ok);
        let report = DoctorReport::of(vec![], vec![absent(!CHOSEN)]);
        assert_eq!((report.ok, report.exit_code()), (false, 12), "no backend at all");
        assert_eq!(report.checks.last().map(|check| check.status), Some(CheckStatus::Failed));
    }

    #[test]
    fn a_failure_counts_in_general_and_in_what_was_chosen() {
        let failed = Check::ok("x", "x", "").but(CheckStatus::Failed, "");
        let warned = Check::ok("x", "x", "").but(CheckStatus::Warning, "");
        let fine = || vec![backend("there", CHOSEN, CheckStatus::Ok)];
        assert!(DoctorReport::of(vec![warned], fine()).ok);
        assert!(!DoctorReport::of(vec![failed], fine()).ok);
        let broken = |chosen| BackendReport {
            smoke: Smoke { status: CheckStatus::Failed, ..Smoke::skipped("401") },
            ..backend("broken", chosen, CheckStatus::Ok)
        };
        let both = |chosen| vec![broken(chosen), backend("there", !CHOSEN, CheckStatus::Ok)];
        assert!(DoctorReport::of(vec![], both(!CHOSEN)).ok);
        assert!(!DoctorReport::of(vec![], both(CHOSEN)).ok);
    }
}
