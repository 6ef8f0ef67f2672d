//! Every check before a start, in the order that the contract promises. Nothing is started here
//! but, where a request demands a version that is not known yet, the program to say it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dcli_core::capability::Standing;
use dcli_core::envelope::{AccessEnforcement, ErrorCode};
use dcli_core::executor::access::Access;
use dcli_core::executor::record::{Native, Record};
use dcli_core::fact::Warning;

use super::host::Host;
use super::options::{self, model_arguments};
use super::request::Request;
use super::terms::refuse_unkept;
use super::version;
use crate::backend::environment::{Recipe, environment};
use crate::backend::lineage::PREFIX;
use crate::backend::program::{Program, ProgramError, find};

/// A request that may not be started: the envelope's code and its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    /// A valid request, which this backend cannot serve.
    pub is_unsupported: bool,
}

pub(crate) fn refuse(code: ErrorCode, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into(), is_unsupported: false }
}

/// A request whose every part was found valid.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub asked_at: Instant,
    pub workspace: PathBuf,
    pub program: PathBuf,
    pub version: Option<String>,
    pub env: Vec<(OsString, OsString)>,
    pub access_args: Vec<String>,
    pub model_args: Vec<String>,
    pub enforcement: AccessEnforcement,
    pub warnings: Vec<Warning>,
}

/// Checks a request. Its refusal is the caller's answer.
pub(crate) fn prepare(host: &Host, request: &Request) -> Result<Prepared, Refusal> {
    let asked_at = Instant::now();
    let record = &*request.executor.record;
    if request.prompt.trim().is_empty() {
        return Err(refuse(ErrorCode::RequestInvalid, "the prompt is empty; nothing was started"));
    }
    refuse_timeouts(request)?;
    let workspace = workspace(&request.workspace)?;
    refuse_names(record, request)?;
    options::refuse_foreign(record, request)?;
    refuse_unkept(record, request)?;
    refuse_unenforced(record, request)?;
    refuse_recursion(host, record)?;
    let native = request.native();
    let recipe = Recipe {
        ambient: &host.ambient,
        inherit: &request.inherit,
        record: &record.environment,
        access: &native,
        explicit: &request.env,
        stamps: &host.lineage.stamps(Some(&record.id), request.job.as_ref()),
        cwd: &workspace,
    };
    let env = environment(&recipe);
    refuse_root(record, &native, &env)?;
    let mut warnings = access_warnings(record, request.access);
    let program = program(host, request, record)?;
    warnings.extend(wrapper_warning(&program));
    let version = version(host, request, &program.path)?;
    warnings.extend(version_warning(record, version.as_deref()));
    warnings.extend(options::unproven(record, request, version.as_deref()));
    let model_args = model_arguments(record, request, version.as_deref())?;
    Ok(Prepared {
        asked_at,
        workspace,
        program: program.path,
        version,
        env,
        access_args: native.args,
        model_args,
        enforcement: record.access.unenforced_report(request.access),
        warnings,
    })
}

fn refuse_timeouts(request: &Request) -> Result<(), Refusal> {
    let timeouts = request.timeouts;
    let all =
        [("hard", Some(timeouts.hard)), ("startup", timeouts.startup), ("idle", timeouts.idle)];
    match all.iter().find(|(_, limit)| limit.is_some_and(|limit| limit.is_zero())) {
        Some((name, _)) => Err(refuse(
            ErrorCode::RequestInvalid,
            format!("the {name} timeout is 0; give it more than 0 seconds; nothing was started"),
        )),
        None => Ok(()),
    }
}

fn workspace(path: &Path) -> Result<PathBuf, Refusal> {
    let shown = path.display();
    let found = path.canonicalize().map_err(|error| {
        let message = format!(
            "the working directory {shown} cannot be used: {error}; nothing was started; name an \
             existing directory (--cwd)"
        );
        refuse(ErrorCode::RequestInvalid, message)
    })?;
    if found.is_dir() {
        return Ok(found);
    }
    let message = format!(
        "the working directory {shown} is not a directory; nothing was started; name one (--cwd)"
    );
    Err(refuse(ErrorCode::RequestInvalid, message))
}

/// Extra arguments and variables that would decide access behind dcli's back, or cannot be passed.
fn refuse_names(record: &Record, request: &Request) -> Result<(), Refusal> {
    let invalid = |message: String| Err(refuse(ErrorCode::RequestInvalid, message));
    if let Some(argument) = record.access.collision(&request.extra_args) {
        return invalid(format!(
            "the extra argument {argument:?} would decide the access of backend {}; nothing was \
             started; use --access read-only|workspace|unconfined",
            record.id
        ));
    }
    if let Some((name, _)) = request.env.iter().find(|(n, _)| record.access.variables.contains(n)) {
        return invalid(format!(
            "the variable {name} would decide the access of backend {}; nothing was started; use \
             --access",
            record.id
        ));
    }
    if let Some((name, _)) = request.env.iter().find(|(name, _)| name.starts_with(PREFIX)) {
        return invalid(format!(
            "the variable {name} is dcli's own: a child gets those that begin with {PREFIX} from \
             dcli alone; nothing was started; leave it out of --env"
        ));
    }
    let unfit = |text: &str| text.contains('\0');
    if request.extra_args.iter().any(|argument| unfit(argument)) {
        return invalid("an extra argument holds a NUL byte; nothing was started".to_owned());
    }
    for (name, value) in &request.env {
        if name.is_empty() || name.contains('=') || unfit(name) || unfit(value) {
            return invalid(format!(
                "{name:?} cannot be set in an environment: a name must not be empty and must not \
                 hold '=' or NUL; nothing was started"
            ));
        }
    }
    Ok(())
}

/// A worker starts neither itself again nor more levels of workers than are allowed.
fn refuse_recursion(host: &Host, record: &Record) -> Result<(), Refusal> {
    let (lineage, max) = (&host.lineage, host.max_depth);
    let below = lineage.depth != Some(0);
    if below && lineage.backend.as_ref().is_some_and(|backend| *backend == *record.id) {
        let message = format!(
            "this process is a worker of backend {id} (DCLI_BACKEND), and {id} may not start \
             itself; nothing was started; do the work here, or name another backend (--backend)",
            id = record.id
        );
        return Err(refuse(ErrorCode::RequestInvalid, message));
    }
    let found = match lineage.depth {
        Some(depth) if depth <= max => return Ok(()),
        Some(depth) => format!("{depth} dcli workers stand above this process (DCLI_DEPTH)"),
        None => "DCLI_DEPTH is not a number, which counts as too deep".to_owned(),
    };
    let message = format!(
        "{found}, and {max} may; nothing was started; do the work here, or allow more with \
         max_depth below [limits] in the user's config.toml"
    );
    Err(refuse(ErrorCode::ExecutorCapExceeded, message))
}

/// Whoever demands enforcement gets it proven, or no run.
fn refuse_unenforced(record: &Record, request: &Request) -> Result<(), Refusal> {
    let report = record.access.unenforced_report(request.access);
    if !request.require_enforcement || report.verified {
        return Ok(());
    }
    let keeper = match report.kind.as_str() {
        "none" => "nobody enforces it".to_owned(),
        _ => format!(
            "only {}'s own sandbox keeps it, which dcli did not verify",
            record.display_name
        ),
    };
    let message = format!(
        "this access is to be enforced (--require-enforcement), and {keeper}; nothing was \
         started; leave the option out to go on with that, and see 'dcli capabilities --backend {} \
         --json'",
        record.id
    );
    Err(refuse(ErrorCode::ExecutorUnavailable, message))
}

/// Some CLIs refuse their own argument for root, unless a variable says that it is a sandbox. dcli
/// sets that variable only where it enforces the access itself.
fn refuse_root(
    record: &Record,
    native: &Native,
    env: &[(OsString, OsString)],
) -> Result<(), Refusal> {
    let Some(guard) = &record.access.root_guard else { return Ok(()) };
    let is_root = rustix::process::geteuid().is_root();
    let set = env.iter().any(|(name, value)| *name == *guard.variable && *value == *guard.value);
    if !is_root || set || !native.args.contains(&guard.argument) {
        return Ok(());
    }
    let message = format!(
        "{} refuses {} for root, and its access is not enforced by dcli; nothing was started; run \
         as an ordinary user, or take the risk on yourself with --env {}={}",
        record.display_name, guard.argument, guard.variable, guard.value
    );
    Err(refuse(ErrorCode::ExecutorPermissionDenied, message))
}

fn access_warnings(record: &Record, access: Access) -> Vec<Warning> {
    let report = record.access.unenforced_report(access);
    if access == Access::Unconfined || report.kind != "none" {
        return Vec::new();
    }
    let message = format!(
        "nobody enforces this access: {}'s own permission rules are all that keeps it",
        record.display_name
    );
    vec![Warning::new("access_not_enforced", message)]
}

fn wrapper_warning(program: &Program) -> Option<Warning> {
    let message = format!(
        "{} is a script that spawns the real executable, which was not found beside it",
        program.path.display()
    );
    program.is_wrapper.then(|| Warning::new("wrapper_script", message))
}

/// The program's version, where it is known or has to be.
fn version(host: &Host, request: &Request, program: &Path) -> Result<Option<String>, Refusal> {
    let record = &*request.executor.record;
    let is_asked = request.demand_version || options::need_version(request);
    let version = match is_asked {
        true => version::known(host, record, program),
        false => version::cached(record, program),
    };
    if !request.demand_version {
        return Ok(version);
    }
    let why = match Standing::of(record, version.as_deref()) {
        Standing::OutOfRange => "is outside the range that its record supports",
        Standing::KnownBad => "is known not to work",
        Standing::Tested | Standing::InRange | Standing::Unknown => return Ok(version),
    };
    let install = match record.install.as_str() {
        "" => "install a supported version".to_owned(),
        install => format!("install a supported version (see: {install})"),
    };
    let message = format!(
        "version {found} of {name} at {program} {why} ({supported}); nothing was started; \
         {install}, name another program (--command), or another backend (--backend)",
        found = version.as_deref().unwrap_or("unknown"),
        name = record.display_name,
        program = program.display(),
        supported = record.version.supported,
    );
    Err(refuse(ErrorCode::ExecutorUnavailable, message))
}

fn version_warning(record: &Record, version: Option<&str>) -> Option<Warning> {
    let found = version.unwrap_or("unknown");
    let message = match Standing::of(record, version) {
        Standing::OutOfRange => format!(
            "version {found} of {} is outside the range that its record supports ({})",
            record.display_name, record.version.supported
        ),
        Standing::KnownBad => {
            format!("version {found} of {} is known not to work", record.display_name)
        }
        Standing::Tested | Standing::InRange | Standing::Unknown => return None,
    };
    Some(Warning::new("version_unsupported", message))
}

fn program(host: &Host, request: &Request, record: &Record) -> Result<Program, Refusal> {
    let command = match &request.command {
        Some(path) => path.clone().into_os_string(),
        None => record.command.clone().into(),
    };
    let search = host.variable("PATH").map(OsString::as_os_str);
    find(&command, search, &record.native_executable).map_err(|error| {
        let remedy = match (&error, &request.command, record.install.as_str()) {
            (_, Some(_), _) => "name an executable file with --command".to_owned(),
            (ProgramError::NotExecutable { .. }, None, _) | (_, None, "") => {
                "name it with --command".to_owned()
            }
            (_, None, install) => format!("install it with: {install}; or name it with --command"),
        };
        let name = &record.display_name;
        let message = format!("{name} cannot be run: {error}; nothing was started; {remedy}");
        refuse(ErrorCode::ExecutorUnavailable, message)
    })
}
