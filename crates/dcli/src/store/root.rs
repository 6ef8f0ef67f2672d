//! The state root: where it is, who may read it, and whether this dcli may write to it.

use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dcli_core::exit::FailureClass;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{layout, record, regular};

/// The format that this dcli writes. A root of a newer one is read and never written.
pub const FORMAT: u32 = 1;
/// Version of the shape of `format.json`.
const SCHEMA_VERSION: u32 = 1;
/// Mode bits that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why the state root cannot be used.
#[derive(Debug, Error)]
pub enum RootError {
    /// No variable says where it is.
    #[error("no state root: {0}")]
    Nowhere(io::Error),
    /// It cannot be made or written.
    #[error("state root {} cannot be written: {source}", .root.display())]
    NotWritable {
        /// The root.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could change what is in it.
    #[error("{} is not private: {reason}", .directory.display())]
    NotPrivate {
        /// The root, or a directory in it.
        directory: PathBuf,
        /// Who could.
        reason: String,
    },
    /// A newer dcli wrote it.
    #[error("state root {} has format {found}; this dcli writes format {FORMAT}", .root.display())]
    NewerFormat {
        /// The root.
        root: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It cannot be looked at.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RootError {
    /// The class that the exit code follows.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Nowhere(_) | Self::NotWritable { .. } | Self::NotPrivate { .. } => {
                FailureClass::PermissionOrSandbox
            }
            Self::NewerFormat { .. } => FailureClass::Environment,
            Self::Unreadable { .. } => FailureClass::Lock,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Nowhere(_) => "set DCLI_STATE_ROOT to an absolute path".to_owned(),
            Self::NotWritable { root, .. } => format!(
                "make {} writable for you, or set DCLI_STATE_ROOT to a directory that is",
                root.display()
            ),
            Self::NotPrivate { directory, .. } => format!(
                "own it and run chmod 700 {}, or set DCLI_STATE_ROOT to a directory of your own",
                directory.display()
            ),
            Self::NewerFormat { .. } => {
                "use the newer dcli to change it; this one can still read it".to_owned()
            }
            Self::Unreadable { path, .. } => format!("look at {}", path.display()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Format {
    schema_version: u32,
    format: u32,
}

/// A state root to read from. It need not exist: then it holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRoot {
    path: PathBuf,
    format: u32,
}

impl StateRoot {
    /// The root that the environment names, see [`layout::state_root`].
    ///
    /// # Errors
    /// There is none, it cannot be looked at, or others could change what is in it.
    pub fn open_for_reading() -> Result<Self, RootError> {
        Self::reading(layout::state_root().map_err(RootError::Nowhere)?)
    }

    /// The root that the environment names, made where it is missing.
    ///
    /// # Errors
    /// As [`StateRoot::open_for_reading`]; or it cannot be written, or has a newer format.
    pub fn open_for_writing() -> Result<WritableRoot, RootError> {
        Self::writing(layout::state_root().map_err(RootError::Nowhere)?)
    }

    /// The root at `path`, to read from.
    ///
    /// # Errors
    /// As [`StateRoot::open_for_reading`].
    pub fn reading(path: PathBuf) -> Result<Self, RootError> {
        check_private(&path)?;
        check_private(&layout::jobs(&path))?;
        let format = read_format(&layout::format(&path))?.unwrap_or(FORMAT);
        Ok(Self { path, format })
    }

    /// The root at `path`, made where it is missing.
    ///
    /// # Errors
    /// As [`StateRoot::open_for_writing`].
    pub fn writing(path: PathBuf) -> Result<WritableRoot, RootError> {
        layout::make_private(&path)
            .map_err(|source| RootError::NotWritable { root: path.clone(), source })?;
        Self::reading(path)?.writable()
    }

    /// This root, if this dcli may write to it.
    ///
    /// # Errors
    /// It cannot be written, or has a newer format.
    pub fn writable(self) -> Result<WritableRoot, RootError> {
        if self.format > FORMAT {
            return Err(RootError::NewerFormat { found: self.format, root: self.path });
        }
        let claimed = may_write(&self.path).and_then(|()| claim_format(&self.path));
        match claimed {
            Ok(()) => Ok(WritableRoot(self)),
            Err(source) => Err(RootError::NotWritable { root: self.path, source }),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format; [`FORMAT`] where nothing says so yet.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }
}

/// A state root that this dcli may write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritableRoot(StateRoot);

impl Deref for WritableRoot {
    type Target = StateRoot;

    fn deref(&self) -> &StateRoot {
        &self.0
    }
}

/// A read-only mount, and a directory of somebody else's, without making a file to find out.
fn may_write(root: &Path) -> io::Result<()> {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    Ok(accessat(CWD, root, wanted, AtFlags::EACCESS)?)
}

fn claim_format(root: &Path) -> io::Result<()> {
    let path = layout::format(root);
    if path.exists() {
        return Ok(());
    }
    let format = Format { schema_version: SCHEMA_VERSION, format: FORMAT };
    record::replace(&path, &serde_json::to_vec(&format)?)
}

fn read_format(path: &Path) -> Result<Option<u32>, RootError> {
    let unreadable = |source| RootError::Unreadable { path: path.to_owned(), source };
    let bytes = match regular::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let format: Format = serde_json::from_slice(&bytes).map_err(|e| unreadable(e.into()))?;
    Ok(Some(format.format))
}

fn check_private(directory: &Path) -> Result<(), RootError> {
    let meta = match directory.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(RootError::Unreadable { path: directory.to_owned(), source }),
    };
    let me = geteuid().as_raw();
    let reason = if !meta.is_dir() {
        "it is not a directory".to_owned()
    } else if meta.uid() != me {
        format!("it belongs to user {}, and you are {me}", meta.uid())
    } else if meta.mode() & WRITABLE_BY_OTHERS != 0 {
        format!("others may write to it (mode {:03o})", meta.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(RootError::NotPrivate { directory: directory.to_owned(), reason })
}
