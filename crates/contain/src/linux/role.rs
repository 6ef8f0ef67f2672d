//! Which role a re-executed process was started for, read from its arguments alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::{apart, direct, guardian, namespace, process};

/// The name (`argv[0]`) by which an executable is run again as one of the roles.
pub(crate) const NAME: &str = "dcli-contained-init";

/// A part that a re-executed process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Makes a pid namespace and holds it.
    Namespace,
    /// Reaps and kills as a subreaper.
    Guardian,
    /// Becomes the target without a process in between.
    Bare,
    /// Does nothing: the trivial child of a probe.
    Nothing,
}

impl Role {
    const ALL: [Self; 4] = [Self::Namespace, Self::Guardian, Self::Bare, Self::Nothing];

    /// The argument that names this role.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Guardian => "guardian",
            Self::Bare => "bare",
            Self::Nothing => "nothing",
        }
    }
}

/// Plays the role that this process was started for; returns at once if it was started for none, and
/// apart from whoever started it if it was started detached.
pub(crate) fn play_if_named() {
    if apart::is_named() {
        return apart::detach();
    }
    let mut args = std::env::args_os();
    if args.next().is_none_or(|name| name.as_bytes() != NAME.as_bytes()) {
        process::hear_of_children();
        return;
    }
    match args.next().and_then(|name| named(&name)) {
        Some(Role::Namespace) => namespace::run(),
        Some(Role::Guardian) => guardian::run(),
        Some(Role::Bare) => direct::run(),
        Some(Role::Nothing) => process::leave(0),
        None => process::leave(110),
    }
}

fn named(name: &OsStr) -> Option<Role> {
    Role::ALL.into_iter().find(|role| name.as_bytes() == role.name().as_bytes())
}
