//! The doctor: probes of everything that a run needs, then a short live run of each backend.
//!
//! Nothing here decides what a failure means: that is [`DoctorReport`]'s.

mod backend;
mod machine;
mod settings;
mod smoke;
mod state;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use dcli_core::doctor::{BackendReport, DoctorReport};
use dcli_core::executor::Executor;
use thiserror::Error;

use crate::exec::{Cancel, Host};

use settings::Settings;

/// Time that a live run gets, unless asked otherwise: 120 s.
pub const SMOKE_LIMIT: Duration = Duration::from_secs(120);

/// Why something was not tried where there is no host.
const NO_START: &str = "nothing can be started";

/// What to look at.
#[derive(Debug, Clone)]
pub struct Examination {
    /// How runs would be started, or why none can be.
    pub host: Result<Host, String>,
    /// The project's directory, whose policy counts.
    pub directory: PathBuf,
    /// This backend alone, by id or alias; `None`: all.
    pub backend: Option<String>,
    /// The time that each live run gets; `None`: none is made. A live run costs a few tokens.
    pub smoke: Option<Duration>,
    /// Ends the live runs early.
    pub cancel: Cancel,
}

impl Examination {
    /// Every backend, with live runs of [`SMOKE_LIMIT`].
    pub fn new(host: Result<Host, String>, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let cancel = Cancel::default();
        Self { host, directory, backend: None, smoke: Some(SMOKE_LIMIT), cancel }
    }
}

impl Examination {
    /// Where programs are looked for.
    fn search_path(&self) -> Option<OsString> {
        match &self.host {
            Ok(host) => host.search_path(),
            Err(_) => std::env::var_os("PATH"),
        }
    }
}

/// The backend asked for is not in the catalogue; the sentence lists those that are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnknownBackend(pub(super) String);

/// Examines this machine. What does not work is in the report, never an error.
///
/// # Errors
/// The backend asked for is not in the catalogue.
///
/// ```no_run
/// use dcli::contain::{self, Entry};
/// use dcli::exec::Host;
/// use dcli::job::doctor::{Examination, doctor};
///
/// contain::entry();
/// let host = Entry::current().map(Host::new).map_err(|error| error.to_string());
/// let examination = Examination { smoke: None, ..Examination::new(host, ".") };
/// for check in doctor(&examination)?.checks {
///     println!("{}: {:?}", check.id, check.status);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn doctor(examination: &Examination) -> Result<DoctorReport, UnknownBackend> {
    let settings = Settings::read(examination);
    let executors = settings.executors(examination.backend.as_deref())?;
    let mut checks = machine::checks(examination);
    checks.extend(state::checks(&examination.directory));
    checks.extend(settings.checks.iter().cloned());
    let backends = backends(examination, &settings, &executors);
    checks.push(settings.choice(&backends));
    Ok(DoctorReport::of(checks, backends))
}

/// Every backend at once: most of the time each of them waits.
fn backends(
    examination: &Examination,
    settings: &Settings,
    executors: &[&Executor],
) -> Vec<BackendReport> {
    std::thread::scope(|scope| {
        let looks: Vec<_> = executors
            .iter()
            .map(|executor| scope.spawn(|| backend::report(examination, settings, executor)))
            .collect();
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    })
}
