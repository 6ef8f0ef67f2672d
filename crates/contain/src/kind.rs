//! The rungs of containment by name, ordered by strength, and what a caller may demand of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One way to hold a process tree. `Ord` is strength: a greater kind guarantees more.
///
/// The serialised names are those of the contract (§8) and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing for descendants: only the leader is ended.
    None,
    /// Windows: best effort over an enumerated set of processes.
    TaskkillTree,
    /// Unix: the group dies; descendants that left it are looked for.
    ProcessGroup,
    /// Linux: a subreaper with a lifeline kills until no descendant is left.
    Guardian,
    /// Windows: the kernel ends the tree when the job's last handle closes.
    JobObject,
    /// Linux: the kernel ends the whole tree together with its init.
    PidNamespace,
}

impl Kind {
    /// Every kind, the strongest first.
    pub const ALL: [Self; 6] = [
        Self::PidNamespace,
        Self::JobObject,
        Self::Guardian,
        Self::ProcessGroup,
        Self::TaskkillTree,
        Self::None,
    ];

    /// The name used on the command line and in every stored record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::TaskkillTree => "taskkill-tree",
            Self::ProcessGroup => "process-group",
            Self::Guardian => "guardian",
            Self::JobObject => "job-object",
            Self::PidNamespace => "pid-namespace",
        }
    }

    /// Whether a run under this kind lacks the kernel's own guarantee and must be recorded as degraded.
    #[must_use]
    pub fn is_degraded(self) -> bool {
        self < Self::JobObject
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no containment kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown containment kind {0:?}; known: {known}", known = known_names())]
pub struct UnknownKind(pub String);

fn known_names() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// What a caller demands: `K` is exactly K, `K+` is K or better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requirement {
    /// The strongest rung this host gives, never [`Kind::None`].
    #[default]
    BestAvailable,
    /// This kind and no other.
    Exactly(Kind),
    /// The strongest available, at least this kind.
    AtLeast(Kind),
}

impl FromStr for Requirement {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        match text.strip_suffix('+') {
            Some(name) => name.parse().map(Self::AtLeast),
            None => text.parse().map(Self::Exactly),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BestAvailable => f.write_str("the best available"),
            Self::Exactly(kind) => write!(f, "{kind}"),
            Self::AtLeast(kind) => write!(f, "{kind}+"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_serves_the_command_line_the_display_and_the_records() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
            assert_eq!(kind.name().parse(), Ok(Requirement::Exactly(kind)));
            let at_least = Requirement::AtLeast(kind);
            assert_eq!(at_least.to_string().parse(), Ok(at_least));
        }
    }

    #[test]
    fn every_kind_is_listed_once_the_strongest_first() {
        assert!(Kind::ALL.is_sorted_by(|stronger, weaker| stronger > weaker));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "cgroup".parse::<Kind>().unwrap_err().to_string();
        assert!(error.starts_with("unknown containment kind \"cgroup\"; known: pid-namespace, "));
    }
}
