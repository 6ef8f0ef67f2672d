//! Configuration: the user's file and records, and where the project's policy is.

mod interactions;
mod limits;
mod policy;
mod report;
mod user;

use std::io;
use std::path::{Path, PathBuf};

use dcli_core::executor::{Catalogue, RecordError, Source};
use thiserror::Error;

pub use interactions::Interactions;
pub use limits::Limits;
pub use policy::Policy;
pub use report::report;
pub use user::User;

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

/// Reads the user's file; one that is not there says nothing.
///
/// # Errors
/// It is there and cannot be used.
pub fn user() -> Result<User, ConfigError> {
    let Some(path) = user_file() else { return Ok(User::default()) };
    let Some(text) = read(&path)? else { return Ok(User::default()) };
    User::from_toml(&text, &path).map_err(|message| ConfigError::Invalid { path, message })
}

fn user_file() -> Option<PathBuf> {
    layout::configuration().map(|directory| directory.join("config.toml"))
}

/// The state root must lie outside the working tree that `directory` is in.
///
/// # Errors
/// It lies inside.
pub fn state_outside(directory: &Path) -> Result<(), ConfigError> {
    layout::state_root_inside(directory)
        .map_or(Ok(()), |path| Err(ConfigError::StateInside { path }))
}

/// Reads the policies of the project that `directory` lies in: every `.dcli/policy.json` from there
/// upwards. One further in can only tighten what those around it say.
///
/// # Errors
/// One is there and cannot be used.
pub fn policy(directory: &Path) -> Result<Policy, ConfigError> {
    policies(directory)?.into_iter().try_fold(Policy::default(), |inner, (path, text)| {
        let outer = Policy::from_json(&text, &path)
            .map_err(|message| ConfigError::Invalid { path, message })?;
        Ok(inner.tightened_by(outer))
    })
}

/// Every policy file from `directory` upwards, the innermost first.
fn policies(directory: &Path) -> Result<Vec<(PathBuf, String)>, ConfigError> {
    let paths = directory.ancestors().map(|ancestor| ancestor.join(".dcli/policy.json"));
    let texts = paths.map(|path| Ok(read(&path)?.map(|text| (path, text))));
    texts.filter_map(Result::transpose).collect()
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
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no such file");
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
