//! From a configuration to native arguments.

use std::collections::BTreeMap;

use super::collision::refuse_collisions;
use super::contract::{Contract, Field, ModelForm, RESERVED_FIELDS, is_token};
use super::{Configuration, ControlRefusal, Wish};

/// What is known of the run that controls are admitted for.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The executor's version as its binary printed it; none if it could not be found out.
    pub version: Option<&'a str>,
    /// Raw extra arguments of the caller.
    pub extra: &'a [String],
    /// The command resolved to a `.cmd` or `.bat` file on Windows.
    pub is_shell_shim: bool,
}

/// Every check on model controls before a spawn; the answer is the native arguments.
///
/// # Errors
/// [`ControlRefusal`]; nothing was started.
pub fn admit(
    contract: Option<&Contract>,
    configuration: Option<&Configuration>,
    launch: Launch<'_>,
) -> Result<Vec<String>, ControlRefusal> {
    if let Some(contract) = contract {
        refuse_collisions(contract, launch.extra)?;
    }
    let Some(configuration) = configuration.filter(|wanted| !wanted.is_empty()) else {
        return Ok(Vec::new());
    };
    if launch.is_shell_shim {
        return Err(ControlRefusal::ShellShim);
    }
    native_arguments(contract, configuration, launch.version)
}

/// The record's fixed arguments followed by the native ones: a pure projection.
///
/// # Errors
/// As [`native_arguments`].
pub fn build_model_arguments(
    fixed: &[String],
    contract: Option<&Contract>,
    configuration: &Configuration,
    version: Option<&str>,
) -> Result<Vec<String>, ControlRefusal> {
    let native = native_arguments(contract, configuration, version)?;
    Ok(fixed.iter().cloned().chain(native).collect())
}

/// The native arguments alone: the model first, then the fields in the contract's order.
///
/// # Errors
/// [`ControlRefusal`], for anything that the contract has no evidence for.
pub fn native_arguments(
    contract: Option<&Contract>,
    configuration: &Configuration,
    version: Option<&str>,
) -> Result<Vec<String>, ControlRefusal> {
    if configuration.is_empty() {
        return Ok(Vec::new());
    }
    let contract = contract.ok_or(ControlRefusal::NoControls)?;
    refuse_version(contract, configuration, version)?;
    refuse_provider(contract, configuration)?;
    refuse_fields(contract, configuration)?;
    let mut arguments = Vec::new();
    if let Some(model) = &configuration.model {
        let name = model_name(contract.model.form, model, configuration.provider.as_deref())?;
        arguments.extend([contract.model.flag.clone(), name]);
    }
    arguments.extend(options(contract, &configuration.fields));
    Ok(arguments)
}

/// The native arguments of what a person asks for: the model first, then the options in the
/// contract's order.
///
/// # Errors
/// [`ControlRefusal`]: there is no contract, it has no such option, or a value is none of its own.
pub fn wished_arguments(
    contract: Option<&Contract>,
    wish: &Wish,
) -> Result<Vec<String>, ControlRefusal> {
    if *wish == Wish::default() {
        return Ok(Vec::new());
    }
    let contract = contract.ok_or(ControlRefusal::NoControls)?;
    for (name, value) in &wish.options {
        fit(field(contract, name)?, value)?;
    }
    let mut arguments = Vec::new();
    if let Some(model) = &wish.model {
        if !is_token(model) {
            return Err(ControlRefusal::UnfitModel);
        }
        arguments.extend([contract.model.flag.clone(), model.clone()]);
    }
    arguments.extend(options(contract, &wish.options));
    Ok(arguments)
}

fn options<'a>(
    contract: &'a Contract,
    values: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = String> + 'a {
    let set = contract.fields.iter().filter_map(|field| Some((field, values.get(&field.name)?)));
    set.flat_map(|(field, value)| field.arguments(value))
}

fn field<'a>(contract: &'a Contract, name: &str) -> Result<&'a Field, ControlRefusal> {
    contract.fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let known = contract.fields.iter().map(|field| field.name.clone()).collect();
        ControlRefusal::UnknownField { known }
    })
}

fn fit(field: &Field, value: &str) -> Result<(), ControlRefusal> {
    if field.vocabulary.holds(value) {
        return Ok(());
    }
    let vocabulary = field.vocabulary.clone();
    Err(ControlRefusal::UnfitValue { field: field.name.clone(), vocabulary })
}

fn refuse_version(
    contract: &Contract,
    configuration: &Configuration,
    version: Option<&str>,
) -> Result<(), ControlRefusal> {
    let known = || ControlRefusal::UnknownVersion { known: contract.versions.clone() };
    let version = version.ok_or_else(known)?;
    if !contract.versions.iter().any(|listed| listed == version) {
        return Err(known());
    }
    match configuration.executor_version.as_deref() {
        Some(resolved) if resolved != version => Err(ControlRefusal::OtherVersion),
        _ => Ok(()),
    }
}

fn refuse_provider(
    contract: &Contract,
    configuration: &Configuration,
) -> Result<(), ControlRefusal> {
    let Some(provider) = &configuration.provider else { return Ok(()) };
    let is_known = contract.providers.is_empty() || contract.providers.contains(provider);
    if is_known && is_token(provider) && !provider.contains('/') {
        return Ok(());
    }
    Err(ControlRefusal::ForeignProvider { known: contract.providers.clone() })
}

fn refuse_fields(contract: &Contract, configuration: &Configuration) -> Result<(), ControlRefusal> {
    for (name, value) in &configuration.fields {
        if let Some(field) = RESERVED_FIELDS.iter().find(|reserved| *reserved == name) {
            return Err(ControlRefusal::ReservedField { field });
        }
        let field = field(contract, name)?;
        fit(field, value)?;
        let is_supported = configuration.receipts.iter().any(|receipt| {
            receipt.field == *name
                && receipt.model == configuration.model
                && !receipt.source.trim().is_empty()
        });
        if !is_supported {
            return Err(ControlRefusal::MissingReceipt { field: field.name.clone() });
        }
    }
    Ok(())
}

fn model_name(
    form: ModelForm,
    model: &str,
    provider: Option<&str>,
) -> Result<String, ControlRefusal> {
    if !is_token(model) {
        return Err(ControlRefusal::UnfitModel);
    }
    match (form, provider) {
        (ModelForm::Model, _) => Ok(model.to_owned()),
        (ModelForm::ProviderModel, Some(provider)) => Ok(format!("{provider}/{model}")),
        // The caller may also have written both in one word.
        (ModelForm::ProviderModel, None) => match model.split_once('/') {
            Some((provider, rest)) if !provider.is_empty() && !rest.is_empty() => {
                Ok(model.to_owned())
            }
            _ => Err(ControlRefusal::MissingProvider),
        },
    }
}

impl Field {
    fn arguments(&self, value: &str) -> [String; 2] {
        let written = match &self.native.key {
            // A JSON string without control characters is a TOML string too.
            Some(key) => format!("{key}={}", serde_json::Value::from(value)),
            None => value.to_owned(),
        };
        [self.native.flag.clone(), written]
    }
}
