//! Which executor runs, and which layer of the configuration said so.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A layer of the configuration, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Compiled in.
    Default,
    /// The user's configuration file.
    User,
    /// The project's policy.
    Project,
    /// This very call.
    Invocation,
}

impl fmt::Display for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Invocation => "invocation",
        })
    }
}

/// What each layer above the default says about the key `executor`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preferences<'a> {
    /// The user's configuration file.
    pub user: Option<&'a str>,
    /// The project's policy.
    pub project: Option<&'a str>,
    /// This very call.
    pub invocation: Option<&'a str>,
}

/// The executor that was chosen. Whether it exists and is allowed is checked by who looks it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its id.
    pub executor_id: String,
    /// The layer that named it.
    pub layer: Layer,
}

impl Preferences<'_> {
    /// The strongest layer that says something; `default` if none does.
    #[must_use]
    pub fn choose(&self, default: &str) -> Choice {
        let strongest = [
            (self.invocation, Layer::Invocation),
            (self.project, Layer::Project),
            (self.user, Layer::User),
        ];
        let named = strongest.into_iter().find_map(|(id, layer)| Some((id?, layer)));
        let (id, layer) = named.unwrap_or((default, Layer::Default));
        Choice { executor_id: id.to_owned(), layer }
    }
}
