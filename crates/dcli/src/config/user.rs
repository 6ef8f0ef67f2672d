//! The user's `config.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use dcli_core::gate::{Budget, Rule};
use serde::Deserialize;

use super::{Interactions, Limits};

/// The user's `config.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct User {
    /// The executor to use where the invocation names none.
    pub executor: Option<String>,
    /// The backends that may be used at all; absent: every one.
    pub allowed_backends: Option<Vec<String>>,
    /// `[caps]`: what all runs of a day, and of a group, may take.
    pub budget: Budget,
    /// `[limits]`: what runs at the same time.
    pub limits: Limits,
    /// `[interactions]`: what answers by itself, and how long somebody is waited for.
    pub interactions: Interactions,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserFile {
    executor: Option<String>,
    allowed_backends: Option<Vec<String>>,
    #[serde(default)]
    caps: BTreeMap<Rule, f64>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    interactions: Interactions,
}

impl User {
    /// Reads the file at `path`, which holds `text`.
    ///
    /// # Errors
    /// What it must not hold, in words that name the key.
    pub(super) fn from_toml(text: &str, path: &Path) -> Result<Self, String> {
        let file: UserFile =
            toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
        file.limits.check()?;
        file.interactions.check()?;
        let set_in = path.display().to_string();
        let budget = file
            .caps
            .iter()
            .map(|(rule, number)| (*rule, *number))
            .try_fold(Budget::default(), |budget, (rule, number)| {
                budget.with(rule, number, &set_in)
            })
            .map_err(|error| format!("caps.{error}"))?;
        let UserFile { executor, allowed_backends, limits, interactions, .. } = file;
        Ok(Self { executor, allowed_backends, budget, limits, interactions })
    }

    /// Whether the user's file allows `id`.
    ///
    /// # Errors
    /// The sentence to tell the caller.
    pub fn allow(&self, id: &str) -> Result<(), String> {
        match &self.allowed_backends {
            Some(allowed) if !allowed.iter().any(|name| name == id) => {
                let list = allowed.join(", ");
                Err(format!(
                    "the user's configuration does not allow backend {id}; allowed: {list}"
                ))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Result<User, String> {
        User::from_toml(text, Path::new("/home/me/config.toml"))
    }

    #[test]
    fn caps_and_limits_are_read_with_the_file_that_set_them() {
        let text = "[caps]\nmax_tokens_per_day = 5e6\nmax_invocations_per_group = 40\n\
                    [limits]\nmax_jobs = 8\n[limits.backend]\ncodex = 2";
        let user = user(text).unwrap();
        let limit = user.budget.limit(Rule::MaxTokensPerDay).unwrap();
        assert_eq!((limit.number(), limit.set_in()), (5e6, "/home/me/config.toml"));
        assert_eq!(user.budget.limit(Rule::MaxInvocationsPerGroup).unwrap().number(), 40.0);
        assert_eq!((user.limits.max_jobs, user.limits.of_backend("codex")), (8, 2));
        assert_eq!(self::user("").unwrap(), User::default());
    }

    #[test]
    fn what_is_no_cap_is_refused_by_its_key() {
        for bad in ["nan", "inf", "-inf", "-1", "\"3\"", "1.5"] {
            let error = user(&format!("[caps]\nmax_invocations_per_day = {bad}")).unwrap_err();
            assert!(error.contains("max_invocations_per_day"), "{error}");
        }
        let error = user("[caps]\nmax_cost = 1").unwrap_err();
        assert!(error.contains("max_cost") && error.contains("max_concurrent"), "{error}");
    }
}
