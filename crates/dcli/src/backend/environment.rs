//! The child's environment: exactly what was promised, and nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use dcli_core::executor::record::{Environment, Native};

use super::lineage::is_stamp;

/// Which of the caller's own variables a child gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All of them.
    #[default]
    All,
    /// These, where they are set. An empty list is none.
    Only(Vec<String>),
}

/// What goes into a child's environment.
#[derive(Debug)]
pub(crate) struct Recipe<'a> {
    /// The caller's own variables.
    pub ambient: &'a [(OsString, OsString)],
    /// Which of them.
    pub inherit: &'a Inherit,
    /// What the record sets and removes.
    pub record: &'a Environment,
    /// What the access sets.
    pub access: &'a Native,
    /// What the caller sets by name; wins over everything but `PWD` and the stamps.
    pub explicit: &'a [(String, String)],
    /// What tells the child which workers it stands below.
    pub stamps: &'a [(&'static str, OsString)],
    /// The child's working directory.
    pub cwd: &'a Path,
}

/// The environment, in order of name.
///
/// Inherited variables come first, then the record's removals, its own values where nothing is
/// set, the access's values, `GIT_TERMINAL_PROMPT=0`, the caller's explicit ones, then `PWD`, which
/// is always the working directory: one CLI believes it before its own directory. Last come the
/// stamps; one that is not among them is not inherited either.
pub(crate) fn environment(recipe: &Recipe<'_>) -> Vec<(OsString, OsString)> {
    let kept = |name: &OsString| match recipe.inherit {
        Inherit::All => true,
        Inherit::Only(names) => names.iter().any(|wanted| same_name(name, wanted)),
    };
    let inherited = recipe.ambient.iter().filter(|(name, _)| kept(name)).cloned();
    let mut variables: BTreeMap<OsString, OsString> = inherited.collect();
    variables.retain(|name, _| !recipe.record.remove.iter().any(|gone| same_name(name, gone)));
    for (name, value) in &recipe.record.set {
        variables.entry(name.into()).or_insert_with(|| value.into());
    }
    variables.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
    for (name, value) in recipe.access.env.iter() {
        variables.insert(name.into(), value.into());
    }
    for (name, value) in recipe.explicit {
        variables.retain(|other, _| !same_name(other, name));
        variables.insert(name.into(), value.into());
    }
    variables.remove(std::ffi::OsStr::new("OLDPWD"));
    variables.insert("PWD".into(), recipe.cwd.into());
    variables.retain(|name, _| !is_stamp(name));
    variables.extend(recipe.stamps.iter().map(|(name, value)| (name.into(), value.clone())));
    variables.into_iter().collect()
}

#[cfg(windows)]
fn same_name(name: &std::ffi::OsStr, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

#[cfg(not(windows))]
fn same_name(name: &std::ffi::OsStr, wanted: &str) -> bool {
    name == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(inherit: &Inherit, explicit: &[(&str, &str)]) -> BTreeMap<String, String> {
        let ambient = [
            ("PATH", "/bin"),
            ("CLAUDECODE", "1"),
            ("PWD", "/lie"),
            ("OLDPWD", "/x"),
            ("A", "b"),
            ("DCLI_BACKEND", "stale"),
            ("DCLI_JOB_ID", "stale"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let record = Environment {
            set: BTreeMap::from([("A".into(), "record".into()), ("NEW".into(), "1".into())]),
            remove: vec!["CLAUDECODE".into()],
        };
        let access = Native { args: vec![], env: BTreeMap::from([("RULES".into(), "{}".into())]) };
        let explicit: Vec<_> =
            explicit.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let recipe = Recipe {
            ambient: &ambient,
            inherit,
            record: &record,
            access: &access,
            explicit: &explicit,
            stamps: &[("DCLI_DEPTH", "1".into())],
            cwd: Path::new("/work"),
        };
        let text = |value: OsString| value.to_string_lossy().into_owned();
        environment(&recipe).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn expected(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn everything_is_inherited_but_guards_and_a_lying_pwd() {
        let found = made(&Inherit::All, &[]);
        let wanted = [
            ("PATH", "/bin"),
            ("A", "b"),
            ("NEW", "1"),
            ("RULES", "{}"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("PWD", "/work"),
            ("DCLI_DEPTH", "1"),
        ];
        assert_eq!(found, expected(&wanted));
    }

    #[test]
    fn an_empty_list_inherits_nothing_and_explicit_values_win_but_for_pwd() {
        let found =
            made(&Inherit::Only(vec![]), &[("NEW", "2"), ("PWD", "/lie"), ("CLAUDECODE", "1")]);
        let wanted = [
            ("A", "record"),
            ("NEW", "2"),
            ("CLAUDECODE", "1"),
            ("RULES", "{}"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("PWD", "/work"),
            ("DCLI_DEPTH", "1"),
        ];
        assert_eq!(found, expected(&wanted));
    }
}
