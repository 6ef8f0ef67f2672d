//! Access: what a run may change, and the native arguments that say so to a CLI.

use serde::{Deserialize, Serialize};

use super::record::{Access as Natives, Native, NativeEnforcement};
use crate::envelope::AccessEnforcement;

/// What a run may change.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing of the user's.
    #[default]
    ReadOnly,
    /// Its execution root, and nothing else.
    Workspace,
    /// Whatever the caller may; it has to be asked for by name.
    Unconfined,
}

impl Access {
    /// The word of the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::Unconfined => "unconfined",
        }
    }
}

impl std::str::FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "read-only" => Ok(Self::ReadOnly),
            "workspace" => Ok(Self::Workspace),
            "unconfined" => Ok(Self::Unconfined),
            other => Err(format!("{other:?} is not an access: read-only, workspace, unconfined")),
        }
    }
}

impl Natives {
    /// The arguments and variables for `access` where dcli does not enforce it itself.
    #[must_use]
    pub fn unenforced(&self, access: Access) -> &Native {
        match access {
            Access::ReadOnly => &self.read_only,
            Access::Workspace => &self.workspace,
            Access::Unconfined => &self.unconfined,
        }
    }

    /// Who enforces `access` where dcli does not: the vendor's own sandbox or nobody. Never
    /// verified, since dcli proved nothing.
    #[must_use]
    pub fn unenforced_report(&self, access: Access) -> AccessEnforcement {
        let backend = self.enforcement == NativeEnforcement::Backend;
        let kind = if backend && access != Access::Unconfined { "backend" } else { "none" };
        AccessEnforcement { kind: kind.to_owned(), verified: false }
    }

    /// The first of `extra` that would decide access behind dcli's back.
    #[must_use]
    pub fn collision<'a>(&self, extra: &'a [String]) -> Option<&'a str> {
        let hits = |index: usize| {
            self.deciding().any(|flag| match flag.starts_with('-') {
                true => names_flag(&extra[index], flag),
                false => configured(extra, index).is_some_and(|setting| names_key(setting, flag)),
            })
        };
        (0..extra.len()).find(|index| hits(*index)).map(|index| extra[index].as_str())
    }
}

impl Natives {
    /// What decides access: the record's list, and every flag by which it expresses access itself.
    fn deciding(&self) -> impl Iterator<Item = &str> {
        let natives = [
            Some(&self.read_only),
            Some(&self.workspace),
            Some(&self.unconfined),
            self.enforced_read_only.as_ref(),
            self.enforced_workspace.as_ref(),
        ];
        let args = natives.into_iter().flatten().flat_map(|native| &native.args);
        let own =
            args.filter(|arg| arg.starts_with('-') && !matches!(arg.as_str(), "-c" | "--config"));
        let names = own.map(|arg| arg.split_once('=').map_or(arg.as_str(), |(flag, _)| flag));
        self.flags.iter().map(String::as_str).chain(names)
    }
}

/// The `key=value` that the argument at `index` hands to `-c` or `--config`.
fn configured(extra: &[String], index: usize) -> Option<&str> {
    let argument = extra[index].as_str();
    let behind = index > 0 && matches!(extra[index - 1].as_str(), "-c" | "--config");
    let inline = argument.strip_prefix("--config=").or_else(|| argument.strip_prefix("-c"));
    if behind { Some(argument) } else { inline.filter(|rest| !rest.is_empty()) }
}

/// Whether `setting` sets `key` or something below it.
fn names_key(setting: &str, key: &str) -> bool {
    let setting = setting.trim_start();
    setting.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
}

/// Whether `argument` gives `flag`: alone, as `--flag=value`, or as `-fvalue`.
fn names_flag(argument: &str, flag: &str) -> bool {
    let Some(rest) = argument.strip_prefix(flag) else { return false };
    let short = flag.len() == 2 && !flag.starts_with("--");
    rest.is_empty() || rest.starts_with('=') || short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn natives() -> Natives {
        toml::from_str(
            "flags = ['-s', '--sandbox', 'sandbox_mode']\n[read_only]\n[workspace]\n[unconfined]",
        )
        .unwrap()
    }

    #[test]
    fn an_extra_argument_that_decides_access_is_found_in_every_spelling() {
        for spelling in [
            &["-s", "x"][..],
            &["-sx"],
            &["--sandbox"],
            &["--sandbox=x"],
            &["-c", "sandbox_mode=x"],
            &["--config=sandbox_mode=x"],
            &["-csandbox_mode=x"],
            &["-c", "sandbox_mode = x"],
            &["-c", "sandbox_mode.x=y"],
        ] {
            let extra: Vec<String> = spelling.iter().map(ToString::to_string).collect();
            assert!(natives().collision(&extra).is_some(), "{spelling:?}");
        }
    }

    #[test]
    fn a_flag_by_which_the_record_expresses_access_counts_although_it_is_not_listed() {
        let text =
            "[read_only]\n[workspace]\nargs = ['--mode=edit']\n[unconfined]\nargs = ['--yolo']";
        let natives: Natives = toml::from_str(text).unwrap();
        for argument in ["--yolo", "--mode", "--mode=all"] {
            assert_eq!(natives.collision(&[argument.to_owned()]), Some(argument));
        }
        assert_eq!(natives.collision(&["--modern".to_owned()]), None);
    }

    #[test]
    fn other_extra_arguments_pass() {
        let extra = ["--sandboxed", "-c", "model_provider=x", "sandbox_mode"].map(str::to_owned);
        assert_eq!(natives().collision(&extra), None);
    }
}
