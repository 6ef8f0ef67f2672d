//! Configuration: the user's file and records, and the project's policy, which can only tighten.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dcli_core::executor::access::Access;
use dcli_core::executor::{Catalogue, RecordError, Source};
use dcli_core::gate::{Choice, Preferences};
use serde::Deserialize;
use thiserror::Error;

use crate::store::{layout, regular};

/// The executor where nobody names one.
pub const DEFAULT_EXECUTOR: &str = "claude";

/// Something in a configuration file cannot be used. Nothing was started.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds what it must not; the parser names the key and the line.
    #[error("{path}: {message}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The parser's words.
        message: String,
    },
    /// The state root lies in the working tree.
    #[error("DCLI_STATE_ROOT {path} lies in the working tree; name a place outside", path = path.display())]
    StateInside {
        /// The state root.
        path: PathBuf,
    },
    /// A record is invalid.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// The user's `config.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The executor to use where the invocation names none.
    pub executor: Option<String>,
    /// The backends that may be used at all; absent: every one.
    pub allowed_backends: Option<Vec<String>>,
}

impl User {
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

/// Reads the user's file; one that is not there says nothing.
///
/// # Errors
/// It is there and cannot be used.
pub fn user() -> Result<User, ConfigError> {
    let Some(path) = layout::configuration().map(|directory| directory.join("config.toml")) else {
        return Ok(User::default());
    };
    let Some(text) = read(&path)? else { return Ok(User::default()) };
    toml::from_str(&text).map_err(|error| ConfigError::Invalid {
        path,
        message: error.to_string().trim().to_owned(),
    })
}

/// The state root must lie outside the working tree that `directory` is in.
///
/// # Errors
/// It lies inside.
pub fn state_outside(directory: &Path) -> Result<(), ConfigError> {
    layout::state_root_inside(directory)
        .map_or(Ok(()), |path| Err(ConfigError::StateInside { path }))
}

/// Reads the policy of the project that `directory` lies in: the nearest one upwards.
///
/// # Errors
/// It is there and cannot be used.
pub fn policy(directory: &Path) -> Result<Policy, ConfigError> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(".dcli/policy.json");
        if let Some(text) = read(&path)? {
            let file: PolicyFile = serde_json::from_str(&text).map_err(|error| {
                ConfigError::Invalid { path: path.clone(), message: error.to_string() }
            })?;
            file.delegation.check().map_err(|message| ConfigError::Invalid { path, message })?;
            return Ok(file.delegation);
        }
    }
    Ok(Policy::default())
}

/// The shipped records and the user's: `executors/*.toml` beside `config.toml`. A repository never
/// supplies one.
///
/// # Errors
/// A record is invalid. Nothing is run then: it may be meant to take the place of a shipped one.
pub fn catalogue() -> Result<Catalogue, ConfigError> {
    let (catalogue, refused) = catalogue_with_refused()?;
    match refused.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(catalogue),
    }
}

/// The valid records, and the files of the user's that are refused, each with its reason.
///
/// # Errors
/// The directory cannot be read, or a shipped record is invalid.
pub fn catalogue_with_refused() -> Result<(Catalogue, Vec<(PathBuf, ConfigError)>), ConfigError> {
    let (mut catalogue, mut refused) = (Catalogue::shipped()?, Vec::new());
    let Some(directory) = layout::configuration().map(|base| base.join("executors")) else {
        return Ok((catalogue, refused));
    };
    for path in toml_files(&directory)? {
        if let Err(error) = add(&mut catalogue, &path, Source::User) {
            refused.push((path, error));
        }
    }
    Ok((catalogue, refused))
}

/// Adds the record in `path`.
///
/// # Errors
/// The file cannot be read or the record is invalid.
pub fn add(catalogue: &mut Catalogue, path: &Path, source: Source) -> Result<String, ConfigError> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let text = read(path)?.ok_or_else(|| unreadable(missing()))?;
    let origin = path.display().to_string();
    catalogue.add(&text, source, &origin)?;
    let added = catalogue.iter().find(|executor| executor.origin == origin);
    Ok(added.map(|executor| executor.record.id.clone()).unwrap_or_default())
}

fn toml_files(directory: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: directory.to_owned(), source };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        other => other.map_err(unreadable)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match regular::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Policy {
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
        let error = serde_json::from_str::<PolicyFile>(text).err().unwrap().to_string();
        assert!(error.contains("max_jobs"), "{error}");
    }
}
