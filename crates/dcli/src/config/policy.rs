//! The project's policy, which can only tighten.

use std::path::Path;
use std::time::Duration;

use dcli_core::executor::access::Access;
use dcli_core::gate::{Budget, Choice, Preferences, Rule};
use dcli_core::interaction::Rule as Permission;
use serde::Deserialize;

use super::interactions::add;
use super::{DEFAULT_EXECUTOR, Interactions, Limits, User, limits};

/// The project's policy: `.dcli/policy.json`, key `delegation`.
#[derive(Debug, Clone, Default, PartialEq)]
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
    pub read_only: bool,
    /// The most jobs that run at the same time.
    pub max_jobs: Option<u32>,
    /// What all runs of a day, and of a group, may take.
    pub budget: Budget,
    /// What somebody has to be asked about.
    pub ask: Vec<Permission>,
    /// What may not be done.
    pub deny: Vec<Permission>,
}

#[derive(Deserialize)]
struct PolicyFile {
    #[serde(default)]
    delegation: Delegation,
}

/// The policy as it is written. An unknown key is refused, since a rule that is not understood would
/// not be kept.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Delegation {
    allowed_backends: Option<Vec<String>>,
    default_backend: Option<String>,
    hard_timeout_sec: Option<f64>,
    idle_timeout_sec: Option<f64>,
    startup_timeout_sec: Option<f64>,
    #[serde(default)]
    read_only: bool,
    max_jobs: Option<f64>,
    max_invocations_per_day: Option<f64>,
    max_tokens_per_day: Option<f64>,
    max_concurrent: Option<f64>,
    max_invocations_per_group: Option<f64>,
    max_tokens_per_group: Option<f64>,
    #[serde(default)]
    ask: Vec<Permission>,
    #[serde(default)]
    deny: Vec<Permission>,
}

impl Delegation {
    fn budget(&self, set_in: &str) -> Result<Budget, String> {
        let given = [
            (Rule::MaxInvocationsPerDay, self.max_invocations_per_day),
            (Rule::MaxTokensPerDay, self.max_tokens_per_day),
            (Rule::MaxConcurrent, self.max_concurrent),
            (Rule::MaxInvocationsPerGroup, self.max_invocations_per_group),
            (Rule::MaxTokensPerGroup, self.max_tokens_per_group),
        ];
        let mut given = given.into_iter().filter_map(|(rule, number)| Some((rule, number?)));
        given
            .try_fold(Budget::default(), |budget, (rule, number)| budget.with(rule, number, set_in))
            .map_err(|error| format!("delegation.{error}"))
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
}

impl Policy {
    /// Reads the policy file at `path`, which holds `text`.
    ///
    /// # Errors
    /// What it must not hold, in words that name the key.
    pub(super) fn from_json(text: &str, path: &Path) -> Result<Self, String> {
        let file: PolicyFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let written = file.delegation;
        written.check()?;
        Ok(Self {
            budget: written.budget(&path.display().to_string())?,
            allowed_backends: written.allowed_backends,
            default_backend: written.default_backend,
            hard_timeout_sec: written.hard_timeout_sec,
            idle_timeout_sec: written.idle_timeout_sec,
            startup_timeout_sec: written.startup_timeout_sec,
            read_only: written.read_only,
            max_jobs: limits::places("delegation.max_jobs", written.max_jobs)?,
            ask: written.ask,
            deny: written.deny,
        })
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
        let both = |mut inner: Vec<Permission>, outer: &[Permission]| {
            add(&mut inner, outer);
            inner
        };
        Self {
            ask: both(self.ask, &outer.ask),
            deny: both(self.deny, &outer.deny),
            allowed_backends,
            default_backend: self.default_backend.or(outer.default_backend),
            hard_timeout_sec: stricter(self.hard_timeout_sec, outer.hard_timeout_sec),
            idle_timeout_sec: stricter(self.idle_timeout_sec, outer.idle_timeout_sec),
            startup_timeout_sec: stricter(self.startup_timeout_sec, outer.startup_timeout_sec),
            read_only: self.read_only || outer.read_only,
            max_jobs: match (self.max_jobs, outer.max_jobs) {
                (Some(inner), Some(outer)) => Some(inner.min(outer)),
                (inner, outer) => inner.or(outer),
            },
            budget: self.budget.tightened_by(outer.budget),
        }
    }

    /// What runs may take here: the user's caps, tightened.
    #[must_use]
    pub fn budget(&self, user: &User) -> Budget {
        user.budget.clone().tightened_by(self.budget.clone())
    }

    /// What runs at the same time here: the user's limits, tightened.
    #[must_use]
    pub fn limits(&self, user: &User) -> Limits {
        user.limits.clone().with_at_most(self.max_jobs)
    }

    /// Whether it denies or asks anything.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.ask.is_empty() || !self.deny.is_empty()
    }

    /// What answers by itself here, and how long somebody is waited for: the user's word, tightened.
    #[must_use]
    pub fn interactions(&self, user: &User) -> Interactions {
        user.interactions.clone().tightened_by(&self.ask, &self.deny)
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

    fn policy(text: &str) -> Result<Policy, String> {
        Policy::from_json(text, Path::new("/p/.dcli/policy.json"))
    }

    #[test]
    fn an_unknown_policy_key_is_refused_by_name() {
        let error = policy(r#"{"delegation": {"min_jobs": 3}}"#).unwrap_err();
        assert!(error.contains("min_jobs"), "{error}");
    }

    #[test]
    fn a_policy_further_in_loosens_nothing() {
        let outer = policy(
            r#"{"delegation": {"allowed_backends": ["codex"], "read_only": true, "max_jobs": 2,
                "hard_timeout_sec": 10, "default_backend": "codex", "max_concurrent": 1}}"#,
        );
        let inner = policy(
            r#"{"delegation": {"allowed_backends": ["codex", "claude"], "read_only": false,
                "hard_timeout_sec": 99, "idle_timeout_sec": 5, "max_concurrent": 4}}"#,
        );
        let both = inner.unwrap().tightened_by(outer.unwrap());
        assert!(both.allow("claude", Access::ReadOnly).is_err());
        assert!(both.allow("codex", Access::Workspace).is_err());
        assert_eq!((both.hard_timeout_sec, both.idle_timeout_sec), (Some(10.0), Some(5.0)));
        assert_eq!(both.default_backend.as_deref(), Some("codex"));
        assert_eq!((both.max_jobs, limit(&both.budget, Rule::MaxConcurrent)), (Some(2), Some(1.0)));
    }

    fn limit(budget: &Budget, rule: Rule) -> Option<f64> {
        budget.limit(rule).map(dcli_core::gate::Limit::number)
    }

    #[test]
    fn a_policy_lowers_the_users_caps_and_limits_and_raises_none() {
        let user = User::from_toml("[caps]\nmax_tokens_per_day = 50", Path::new("c")).unwrap();
        for (tokens, rest) in [(40.0, 40.0), (60.0, 50.0)] {
            let text = format!(
                r#"{{"delegation": {{"max_tokens_per_day": {tokens}, "max_jobs": 3,
                    "max_tokens_per_group": 7}}}}"#
            );
            let policy = policy(&text).unwrap();
            let budget = policy.budget(&user);
            assert_eq!(limit(&budget, Rule::MaxTokensPerDay), Some(rest));
            assert_eq!(limit(&budget, Rule::MaxTokensPerGroup), Some(7.0));
            assert_eq!(policy.limits(&user).max_jobs, 3);
        }
    }

    #[test]
    fn a_policy_asks_and_denies_more_and_allows_nothing() {
        let user = User::from_toml(
            "[interactions]\nallow = ['bash']\ndeny = ['webfetch']",
            Path::new("c"),
        );
        let inner = policy(r#"{"delegation": {"deny": ["bash:rm *"]}}"#).unwrap();
        let outer = policy(r#"{"delegation": {"ask": ["edit"], "deny": ["bash:rm *"]}}"#).unwrap();
        let both = inner.tightened_by(outer).interactions(&user.unwrap());
        let shown =
            |rules: &[Permission]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(&both.allow), ["bash"]);
        assert_eq!(shown(&both.ask), ["edit"]);
        assert_eq!(shown(&both.deny), ["webfetch", "bash:rm *"]);
        assert!(policy(r#"{"delegation": {"allow": ["bash"]}}"#).unwrap_err().contains("allow"));
        assert!(policy(r#"{"delegation": {"deny": ["rm -rf"]}}"#).unwrap_err().contains("NAME"));
    }

    #[test]
    fn what_is_no_cap_is_refused_by_its_key() {
        let keys =
            ["max_jobs", "max_concurrent", "max_tokens_per_day", "max_invocations_per_group"];
        for key in keys {
            let error = policy(&format!(r#"{{"delegation": {{"{key}": -1}}}}"#)).unwrap_err();
            assert!(error.starts_with(&format!("delegation.{key} must be")), "{error}");
        }
        let error = policy(r#"{"delegation": {"max_concurrent": 1.5}}"#).unwrap_err();
        assert_eq!(error, "delegation.max_concurrent must be a whole number");
    }
}
