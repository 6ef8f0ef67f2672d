//! Typed model controls: which model, with which options of its own backend.
//!
//! A record may publish a [`Contract`]. A caller's [`Configuration`] is admitted against it and
//! becomes native arguments, or is refused before anything is started. Nothing is merged,
//! translated or ignored, and no refusal repeats a value that the caller gave.

mod arguments;
mod collision;
mod contract;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use arguments::{Launch, admit, build_model_arguments, native_arguments, wished_arguments};
pub use collision::refuse_collisions;
pub use contract::{
    AnyToken, Contract, ContractError, Field, ModelArgument, ModelForm, RESERVED_FIELDS, Spelling,
    Vocabulary,
};

/// What a caller wants of the model, resolved whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The model's name; none leaves the choice to the backend.
    pub model: Option<String>,
    /// Whose model it is.
    pub provider: Option<String>,
    /// The backend's own options by the names that its contract gives them.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
    /// Why the caller believes that the model supports each field.
    #[serde(default)]
    pub receipts: Vec<Receipt>,
    /// The executor version that this was resolved for; none binds it to no version.
    pub executor_version: Option<String>,
}

/// What a person asks for in so many words. Who writes a model or an option by its name vouches for
/// it: names and values are held to the contract, versions and models are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The model, by the backend's own name for it; none leaves the choice to the backend.
    pub model: Option<String>,
    /// The backend's own options by the names that its contract gives them.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// The host's evidence that a model supports a field. It says nothing about executor versions:
/// those have evidence of their own, in the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The field it speaks of.
    pub field: String,
    /// The model it speaks of; none is the backend's default model.
    pub model: Option<String>,
    /// Where the host knows it from; blank is no evidence.
    pub source: String,
}

impl Configuration {
    /// The configuration that counts: a per-run one replaces the default whole.
    #[must_use]
    pub fn effective<'a>(default: Option<&'a Self>, per_run: Option<&'a Self>) -> Option<&'a Self> {
        per_run.or(default)
    }

    /// Whether it asks for nothing, so that the backend's own defaults hold.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.provider.is_none() && self.fields.is_empty()
    }
}

/// Why model controls were refused. Only what the record itself says is ever named.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ControlRefusal {
    /// The record has no contract.
    #[error("this executor has no model controls")]
    NoControls,
    /// The command resolved to a `.cmd` or `.bat` file, whose arguments cmd.exe interprets.
    #[error("the command is a shell shim; point it at the real executable")]
    ShellShim,
    /// The executor's version is not known, or not one that the contract has evidence for.
    #[error("no evidence for this executor version; known: {}", known.join(", "))]
    UnknownVersion {
        /// Versions of the contract.
        known: Vec<String>,
    },
    /// Resolved for another version than the one about to run.
    #[error("the configuration was resolved for another executor version")]
    OtherVersion,
    /// The provider is not one of this executor's.
    #[error("not a provider of this executor; known: {}", known.join(", "))]
    ForeignProvider {
        /// Providers of the contract; empty if any well-formed name would do.
        known: Vec<String>,
    },
    /// The model needs its provider and there is none.
    #[error("this executor names a model as provider/model")]
    MissingProvider,
    /// The model is blank, holds blanks or control characters, or starts with `-`.
    #[error("the model is not a plain name")]
    UnfitModel,
    /// A field that the contract does not have.
    #[error("unknown field; this executor has: {}", known.join(", "))]
    UnknownField {
        /// Fields of the contract.
        known: Vec<String>,
    },
    /// A field whose name belongs to the engine.
    #[error("field `{field}` is reserved")]
    ReservedField {
        /// One of [`RESERVED_FIELDS`].
        field: &'static str,
    },
    /// A value outside the field's vocabulary.
    #[error("field `{field}` takes {vocabulary}")]
    UnfitValue {
        /// The field.
        field: String,
        /// What it takes.
        vocabulary: Vocabulary,
    },
    /// The host showed no evidence that the model supports the field.
    #[error("no support receipt for field `{field}` with this model")]
    MissingReceipt {
        /// The field.
        field: String,
    },
    /// A raw extra argument sets what a control sets.
    #[error("an extra argument sets `{flag}`, which is controlled as `{control}`")]
    Collision {
        /// The flag as the contract spells it.
        flag: String,
        /// `model`, or the field's name.
        control: String,
    },
}
