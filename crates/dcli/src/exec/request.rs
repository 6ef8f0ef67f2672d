//! What a caller asks for.

use std::path::PathBuf;
use std::time::Duration;

use dcli_contain::Requirement;
use dcli_core::executor::Executor;
use dcli_core::executor::access::Access;
use dcli_core::executor::controls::{Configuration, Wish};
use dcli_core::gate::Layer;
use dcli_core::interaction::Terms;

use crate::backend::environment::Inherit;
use crate::backend::lineage::JobStamp;

/// One run, as asked for. Everything but the three arguments of [`Request::new`] has a default.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who does it.
    pub executor: Executor,
    /// Which layer chose the executor.
    pub chosen_by: Layer,
    /// What is asked; not blank.
    pub prompt: String,
    /// The working directory: an existing directory.
    pub workspace: PathBuf,
    /// What the run may change.
    pub access: Access,
    /// Run only where the access is enforced and that is proven.
    pub require_enforcement: bool,
    /// Which model, with which options.
    pub model: ModelChoice,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Which of the caller's variables the child gets.
    pub inherit: Inherit,
    /// Variables set by name; `PWD` cannot be, and one that begins with `DCLI_` is refused.
    pub env: Vec<(String, String)>,
    /// Arguments passed on as they are. One that would decide access or model is refused.
    pub extra_args: Vec<String>,
    /// Another program for the record's command; the record stays what it is.
    pub command: Option<PathBuf>,
    /// Which containment is demanded.
    pub containment: Requirement,
    /// The most bytes of output that are read before the tree is ended.
    pub output_cap: u64,
    /// A name for this run in the gate's log.
    pub action_id: String,
    /// The job that this run is an attempt of; its processes are told of it.
    pub job: Option<JobStamp>,
    /// Who or what answers what the backend asks. Of jobs alone: nobody can answer another run.
    pub terms: Terms,
    /// Keep the backend's sessions in a database of this job's own, where it has such a thing.
    pub isolated_state: bool,
    /// Refuse a program whose version is outside the record's range or known not to work, and ask
    /// it for its version where that is not known yet. Otherwise such a version is a warning.
    pub demand_version: bool,
}

/// Which model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The backend's own default: no model argument.
    #[default]
    Default,
    /// By the backend's own name for it, with the backend's own options by theirs.
    Named(Wish),
    /// A typed configuration, admitted against the record's contract and the version found.
    Configured(Configuration),
}

/// Time limits of a run. `None` is the default of the contract where the record's output shows
/// life, and no limit where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Of the whole run.
    pub hard: Duration,
    /// To the backend's first record.
    pub startup: Option<Duration>,
    /// Without activity.
    pub idle: Option<Duration>,
}

/// Hard deadline: 1800 s.
pub(super) const HARD: Duration = Duration::from_secs(1800);
/// Startup deadline: 120 s.
pub(super) const STARTUP: Duration = Duration::from_secs(120);
/// Idle deadline: 600 s.
pub(super) const IDLE: Duration = Duration::from_secs(600);
/// The most bytes of standard output, unless asked otherwise: 1 GiB.
pub(super) const OUTPUT_CAP: u64 = 1 << 30;

impl Default for Timeouts {
    fn default() -> Self {
        Self { hard: HARD, startup: None, idle: None }
    }
}

impl Request {
    /// A run with every default: read-only access, the contract's deadlines, the best containment
    /// of this machine.
    pub fn new(
        executor: Executor,
        prompt: impl Into<String>,
        workspace: impl Into<PathBuf>,
    ) -> Self {
        Self {
            executor,
            chosen_by: Layer::Invocation,
            prompt: prompt.into(),
            workspace: workspace.into(),
            access: Access::default(),
            require_enforcement: false,
            model: ModelChoice::default(),
            timeouts: Timeouts::default(),
            inherit: Inherit::default(),
            env: Vec::new(),
            extra_args: Vec::new(),
            command: None,
            containment: Requirement::default(),
            output_cap: OUTPUT_CAP,
            action_id: "exec".to_owned(),
            job: None,
            terms: Terms::default(),
            isolated_state: false,
            demand_version: false,
        }
    }

    /// A variable that is set by name.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.env.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    }
}
