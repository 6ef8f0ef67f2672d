//! What is asked for: arguments, configuration and prompt to one checked request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dcli_contain::Entry;
use dcli_core::envelope::ErrorCode;
use dcli_core::executor::controls::Wish;
use dcli_core::executor::{Executor, Source};
use dcli_core::fact::Warning;
use dcli_core::gate::{Choice, Layer};
use dcli_core::interaction::Terms;
use dcli_core::job::id::GroupName;

use super::args::Ask;
use super::prompt;
use crate::config::{self, Limits, Policy, User};
use crate::exec::{Host, Inherit, Lost, ModelChoice, Request, Timeouts};
use crate::report::human;

/// Why nothing was run.
pub(super) struct Refused(pub ErrorCode, pub String);

/// A request, and what it runs with.
pub(super) struct Asked {
    pub entry: Entry,
    pub host: Host,
    pub limits: Limits,
    pub request: Request,
    pub warning: Option<Warning>,
    /// What the configuration says about answers to such a run, where it is a job.
    pub configured: Terms,
}

fn invalid(message: impl std::fmt::Display) -> Refused {
    Refused(ErrorCode::RequestInvalid, format!("{message}; nothing was started"))
}

/// What the configuration says for runs in `project` and of `group`.
pub(super) fn host(
    entry: &Entry,
    project: &Path,
    group: Option<GroupName>,
) -> Result<(Host, Limits), config::ConfigError> {
    let (policy, user) = (config::policy(project)?, config::user()?);
    Ok(configured(entry, &policy, &user, group))
}

fn configured(
    entry: &Entry,
    policy: &Policy,
    user: &User,
    group: Option<GroupName>,
) -> (Host, Limits) {
    let limits = policy.limits(user);
    let host = Host::new(entry.clone())
        .with_budget(policy.budget(user), group, Arc::new(lost))
        .with_max_depth(limits.max_depth)
        .with_max_descendants(limits.max_descendants);
    (host, limits)
}

/// Reads all that the arguments name. The prompt last: a refusal needs none.
pub(super) fn asked(args: Ask, backend: Option<&str>) -> Result<Asked, Refused> {
    let cwd = match &args.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir()
            .map_err(|error| invalid(format!("the current directory is gone: {error}")))?,
    };
    let project = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
    config::state_outside(&project).map_err(invalid)?;
    let policy = config::policy(&project).map_err(invalid)?;
    let user = config::user().map_err(invalid)?;
    let (executor, chosen_by) = executor(&args, backend, (&policy, &user))?;
    let prompt = prompt::read(&args.words, args.prompt_file.as_deref()).map_err(invalid)?;
    let entry = Entry::current().map_err(|error| {
        Refused(ErrorCode::ExecutorUnavailable, format!("{error}; nothing was started"))
    })?;
    let (host, limits) = configured(&entry, &policy, &user, args.group.clone());
    let configured = policy.interactions(&user).terms(&executor.record, args.access);
    let unheld = (configured.is_plain() && policy.has_rules()).then(|| unheld(&executor));
    let request = request(args, executor, chosen_by, (cwd, prompt.text, &policy));
    let warning = prompt.warning.or(unheld);
    Ok(Asked { entry, host, limits, request, warning, configured })
}

/// A project that denies or asks says so to nobody where the backend asks nothing.
fn unheld(executor: &Executor) -> Warning {
    let message = format!(
        "the project's policy has rules on permissions (ask, deny), and backend {} does not ask with \
         this access: nothing holds them; leave it out of allowed_backends where they matter",
        executor.record.id
    );
    Warning::new("policy_not_held", message)
}

/// A run that nobody settled is no fault of this one, and its caller may want to know.
fn lost(lost: &Lost) {
    let group = lost.group.iter().map(|group| format!(" of group {group}")).collect::<String>();
    let charge = match lost.charge {
        Some(charge) => format!("{} tokens", charge.tokens()),
        None => "its estimate".to_owned(),
    };
    human::say(&format!(
        "dcli: a run{group} since {} lost its dcli; it was charged {charge}",
        lost.since
    ));
}

fn executor(
    args: &Ask,
    backend: Option<&str>,
    (policy, user): (&Policy, &User),
) -> Result<(Executor, Layer), Refused> {
    let not_valid = |error: config::ConfigError| match error {
        config::ConfigError::Record(_) => {
            Refused(ErrorCode::ExecutorInvalid, format!("{error}; nothing was started"))
        }
        other => invalid(other),
    };
    let mut catalogue = config::catalogue().map_err(not_valid)?;
    let given = match &args.record {
        Some(path) => Some(config::add(&mut catalogue, path, Source::File).map_err(not_valid)?),
        None => None,
    };
    let named = backend.or(given.as_deref());
    let Choice { executor_id, layer } = policy.choose(user, named);
    let found = catalogue.find(&executor_id).map_err(|error| {
        let message = format!("{error}; nothing was started; see 'dcli backends'");
        Refused(ErrorCode::ExecutorNotFound, message)
    })?;
    let denied = |message| {
        let message = format!("{message}; nothing was started");
        Refused(ErrorCode::ExecutorPermissionDenied, message)
    };
    user.allow(&found.record.id).map_err(denied)?;
    policy.allow(&found.record.id, args.access).map_err(denied)?;
    Ok((found.clone(), layer))
}

fn request(
    args: Ask,
    executor: Executor,
    chosen_by: Layer,
    (cwd, prompt, policy): (PathBuf, String, &Policy),
) -> Request {
    let default = Timeouts::default();
    let hard = Policy::tighten(
        policy.hard_timeout_sec,
        Some(args.hard_timeout_sec.unwrap_or(default.hard)),
    );
    let options = [("effort", args.effort), ("variant", args.variant)];
    let options = options.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let wish = Wish { model: args.model, options: options.collect() };
    let model = match wish == Wish::default() {
        true => ModelChoice::Default,
        false => ModelChoice::Named(wish),
    };
    let names = |list: String| -> Vec<String> {
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    Request {
        chosen_by,
        access: args.access,
        require_enforcement: args.require_enforcement,
        model,
        timeouts: Timeouts {
            hard: hard.unwrap_or(default.hard),
            startup: Policy::tighten(policy.startup_timeout_sec, args.startup_timeout_sec),
            idle: Policy::tighten(policy.idle_timeout_sec, args.idle_timeout_sec),
        },
        inherit: args.inherit_env.map_or(Inherit::All, |list| Inherit::Only(names(list))),
        env: args.env,
        extra_args: args.extra_arg,
        command: args.command,
        containment: args.containment.unwrap_or_default(),
        isolated_state: args.answering.isolated_state,
        terms: args.answering.terms(),
        ..Request::new(executor, prompt, cwd)
    }
}
