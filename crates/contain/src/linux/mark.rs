//! The mark by which members of a tree that no kernel object holds are recognised: an environment variable.
//!
//! A tree started inside another one carries both marks, so that the outer hunt finds its members too.

use std::hash::{BuildHasher, Hasher, RandomState};

const NAME: &str = "DCLI_TREE";

/// What marks one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The marks of the trees that this process itself belongs to, outermost first.
    outer: Option<String>,
    token: String,
}

impl Mark {
    /// A mark that nobody else carries.
    pub(crate) fn fresh() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        // Keys of one thread differ by a counter only; process and time keep two processes apart.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let salt = now.map_or(0, |now| now.as_nanos()) ^ u128::from(std::process::id());
        let bits = (u128::from(random()) << 64 | u128::from(random())) ^ salt;
        Self { outer: std::env::var(NAME).ok(), token: format!("{bits:032x}") }
    }

    /// The environment entry that plants it.
    pub(crate) fn entry(&self) -> String {
        match &self.outer {
            Some(outer) => format!("{NAME}={outer}/{}", self.token),
            None => format!("{NAME}={}", self.token),
        }
    }

    /// Whether `entry` plants it, or a mark of a tree inside this one.
    pub(crate) fn is_in(&self, entry: &[u8]) -> bool {
        let marks = entry.strip_prefix(NAME.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        marks.is_some_and(|marks| {
            marks.split(|byte| *byte == b'/').any(|mark| mark == self.token.as_bytes())
        })
    }

    /// Whether `name` is the variable of marks.
    pub(crate) fn is_name(name: &std::ffi::OsStr) -> bool {
        name == NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_its_own_entry_and_in_one_nested_below_it_only() {
        let mark = Mark::fresh();
        let inner = Mark { outer: Some(mark.token.clone()), token: "inner".to_owned() };
        assert!(mark.is_in(mark.entry().as_bytes()));
        assert!(mark.is_in(inner.entry().as_bytes()));
        assert!(inner.is_in(inner.entry().as_bytes()));
        assert!(!inner.is_in(mark.entry().as_bytes()));
        assert!(!mark.is_in(Mark::fresh().entry().as_bytes()));
        assert!(!mark.is_in(format!("OTHER={}", mark.token).as_bytes()));
    }
}
