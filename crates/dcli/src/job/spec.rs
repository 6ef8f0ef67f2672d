//! What a job is asked for, as a caller says it and as it is kept.

use std::sync::Arc;
use std::time::Duration;

use dcli_contain::{Requirement, UnknownKind};
use dcli_core::capability::network;
use dcli_core::executor::Executor;
use dcli_core::executor::record::Record;
use dcli_core::fact::Warning;
use dcli_core::job::event::Created;
use dcli_core::job::id::{GroupName, JobId, Label};
use dcli_core::job::request::{InheritRequest, JobRequest, ModelRequest, SCHEMA_VERSION};
use dcli_core::job::state::{Mode, SessionStrategy};

use super::error::JobError;
use super::repository::Repository;
use crate::exec::{Inherit, ModelChoice, Request, Timeouts};

/// A job, as asked for.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What its one run is to do.
    pub request: Request,
    /// What it is for.
    pub mode: Mode,
    /// Its group.
    pub group: Option<GroupName>,
    /// The caller's words for it.
    pub label: Option<Label>,
    /// Whether its agent may hand over jobs of its own, in a store of this job's own.
    pub delegate: bool,
    /// What the caller should know already.
    pub warnings: Vec<Warning>,
}

impl Spec {
    /// A job around one run, in no group.
    #[must_use]
    pub fn new(request: Request) -> Self {
        Self {
            request,
            mode: Mode::Run,
            group: None,
            label: None,
            delegate: false,
            warnings: Vec::new(),
        }
    }
}

/// Who asks: the jobs above a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ancestry {
    pub parent: Option<JobId>,
    pub root: Option<JobId>,
}

/// The first line of a journal.
pub(super) fn created(
    id: &JobId,
    spec: &Spec,
    repository: &Repository,
    ancestry: Ancestry,
) -> Created {
    let request = &spec.request;
    let model = match &request.model {
        ModelChoice::Default => None,
        ModelChoice::Named(wish) => wish.model.clone(),
        ModelChoice::Configured(configuration) => configuration.model.clone(),
    };
    Created {
        job_id: id.clone(),
        backend: request.executor.record.id.clone(),
        backend_version: None,
        adapter_version: env!("CARGO_PKG_VERSION").to_owned(),
        repo_key: repository.key.clone(),
        repo_root: repository.root.as_ref().map(|root| root.display().to_string()),
        execution_root: request.workspace.display().to_string(),
        execution_owner: id.clone(),
        mode: spec.mode,
        access: request.access,
        network: network(&request.executor.record, request.access),
        capabilities_snapshot: None,
        model,
        agent: None,
        parent_job_id: ancestry.parent,
        root_job_id: ancestry.root.unwrap_or_else(|| id.clone()),
        session_strategy: SessionStrategy::New,
        group: spec.group.clone(),
        label: spec.label.clone(),
        hard_timeout_sec: request.timeouts.hard.as_secs_f64(),
        warnings: spec.warnings.clone(),
    }
}

/// `request.json`.
pub(super) fn kept(
    id: &JobId,
    spec: &Spec,
    repository: &Repository,
) -> Result<JobRequest, JobError> {
    let request = &spec.request;
    let executor = &request.executor;
    let record = serde_json::to_value(&*executor.record).map_err(|error| JobError::Internal {
        message: format!("the record of {} cannot be kept: {error}", executor.record.id),
    })?;
    let model = match request.model.clone() {
        ModelChoice::Default => ModelRequest::Default,
        ModelChoice::Named(wish) => ModelRequest::Named { wish },
        ModelChoice::Configured(configuration) => {
            ModelRequest::Configured { configuration: Box::new(configuration) }
        }
    };
    Ok(JobRequest {
        schema_version: SCHEMA_VERSION,
        job_id: id.clone(),
        repo_key: repository.key.clone(),
        record,
        record_source: executor.source.clone(),
        record_origin: executor.origin.clone(),
        chosen_by: request.chosen_by,
        workspace: text(&request.workspace)?,
        access: request.access,
        require_enforcement: request.require_enforcement,
        model,
        hard_timeout_sec: request.timeouts.hard.as_secs_f64(),
        startup_timeout_sec: request.timeouts.startup.map(|limit| limit.as_secs_f64()),
        idle_timeout_sec: request.timeouts.idle.map(|limit| limit.as_secs_f64()),
        inherit_env: match request.inherit.clone() {
            Inherit::All => InheritRequest::All,
            Inherit::Only(names) => InheritRequest::Named { names },
        },
        env_names: request.env.iter().map(|(name, _)| name.clone()).collect(),
        extra_args: request.extra_args.clone(),
        command: request.command.as_deref().map(text).transpose()?,
        containment: match request.containment {
            Requirement::BestAvailable => None,
            demanded => Some(demanded.to_string()),
        },
        output_cap: request.output_cap,
        group: spec.group.clone(),
        delegate: spec.delegate,
        terms: request.terms.clone(),
        isolated_state: request.isolated_state,
    })
}

/// Paths are kept as text, since records are JSON.
fn text(path: impl AsRef<std::path::Path>) -> Result<String, JobError> {
    let path = path.as_ref();
    path.to_str().map(str::to_owned).ok_or_else(|| JobError::Usage {
        message: format!("{} is not UTF-8, and a job's record cannot hold it", path.display()),
    })
}

/// The run that a kept request asks for. Values of variables come from the worker's own start.
pub(super) fn restored(
    kept: JobRequest,
    prompt: String,
    env: Vec<(String, String)>,
) -> Result<Request, String> {
    let record: Record = serde_json::from_value(kept.record).map_err(|error| error.to_string())?;
    let executor = Executor {
        record: Arc::new(record),
        source: kept.record_source,
        origin: kept.record_origin,
    };
    let seconds = |limit: f64| Duration::try_from_secs_f64(limit).map_err(|e| e.to_string());
    Ok(Request {
        chosen_by: kept.chosen_by,
        access: kept.access,
        require_enforcement: kept.require_enforcement,
        model: match kept.model {
            ModelRequest::Default => ModelChoice::Default,
            ModelRequest::Named { wish } => ModelChoice::Named(wish),
            ModelRequest::Configured { configuration } => ModelChoice::Configured(*configuration),
        },
        timeouts: Timeouts {
            hard: seconds(kept.hard_timeout_sec)?,
            startup: kept.startup_timeout_sec.map(seconds).transpose()?,
            idle: kept.idle_timeout_sec.map(seconds).transpose()?,
        },
        inherit: match kept.inherit_env {
            InheritRequest::All => Inherit::All,
            InheritRequest::Named { names } => Inherit::Only(names),
        },
        env,
        extra_args: kept.extra_args,
        command: kept.command.map(Into::into),
        containment: match kept.containment {
            None => Requirement::BestAvailable,
            Some(demanded) => demanded.parse().map_err(|e: UnknownKind| e.to_string())?,
        },
        output_cap: kept.output_cap,
        terms: kept.terms,
        isolated_state: kept.isolated_state,
        action_id: kept.job_id.to_string(),
        demand_version: true,
        ..Request::new(executor, prompt, kept.workspace)
    })
}
