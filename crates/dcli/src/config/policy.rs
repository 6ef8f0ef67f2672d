//! The project's policy, which can only tighten.

use std::time::Duration;

use dcli_core::executor::access::Access;
use dcli_core::gate::{Choice, Preferences};
use serde::Deserialize;

use super::{DEFAULT_EXECUTOR, User};

/// The project's policy: `.dcli/policy.json`, key `delegation`. An unknown key is refused, since a
/// rule that is not understood would not be kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The backends that may be used; absent: all.
    pub allowed_backends: Option<Vec<String>>,
    /// Which of them is the default.
    pub default_backend: Option<String>,
    /// The most time a run may be given, in seconds.
    pub hard_timeout_sec: Option<f64>,
    /// The most time without activity, in seconds.
    pub idle_timeout_sec: Option<f64>,
    /// The most time to the first record, in seconds.
    pub startup_timeout_sec: Option<f64>,
    /// Only read-only runs.
    #[serde(default)]
    pub read_only: bool,
}

#[derive(Deserialize)]
struct PolicyFile {
    #[serde(default)]
    delegation: Policy,
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// What it must not hold, in words that name the key.
    pub(super) fn from_json(text: &str) -> Result<Self, String> {
        let file: PolicyFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        file.delegation.check()?;
        Ok(file.delegation)
    }

    /// This policy inside a project that `outer` speaks for too: each rule is the stricter one, and
    /// the inner default stands where there is one.
    #[must_use]
    pub(super) fn tightened_by(self, outer: Self) -> Self {
        let stricter = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let allowed_backends = match (self.allowed_backends, outer.allowed_backends) {
            (Some(inner), Some(outer)) => {
                Some(inner.into_iter().filter(|id| outer.contains(id)).collect())
            }
            (inner, outer) => inner.or(outer),
        };
        Self {
            allowed_backends,
            default_backend: self.default_backend.or(outer.default_backend),
            hard_timeout_sec: stricter(self.hard_timeout_sec, outer.hard_timeout_sec),
            idle_timeout_sec: stricter(self.idle_timeout_sec, outer.idle_timeout_sec),
            startup_timeout_sec: stricter(self.startup_timeout_sec, outer.startup_timeout_sec),
            read_only: self.read_only || outer.read_only,
        }
    }

    fn check(&self) -> Result<(), String> {
        let figures = [
            ("hard_timeout_sec", self.hard_timeout_sec),
            ("idle_timeout_sec", self.idle_timeout_sec),
            ("startup_timeout_sec", self.startup_timeout_sec),
        ];
        let bad = |value: f64| !value.is_finite() || value <= 0.0 || value > 1e12;
        match figures.iter().find(|(_, value)| value.is_some_and(bad)) {
            Some((key, _)) => Err(format!("delegation.{key} must be a number above 0")),
            None => Ok(()),
        }
    }

    /// Which executor is used, and which layer said so.
    #[must_use]
    pub fn choose(&self, user: &User, invocation: Option<&str>) -> Choice {
        let project = self.default_backend.as_deref();
        let preferences = Preferences { user: user.executor.as_deref(), project, invocation };
        preferences.choose(DEFAULT_EXECUTOR)
    }

    /// Whether the policy allows `id`.
    ///
    /// # Errors
    /// The sentence to tell the caller.
    pub fn allow(&self, id: &str, access: Access) -> Result<(), String> {
        if let Some(allowed) = &self.allowed_backends
            && !allowed.iter().any(|name| name == id)
        {
            let list = allowed.join(", ");
            return Err(format!(
                "the project's policy does not allow backend {id}; allowed: {list}"
            ));
        }
        if self.read_only && access != Access::ReadOnly {
            return Err("the project's policy allows read-only access only".to_owned());
        }
        Ok(())
    }

    /// `asked`, but no more than the policy's limit.
    #[must_use]
    pub fn tighten(limit: Option<f64>, asked: Option<Duration>) -> Option<Duration> {
        let limit = limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match (limit, asked) {
            (Some(limit), Some(asked)) => Some(limit.min(asked)),
            (limit, asked) => limit.or(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_can_only_tighten_time_limits() {
        let seconds = Duration::from_secs;
        assert_eq!(Policy::tighten(Some(5.0), Some(seconds(9))), Some(seconds(5)));
        assert_eq!(Policy::tighten(Some(9.0), Some(seconds(5))), Some(seconds(5)));
        assert_eq!(Policy::tighten(Some(9.0), None), Some(seconds(9)));
        assert_eq!(Policy::tighten(None, Some(seconds(5))), Some(seconds(5)));
    }

    #[test]
    fn a_policy_forbids_backends_and_access() {
        let policy = Policy {
            allowed_backends: Some(vec!["codex".into()]),
            read_only: true,
            ..Policy::default()
        };
        assert!(policy.allow("codex", Access::ReadOnly).is_ok());
        assert!(policy.allow("claude", Access::ReadOnly).unwrap_err().contains("allowed: codex"));
        assert!(policy.allow("codex", Access::Workspace).is_err());
    }

    #[test]
    fn an_unknown_policy_key_is_refused_by_name() {
        let text = r#"{"delegation": {"max_jobs": 3}}"#;
        let error = Policy::from_json(text).unwrap_err();
        assert!(error.contains("max_jobs"), "{error}");
    }

    #[test]
    fn a_policy_further_in_loosens_nothing() {
        let policy = |text: &str| Policy::from_json(text).unwrap();
        let outer = policy(
            r#"{"delegation": {"allowed_backends": ["codex"], "read_only": true,
                "hard_timeout_sec": 10, "default_backend": "codex"}}"#,
        );
        let inner = policy(
            r#"{"delegation": {"allowed_backends": ["codex", "claude"], "read_only": false,
                "hard_timeout_sec": 99, "idle_timeout_sec": 5}}"#,
        );
        let both = inner.tightened_by(outer);
        assert!(both.allow("claude", Access::ReadOnly).is_err());
        assert!(both.allow("codex", Access::Workspace).is_err());
        assert_eq!((both.hard_timeout_sec, both.idle_timeout_sec), (Some(10.0), Some(5.0)));
        assert_eq!(both.default_backend.as_deref(), Some("codex"));
    }
}
