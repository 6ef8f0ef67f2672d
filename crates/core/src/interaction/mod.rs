//! Interactions: what a backend asks while it works, and who or what answers.
//!
//! Whichever way a backend asks, its adapter makes an [`Ask`] of it; the [`Desk`] rules on it, and a
//! [`Reply`] goes back. Nothing here knows a backend.

pub mod desk;
pub mod policy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::desk::{Desk, Step, Terms};
pub use self::policy::{Policy, Rule};
use crate::envelope::summarise;
use crate::fact::{InteractionKind, InteractionOutcome};

/// The version of the shapes in this module.
pub const SCHEMA_VERSION: u32 = 1;

/// What a backend asks, in words that all backends share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The backend's own name for it.
    pub key: String,
    /// Leave, or words.
    pub kind: InteractionKind,
    /// What leave is asked for: `bash`, `edit`, `webfetch`, `external_directory`, …; `question`.
    pub permission: String,
    /// What exactly: each command, path or address. Leave for the whole is leave for each.
    pub patterns: Vec<String>,
    /// What leave for always would cover, as patterns.
    pub always: Vec<String>,
    /// True where the patterns do not show all that would be done: redirections, substitutions.
    pub is_opaque: bool,
    /// True where the access alone lets it through, and it is asked only so that a policy which names
    /// its kind can deny it or have somebody asked: reads, and edits inside the workspace.
    pub is_ordinary: bool,
    /// True where it would change a file, whatever it is called: a path outside the directory.
    pub is_edit: bool,
    /// What a person needs to decide: shown, journaled, never judged.
    pub detail: Value,
}

impl Ask {
    /// What is asked, in words for a message: `bash (git push)`.
    #[must_use]
    pub fn words(&self) -> String {
        match self.patterns.is_empty() {
            true => self.permission.clone(),
            false => summarise(&format!("{} ({})", self.permission, self.patterns.join(", "))),
        }
    }
}

/// What goes back to the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The backend's own name for what it asked.
    pub key: String,
    /// What it is told.
    pub verdict: Verdict,
}

/// What a backend is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may, this once.
    Allow,
    /// It may not. With words for the agent it goes on, without any its turn stops.
    Deny(Option<String>),
    /// The answers, one for each question.
    Answer(Vec<String>),
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This once.
    Allow,
    /// This, and its like for the rest of the job.
    AllowAlways,
    /// No.
    Deny,
    /// An answer in words.
    Answer,
    /// Nobody answered in time.
    Expired,
}

impl Decision {
    /// The word that records use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AllowAlways => "allow_always",
            Self::Deny => "deny",
            Self::Answer => "answer",
            Self::Expired => "expired",
        }
    }

    /// The decision that goes by this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Allow, Self::AllowAlways, Self::Deny, Self::Answer, Self::Expired];
        all.into_iter().find(|decision| decision.name() == word)
    }

    /// Whether it can be the answer to such an interaction.
    #[must_use]
    pub fn fits(self, kind: InteractionKind) -> bool {
        match self {
            Self::Allow | Self::AllowAlways => kind == InteractionKind::Permission,
            Self::Answer => kind == InteractionKind::Question,
            Self::Deny | Self::Expired => true,
        }
    }
}

/// An answer from outside, as it is handed to the worker of a job: `answers/<interaction>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What it answers.
    pub interaction_id: String,
    /// The decision.
    pub decision: Decision,
    /// Words for the agent.
    pub message: Option<String>,
    /// One for each question.
    pub answers: Vec<String>,
    /// Who: `uid 1000`.
    pub responder: Option<String>,
    /// When, RFC 3339 in UTC with milliseconds.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub at: String,
}

/// An interaction of a job, as its status has it. Missing data is `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// `i1`, `i2`, … in the order in which a job asked.
    pub interaction_id: String,
    /// Leave, or words.
    pub kind: InteractionKind,
    /// What is asked: for a permission {permission, patterns, always, …}, for a question {questions}.
    pub detail: Value,
    /// How it is dealt with; `null` in the moment before that is known.
    pub outcome: Option<InteractionOutcome>,
    /// What was decided; `null` while it is open.
    pub decision: Option<Decision>,
    /// Who or what decided: `uid 1000`, `policy bash:git *`, `access read-only`; `null`: nobody could.
    pub responder: Option<String>,
    /// When it was asked.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub created_at: String,
    /// When it was decided.
    #[schemars(regex(pattern = crate::schema::TIME))]
    pub resolved_at: Option<String>,
}

impl Interaction {
    /// Whether somebody may still answer it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.resolved_at.is_none()
    }
}
