//! What this host gives: one rung per kind with the reason where it is missing, and the choice made from them.

use std::fmt;

use crate::kind::{Kind, Requirement};

/// One kind on this host: usable, or the reason why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// Which kind.
    pub kind: Kind,
    /// `Err` holds why this host does not give it, as one lower-case sentence fragment.
    pub available: Result<(), String>,
}

/// Every rung of this host, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// One entry for each [`Kind`], the strongest first.
    pub rungs: Vec<Rung>,
}

/// A rung chosen for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The kind to start with.
    pub kind: Kind,
    /// Weaker than the kernel's own guarantee: to be recorded, with a warning.
    pub degraded: bool,
}

/// A demand that this host cannot meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Unmet {
    /// What was demanded.
    pub wanted: Requirement,
    /// The kinds that would have met it, each with why it is missing.
    pub reasons: Vec<(Kind, String)>,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "containment {} is not available on this host", self.wanted)?;
        for (index, (kind, reason)) in self.reasons.iter().enumerate() {
            write!(f, "{}{kind}: {reason}", if index == 0 { " (" } else { "; " })?;
        }
        f.write_str(if self.reasons.is_empty() { "" } else { ")" })
    }
}

impl Support {
    /// The strongest available kind; [`Kind::None`] if nothing else is.
    #[must_use]
    pub fn best(&self) -> Kind {
        self.available().next().unwrap_or(Kind::None)
    }

    /// Why `kind` is missing, or `None` if it is available.
    #[must_use]
    pub fn reason(&self, kind: Kind) -> Option<&str> {
        match self.rungs.iter().find(|rung| rung.kind == kind) {
            Some(rung) => rung.available.as_ref().err().map(String::as_str),
            None => Some("not probed"),
        }
    }

    /// The kind to use for `requirement`. Never lowers silently: what is weaker than the kernel's
    /// guarantee comes back as degraded, and `none` only when it was named.
    ///
    /// # Errors
    /// [`Unmet`] if no available kind satisfies the demand.
    pub fn choose(&self, requirement: &Requirement) -> Result<Choice, Unmet> {
        let fits = |kind: &Kind| match requirement {
            Requirement::BestAvailable => *kind > Kind::None,
            Requirement::Exactly(wanted) => kind == wanted,
            Requirement::AtLeast(wanted) => kind >= wanted,
        };
        match self.available().find(fits) {
            Some(kind) => Ok(Choice { kind, degraded: kind.is_degraded() }),
            None => Err(Unmet { wanted: *requirement, reasons: self.missing(fits) }),
        }
    }

    fn available(&self) -> impl Iterator<Item = Kind> {
        self.rungs.iter().filter(|rung| rung.available.is_ok()).map(|rung| rung.kind)
    }

    fn missing(&self, fits: impl Fn(&Kind) -> bool) -> Vec<(Kind, String)> {
        self.rungs
            .iter()
            .filter(|rung| fits(&rung.kind))
            .filter_map(|rung| Some((rung.kind, rung.available.clone().err()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(available: &[Kind]) -> Support {
        let rung = |kind| Rung {
            kind,
            available: if available.contains(&kind) { Ok(()) } else { Err("refused".to_owned()) },
        };
        Support { rungs: Kind::ALL.map(rung).into() }
    }

    fn choose(available: &[Kind], requirement: &str) -> Result<Choice, String> {
        let requirement = requirement.parse().unwrap_or_default();
        support(available).choose(&requirement).map_err(|unmet| unmet.to_string())
    }

    const DEGRADED: bool = true;

    #[test]
    fn the_best_available_is_chosen_and_never_none() {
        let chosen = |kind, degraded| Ok(Choice { kind, degraded });
        let all = [Kind::PidNamespace, Kind::Guardian, Kind::ProcessGroup, Kind::None];
        assert_eq!(choose(&all, ""), chosen(Kind::PidNamespace, !DEGRADED));
        assert_eq!(choose(&all[1..], ""), chosen(Kind::Guardian, DEGRADED));
        assert_eq!(choose(&all[2..], ""), chosen(Kind::ProcessGroup, DEGRADED));
        assert!(choose(&all[3..], "").is_err());
        assert_eq!(choose(&all[3..], "none"), chosen(Kind::None, DEGRADED));
        assert_eq!(choose(&[Kind::JobObject], ""), chosen(Kind::JobObject, !DEGRADED));
    }

    #[test]
    fn exactly_and_at_least_are_kept_to() {
        let all = [Kind::PidNamespace, Kind::Guardian, Kind::ProcessGroup, Kind::None];
        assert_eq!(choose(&all, "guardian").map(|choice| choice.kind), Ok(Kind::Guardian));
        assert_eq!(choose(&all, "guardian+").map(|choice| choice.kind), Ok(Kind::PidNamespace));
        assert_eq!(
            choose(&all[2..], "guardian+"),
            Err("containment guardian+ is not available on this host \
                 (pid-namespace: refused; job-object: refused; guardian: refused)"
                .to_owned())
        );
        assert_eq!(
            choose(&all[1..], "pid-namespace"),
            Err("containment pid-namespace is not available on this host (pid-namespace: refused)"
                .to_owned())
        );
    }
}
