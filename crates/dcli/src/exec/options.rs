//! Model and options as a backend's own arguments; what it does not have is refused by name.

use dcli_core::envelope::ErrorCode;
use dcli_core::executor::controls::{
    ControlRefusal, Field, Launch as ControlLaunch, admit, wished_arguments,
};
use dcli_core::executor::record::Record;
use dcli_core::fact::Warning;

use super::prepare::{Refusal, refuse};
use super::request::{ModelChoice, Request};

/// Refuses what the backend does not have, which takes neither its program nor its version.
pub(super) fn refuse_foreign(record: &Record, request: &Request) -> Result<(), Refusal> {
    let ModelChoice::Named(wish) = &request.model else { return Ok(()) };
    if let (Some(_), None) = (&wish.model, &record.controls) {
        return Err(foreign(record, "model", "leave --model out"));
    }
    let fields = record.controls.as_ref().map_or(&[][..], |contract| &contract.fields[..]);
    for (name, value) in &wish.options {
        match fields.iter().find(|field| field.name == *name) {
            None => return Err(foreign(record, name, &alternative(name, fields))),
            Some(field) if !field.vocabulary.holds(value) => {
                let message =
                    format!("--{name} of backend {} takes {}", record.id, field.vocabulary);
                return Err(unsupported(record, &message));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn foreign(record: &Record, name: &str, alternative: &str) -> Refusal {
    unsupported(record, &format!("backend {} has no option --{name}; {alternative}", record.id))
}

fn alternative(name: &str, fields: &[Field]) -> String {
    let own = |field: &Field| format!("--{} ({})", field.name, field.vocabulary);
    let own: Vec<String> = fields.iter().map(own).collect();
    match &own[..] {
        [] => format!("it has none of its own; leave --{name} out"),
        own => format!("its own is {}", own.join(", ")),
    }
}

pub(super) fn unsupported(record: &Record, message: &str) -> Refusal {
    let message = format!(
        "{message}; nothing was started and no job was created; see 'dcli capabilities --backend \
         {} --json'",
        record.id
    );
    Refusal { is_unsupported: true, ..refuse(ErrorCode::RequestInvalid, message) }
}

/// Whether the program's version matters to what is asked.
pub(super) fn need_version(request: &Request) -> bool {
    matches!(&request.model, ModelChoice::Named(wish) if !wish.options.is_empty())
}

/// Options are known from the versions that the record names. Another one may take them otherwise.
pub(super) fn unproven(
    record: &Record,
    request: &Request,
    version: Option<&str>,
) -> Option<Warning> {
    let known = &record.controls.as_ref()?.versions;
    let is_known = version.is_some_and(|version| known.iter().any(|known| known == version));
    if is_known || !need_version(request) {
        return None;
    }
    let message = format!(
        "its own options were measured with {name} {known}, and this is version {version}",
        name = record.display_name,
        known = known.join(", "),
        version = version.unwrap_or("unknown"),
    );
    Some(Warning::new("option_unproven", message))
}

/// The native arguments.
pub(super) fn model_arguments(
    record: &Record,
    request: &Request,
    version: Option<&str>,
) -> Result<Vec<String>, Refusal> {
    let contract = record.controls.as_ref();
    let launch = ControlLaunch { version, extra: &request.extra_args, is_shell_shim: false };
    let configuration = match &request.model {
        ModelChoice::Configured(configuration) => Some(configuration),
        ModelChoice::Default | ModelChoice::Named(_) => None,
    };
    let typed = admit(contract, configuration, launch).map_err(|error| refused(record, &error))?;
    match &request.model {
        ModelChoice::Named(wish) => {
            wished_arguments(contract, wish).map_err(|error| refused(record, &error))
        }
        ModelChoice::Default | ModelChoice::Configured(_) => Ok(typed),
    }
}

fn refused(record: &Record, error: &ControlRefusal) -> Refusal {
    let message = format!("backend {}: {error}; nothing was started", record.id);
    refuse(ErrorCode::RequestInvalid, message)
}
