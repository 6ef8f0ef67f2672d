//! The configuration in force in a directory, each setting with what set it.

use std::path::{Path, PathBuf};

use dcli_core::gate::Rule;
use dcli_core::setting::{ConfigReport, Place, SCHEMA_VERSION, SetBy, Setting};
use serde_json::{Value, json};

use super::{ConfigError, Policy, User, policies, policy, read, user, user_file};
use crate::store::layout;

/// What holds in `directory`. No value of a variable is shown but paths.
///
/// # Errors
/// A file is there and cannot be used.
pub fn report(directory: &Path) -> Result<ConfigReport, ConfigError> {
    let (user, policy) = (user()?, policy(directory)?);
    let written = Written::read(directory)?;
    let (here, elsewhere) = (values(&user, &policy), values(&user, &Policy::default()));
    let settings = here.into_iter().zip(elsewhere);
    let mut settings: Vec<Setting> = settings
        .map(|((key, value), (_, elsewhere))| written.setting(key, value, &elsewhere))
        .collect();
    settings.sort_by(|one, next| one.key.cmp(&next.key));
    Ok(ConfigReport {
        schema_version: SCHEMA_VERSION,
        directory: directory.display().to_string(),
        places: places(&written),
        settings,
    })
}

/// Every setting that holds under `policy`.
fn values(user: &User, policy: &Policy) -> Vec<(String, Value)> {
    let budget = policy.budget(user);
    let caps = Rule::TABLE.iter().map(|(rule, name, ..)| {
        let cap = budget.limit(*rule).map(dcli_core::gate::Limit::number);
        (format!("caps.{name}"), cap.map_or(Value::Null, number))
    });
    let limits = policy.limits(user);
    let backends = limits
        .backend
        .keys()
        .map(|id| (format!("limits.backend.{id}"), Value::from(limits.of_backend(id))));
    let answers = policy.interactions(user);
    let time = |limit: Option<f64>| limit.map_or(Value::Null, number);
    let single = [
        ("allowed_backends", json!(allowed(user, policy))),
        ("executor", policy.choose(user, None).executor_id.into()),
        ("hard_timeout_sec", time(policy.hard_timeout_sec)),
        ("idle_timeout_sec", time(policy.idle_timeout_sec)),
        ("interactions.allow", json!(answers.allow)),
        ("interactions.ask", json!(answers.ask)),
        ("interactions.attended_sec", time(answers.attended_sec)),
        ("interactions.deny", json!(answers.deny)),
        ("limits.max_depth", limits.max_depth.into()),
        ("limits.max_descendants", limits.max_descendants.into()),
        ("limits.max_jobs", limits.max_jobs.into()),
        ("limits.max_jobs_per_backend", limits.max_jobs_per_backend.into()),
        ("read_only", policy.read_only.into()),
        ("startup_timeout_sec", time(policy.startup_timeout_sec)),
    ];
    let single = single.into_iter().map(|(key, value)| (key.to_owned(), value));
    single.chain(caps).chain(backends).collect()
}

/// The backends that both allow; `None` where neither says anything.
fn allowed(user: &User, policy: &Policy) -> Option<Vec<String>> {
    match (&user.allowed_backends, &policy.allowed_backends) {
        (Some(users), Some(projects)) => {
            Some(users.iter().filter(|id| projects.contains(id)).cloned().collect())
        }
        (one, other) => one.clone().or_else(|| other.clone()),
    }
}

/// A whole number as one, as it was written most likely.
fn number(number: f64) -> Value {
    let text = format!("{number}");
    text.parse::<u64>().map_or_else(|_| number.into(), Value::from)
}

/// The files as they are written: which keys each of them has.
struct Written {
    user: Option<(String, toml::Table)>,
    policies: Vec<(PathBuf, Value)>,
}

impl Written {
    fn read(directory: &Path) -> Result<Self, ConfigError> {
        let path = user_file();
        let text = path.as_deref().map(read).transpose()?.flatten();
        let user = path.zip(text).map(|(path, text)| {
            // It was read once already, as what it must be.
            (path.display().to_string(), text.parse().unwrap_or_default())
        });
        let policies = policies(directory)?
            .into_iter()
            .map(|(path, text)| (path, serde_json::from_str(&text).unwrap_or_default()));
        Ok(Self { user, policies: policies.collect() })
    }

    fn setting(&self, key: String, value: Value, elsewhere: &Value) -> Setting {
        let projects = self.policies_with(&key);
        let users = self.user_with(&key);
        let (set_by, set_in) = match (projects.is_empty(), users) {
            // Rules of both hold side by side.
            (false, users) if value != *elsewhere && key.starts_with("interactions.") => {
                (SetBy::Project, projects.into_iter().chain(users).collect())
            }
            (false, _) if value != *elsewhere => (SetBy::Project, projects),
            (_, Some(file)) => (SetBy::User, vec![file]),
            (_, None) => (SetBy::Default, Vec::new()),
        };
        Setting { key, value, set_by, set_in }
    }

    fn user_with(&self, key: &str) -> Option<String> {
        let (path, table) = self.user.as_ref()?;
        let mut parts = key.split('.');
        let first = table.get(parts.next()?)?;
        parts.try_fold(first, |inner, part| inner.get(part)).map(|_| path.clone())
    }

    /// A policy has no tables below `delegation`, and its own word for the executor.
    fn policies_with(&self, key: &str) -> Vec<String> {
        let own = match key {
            "executor" => "default_backend",
            key if key.starts_with("limits.backend.") => "max_jobs",
            key => key.rsplit('.').next().unwrap_or(key),
        };
        let holds = |policy: &Value| !policy["delegation"][own].is_null();
        let found = self.policies.iter().filter(|(_, policy)| holds(policy));
        found.map(|(path, _)| path.display().to_string()).collect()
    }
}

fn places(written: &Written) -> Vec<Place> {
    let state = layout::state_root().ok();
    let configuration = layout::configuration();
    let below = |name: &str| configuration.as_ref().map(|directory| directory.join(name));
    let state_in = variable(&["DCLI_STATE_ROOT", "XDG_STATE_HOME"]);
    let configuration_in = variable(&["XDG_CONFIG_HOME"]);
    let users = [
        place("state root", state, state_in),
        place("configuration", below(""), configuration_in),
        place("settings", below("config.toml"), configuration_in),
        place("records", below("executors"), configuration_in),
    ];
    let policy = |(path, _): &(PathBuf, Value)| Place {
        set_by: SetBy::Project,
        ..place("policy", Some(path.clone()), None)
    };
    users.into_iter().chain(written.policies.iter().map(policy)).collect()
}

/// The first of these variables that names a directory.
fn variable(names: &[&'static str]) -> Option<&'static str> {
    let is_set = |name: &&&str| {
        std::env::var_os(name).map(PathBuf::from).is_some_and(|path| path.is_absolute())
    };
    names.iter().find(is_set).copied()
}

fn place(what: &str, path: Option<PathBuf>, set_in: Option<&str>) -> Place {
    Place {
        what: what.to_owned(),
        exists: path.as_ref().is_some_and(|path| path.exists()),
        path: path.map(|path| path.display().to_string().trim_end_matches('/').to_owned()),
        set_by: if set_in.is_some() { SetBy::Environment } else { SetBy::Default },
        set_in: set_in.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_whole() {
        assert_eq!(number(5e6).to_string(), "5000000");
        assert_eq!(number(0.5).to_string(), "0.5");
        assert!(number(1e30).is_f64());
    }

    #[test]
    fn every_setting_says_who_decided() {
        let written = Written {
            user: Some(("U".into(), "executor = 'x'\n[limits]\nmax_jobs = 5".parse().unwrap())),
            policies: vec![("P".into(), json!({"delegation": {"max_jobs": 9}}))],
        };
        let set_by = |key: &str, here: i32, elsewhere: i32| {
            let setting = written.setting(key.into(), here.into(), &elsewhere.into());
            (setting.set_by, setting.set_in)
        };
        assert_eq!(set_by("limits.max_jobs", 5, 5), (SetBy::User, vec!["U".to_owned()]));
        assert_eq!(set_by("limits.max_jobs", 4, 5), (SetBy::Project, vec!["P".to_owned()]));
        assert_eq!(set_by("limits.max_depth", 1, 1), (SetBy::Default, vec![]));
        assert_eq!(set_by("executor", 1, 1), (SetBy::User, vec!["U".to_owned()]));
    }
}
