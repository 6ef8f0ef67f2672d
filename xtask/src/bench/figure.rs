//! One measured figure with all that it takes to judge it.

use std::fmt;

use super::sample::Sample;

/// What was asked of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Reported, nothing asked.
    None,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// What was measured.
    pub what: String,
    /// How, as it could be typed; capital words stand for files.
    pub command: String,
    pub unit: &'static str,
    pub sample: Sample,
    pub target: Target,
}

impl Figure {
    pub(super) fn is_missed(&self) -> bool {
        match self.target {
            Target::AtMost(most) => self.sample.median() > most,
            Target::AtLeast(least) => self.sample.median() < least,
            Target::None => false,
        }
    }

    /// A row of the table in docs/.
    pub(super) fn row(&self) -> String {
        let unit = self.unit;
        let number = |value: f64| format!("{value:.1}");
        let met = match (self.target, self.is_missed()) {
            (Target::None, _) => "–",
            (_, false) => "yes",
            (_, true) => "**no**",
        };
        format!(
            "| {} | `{}` | {} | {} {unit} | {} | {} | {} | {met} |",
            self.what,
            self.command,
            self.sample.count(),
            number(self.sample.median()),
            number(self.sample.percentile(90)),
            number(self.sample.spread()),
            self.target,
        )
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(out, "≤ {most}"),
            Self::AtLeast(least) => write!(out, "≥ {least}"),
            Self::None => out.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(target: Target) -> Figure {
        Figure {
            what: "a thing".into(),
            command: "do it".into(),
            unit: "ms",
            sample: Sample::of([1.0, 2.0, 9.0]),
            target,
        }
    }

    #[test]
    fn the_median_is_held_against_the_target() {
        assert!(!figure(Target::AtMost(2.0)).is_missed());
        assert!(figure(Target::AtMost(1.9)).is_missed());
        assert!(!figure(Target::AtLeast(2.0)).is_missed());
        assert!(figure(Target::AtLeast(2.1)).is_missed());
        assert!(!figure(Target::None).is_missed());
    }

    #[test]
    fn a_row_says_whether_the_target_was_met() {
        let row = figure(Target::AtMost(1.0)).row();
        assert_eq!(row, "| a thing | `do it` | 3 | 2.0 ms | 9.0 | 1.0 | ≤ 1 | **no** |");
    }
}
