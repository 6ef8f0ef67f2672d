//! How many jobs may run at once, and how deep and how wide they may delegate.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;

/// A place for a job is a file, and all of them are tried in turn.
const PLACES: RangeInclusive<u32> = 1..=1000;
/// None at all is a rule that makes sense here.
const DESCENDANTS: RangeInclusive<u32> = 0..=1000;
/// A depth of 0 lets no job start another.
const DEPTH: RangeInclusive<u32> = 0..=16;

/// `[limits]` in the user's `config.toml`: what runs at the same time. A job beyond it waits, where
/// the caps of a budget refuse.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Jobs that run at the same time.
    pub max_jobs: u32,
    /// Jobs of one backend that run at the same time, where `backend` names no number for it.
    pub max_jobs_per_backend: u32,
    /// The same for single backends, by id.
    pub backend: BTreeMap<String, u32>,
    /// How many dcli workers may stand above a run.
    pub max_depth: u32,
    /// Live jobs below one root job.
    pub max_descendants: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_jobs: 5,
            max_jobs_per_backend: 3,
            backend: BTreeMap::new(),
            max_depth: 1,
            max_descendants: 16,
        }
    }
}

impl Limits {
    /// Jobs of the backend `id` that run at the same time; never more than jobs in all.
    #[must_use]
    pub fn of_backend(&self, id: &str) -> u32 {
        let own = self.backend.get(id).copied().unwrap_or(self.max_jobs_per_backend);
        own.min(self.max_jobs)
    }

    /// With no more jobs in all than `max_jobs`.
    #[must_use]
    pub fn with_at_most(self, max_jobs: Option<u32>) -> Self {
        let max_jobs = max_jobs.map_or(self.max_jobs, |most| most.min(self.max_jobs));
        Self { max_jobs, ..self }
    }

    /// # Errors
    /// The first key that is out of its range, with the range.
    pub(super) fn check(&self) -> Result<(), String> {
        within("limits.max_jobs", self.max_jobs, &PLACES)?;
        within("limits.max_jobs_per_backend", self.max_jobs_per_backend, &PLACES)?;
        within("limits.max_depth", self.max_depth, &DEPTH)?;
        within("limits.max_descendants", self.max_descendants, &DESCENDANTS)?;
        let mut backends = self.backend.iter();
        backends.try_for_each(|(id, most)| within(&format!("limits.backend.{id}"), *most, &PLACES))
    }
}

/// The number of places that a policy allows, whatever kind of number was written.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast saturates, and what is no whole number in range is refused"
)]
pub(super) fn places(key: &str, written: Option<f64>) -> Result<Option<u32>, String> {
    let Some(written) = written else { return Ok(None) };
    let most = written as u32;
    let exact = if f64::from(most) == written { most } else { 0 };
    within(key, exact, &PLACES).map(|()| Some(exact))
}

fn within(key: &str, number: u32, range: &RangeInclusive<u32>) -> Result<(), String> {
    if range.contains(&number) {
        return Ok(());
    }
    Err(format!("{key} must be a whole number from {} to {}", range.start(), range.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Limits {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_backend_has_its_own_number_else_the_common_one_and_never_more_than_all() {
        let limits = limits("max_jobs = 4\n[backend]\ncodex = 2\nclaude = 9");
        assert_eq!(limits.of_backend("codex"), 2);
        assert_eq!(limits.of_backend("opencode"), 3);
        assert_eq!(limits.of_backend("claude"), 4);
        assert_eq!(limits.with_at_most(Some(1)).of_backend("claude"), 1);
    }

    #[test]
    fn a_policy_lowers_the_number_of_jobs_and_never_raises_it() {
        for (most, jobs) in [(None, 5), (Some(2), 2), (Some(9), 5)] {
            assert_eq!(Limits::default().with_at_most(most).max_jobs, jobs);
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused_by_its_key() {
        let bad = [
            ("max_jobs = 0", "limits.max_jobs "),
            ("max_jobs_per_backend = 1001", "limits.max_jobs_per_backend "),
            ("max_depth = 17", "limits.max_depth "),
            ("max_descendants = 1001", "limits.max_descendants "),
            ("backend = { codex = 0 }", "limits.backend.codex "),
        ];
        for (text, key) in bad {
            assert!(limits(text).check().unwrap_err().starts_with(key), "{text}");
        }
        assert_eq!(limits("max_depth = 0\nmax_descendants = 0").check(), Ok(()));
        for text in ["max_jobs = 1.5", "max_jobs = -1", "max_depth = nan", "jobs = 1"] {
            assert!(toml::from_str::<Limits>(text).is_err(), "{text}");
        }
    }
}
