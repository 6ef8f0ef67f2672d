//! What a record publishes about its model controls.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names that no field may have: they mean something to the engine.
pub const RESERVED_FIELDS: [&str; 8] =
    ["access", "cwd", "executor", "model", "prompt", "provider", "session", "version"];

/// The model argument, the fields, and the versions that both were seen to work with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Exact executor versions with evidence, at least one.
    pub versions: Vec<String>,
    /// Providers whose models it can run; empty: any.
    #[serde(default)]
    pub providers: Vec<String>,
    /// How the model is named.
    pub model: ModelArgument,
    /// The backend's own options, in the order of their arguments.
    #[serde(default)]
    pub fields: Vec<Field>,
}

/// How the model is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelArgument {
    /// The flag before the model.
    pub flag: String,
    /// What is written after it.
    #[serde(default)]
    pub form: ModelForm,
    /// Other spellings of the same setting, which raw extra arguments must not use either.
    #[serde(default)]
    pub also: Vec<Spelling>,
}

/// What is written for the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelForm {
    /// The model alone.
    #[default]
    #[serde(rename = "model")]
    Model,
    /// Provider, slash, model.
    #[serde(rename = "provider/model")]
    ProviderModel,
}

/// One option and its one native form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name in a configuration: lower-case letters, digits, `_`, `-`.
    pub name: String,
    /// `flag value`, or `flag key="value"` where it has a key.
    pub native: Spelling,
    /// Which values it takes.
    pub vocabulary: Vocabulary,
    /// Other spellings of the same setting, which raw extra arguments must not use either.
    #[serde(default)]
    pub also: Vec<Spelling>,
}

/// One way to write a setting on the command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelling {
    /// `--long` or `-s`.
    pub flag: String,
    /// For a flag that takes `key=value`, the key; the value is written as a quoted string.
    pub key: Option<String>,
}

impl fmt::Display for Spelling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(out, "{} {key}=", self.flag),
            None => out.write_str(&self.flag),
        }
    }
}

/// Which values a field takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Vocabulary {
    /// Exactly these.
    Listed(Vec<String>),
    /// `"any-token"`.
    Any(AnyToken),
}

/// The vocabulary of any value that is one plain token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnyToken {
    /// Not empty, no blanks, no control characters, no `-` at its start.
    #[serde(rename = "any-token")]
    AnyToken,
}

impl Vocabulary {
    /// Whether `value` is one of it.
    #[must_use]
    pub fn holds(&self, value: &str) -> bool {
        match self {
            Self::Listed(values) => values.iter().any(|listed| listed == value),
            Self::Any(_) => is_token(value),
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(values) => write!(out, "one of {}", values.join(", ")),
            Self::Any(_) => out.write_str("any token without blanks"),
        }
    }
}

/// A value that stays one argument and can never be read as a flag.
pub(super) fn is_token(value: &str) -> bool {
    !value.is_empty()
        && !value.starts_with('-')
        && !value.chars().any(|letter| letter.is_whitespace() || letter.is_control())
}

/// Why a contract is refused when its record is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContractError {
    /// `versions` is empty, or one of them is no exact version.
    #[error("versions must be exact ones, such as \"1.2.3\", at least one")]
    Versions,
    /// A provider that is no token or holds a slash.
    #[error("providers must be plain names")]
    Providers,
    /// A flag that is not `-x` or `--name`, or an empty key.
    #[error("`{spelling}` is no flag that can be written")]
    Spelling {
        /// As the record has it.
        spelling: String,
    },
    /// A field's name is reserved, ill-formed or used twice.
    #[error("field name `{field}` is reserved, ill-formed or used twice")]
    FieldName {
        /// As the record has it.
        field: String,
    },
    /// A vocabulary without values, with equal ones, or with one that is no plain token.
    #[error("the vocabulary of field `{field}` must list different plain tokens")]
    Vocabulary {
        /// The field.
        field: String,
    },
    /// Two controls would write the same setting.
    #[error("`{spelling}` belongs to two controls")]
    Shared {
        /// The spelling both have.
        spelling: String,
    },
}

impl Contract {
    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first [`ContractError`] found.
    pub fn validate(&self) -> Result<(), ContractError> {
        let is_exact = |version: &String| semver::Version::parse(version).is_ok();
        if self.versions.is_empty() || !self.versions.iter().all(is_exact) {
            return Err(ContractError::Versions);
        }
        if !self.providers.iter().all(|provider| is_token(provider) && !provider.contains('/')) {
            return Err(ContractError::Providers);
        }
        self.validate_fields()?;
        let mut seen = BTreeSet::new();
        for (_, spelling) in self.spellings() {
            if !spelling.is_writable() {
                return Err(ContractError::Spelling { spelling: spelling.to_string() });
            }
            if !seen.insert(spelling.clone()) {
                return Err(ContractError::Shared { spelling: spelling.to_string() });
            }
        }
        self.refuse_swallowed_keys(&seen)
    }

    fn validate_fields(&self) -> Result<(), ContractError> {
        let mut names = BTreeSet::new();
        for Field { name, vocabulary, .. } in &self.fields {
            let is_reserved = RESERVED_FIELDS.contains(&name.as_str());
            if !is_field_name(name) || is_reserved || !names.insert(name) {
                return Err(ContractError::FieldName { field: name.clone() });
            }
            let Vocabulary::Listed(values) = vocabulary else { continue };
            let distinct: BTreeSet<_> = values.iter().filter(|value| is_token(value)).collect();
            if values.is_empty() || distinct.len() != values.len() {
                return Err(ContractError::Vocabulary { field: name.clone() });
            }
        }
        Ok(())
    }

    /// A flag that is a control by itself cannot also carry keys of other controls.
    fn refuse_swallowed_keys(&self, seen: &BTreeSet<Spelling>) -> Result<(), ContractError> {
        let swallowed = seen.iter().find(|spelling| {
            let bare = Spelling { flag: spelling.flag.clone(), key: None };
            spelling.key.is_some() && seen.contains(&bare)
        });
        match swallowed {
            Some(spelling) => Err(ContractError::Shared { spelling: spelling.to_string() }),
            None => Ok(()),
        }
    }

    /// Every spelling of every control, each with the control's name.
    pub(super) fn spellings(&self) -> Vec<(&str, Spelling)> {
        let model = Spelling { flag: self.model.flag.clone(), key: None };
        let of_model = std::iter::once(model).chain(self.model.also.iter().cloned());
        let mut all: Vec<_> = of_model.map(|spelling| ("model", spelling)).collect();
        for field in &self.fields {
            let of_field = std::iter::once(&field.native).chain(&field.also).cloned();
            all.extend(of_field.map(|spelling| (field.name.as_str(), spelling)));
        }
        all
    }
}

fn is_field_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(is_plain)
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-' || byte == b'_')
}

impl Spelling {
    fn is_writable(&self) -> bool {
        let is_plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=')
        };
        let is_flag = match self.flag.strip_prefix("--") {
            Some(name) => is_plain(name) && !name.starts_with('-'),
            None => self.flag.len() == 2 && self.flag.starts_with('-') && is_plain(&self.flag),
        };
        is_flag && self.key.as_deref().is_none_or(is_plain)
    }
}
