//! Names of things on disk: a job, a repository, a group, a label. Each is checked once, when it is made.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The letters of a job id's last part.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// The longest group name, in bytes.
const GROUP_BYTES: usize = 64;
/// The longest label, in characters.
const LABEL_CHARS: usize = 200;

/// A text that is no name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// Not a job id.
    #[error("{0:?} is not a job id: YYYYMMDDTHHMMSSZ- and 8 of a-z and 0-9")]
    JobId(String),
    /// Not a repository key.
    #[error("{0:?} is not a repository key: 12 hexadecimal digits")]
    RepoKey(String),
    /// Not a group name.
    #[error("{0:?} is not a group name: 1 to 64 of A-Z a-z 0-9 . _ -, not starting with . or -")]
    Group(String),
    /// Not a label.
    #[error("{0:?} is not a label: 1 to 200 characters, none of them a control character")]
    Label(String),
    /// Not an interaction id.
    #[error("{0:?} is not an interaction id: i1, i2, … as 'dcli interactions' lists them")]
    Interaction(String),
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $error:ident, $fits:path) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            /// As it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                if $fits(&text) { Ok(Self(text)) } else { Err(NameError::$error(text)) }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

name! {
    /// One job: `YYYYMMDDTHHMMSSZ-` (its creation, UTC) and 8 of `[a-z0-9]`.
    JobId, JobId, is_job_id
}
name! {
    /// One repository: the first 12 hexadecimal digits of SHA-256 over its common git directory, or
    /// over the working directory outside a repository.
    RepoKey, RepoKey, is_repo_key
}
name! {
    /// A group of jobs.
    GroupName, Group, is_group
}
name! {
    /// A caller's own words for one job.
    Label, Label, is_label
}
name! {
    /// One interaction of a job: `i1`, `i2`, … in the order in which the job asked.
    InteractionId, Interaction, is_interaction
}

impl JobId {
    /// A new id.
    ///
    /// # Errors
    /// `created` is not of the form `YYYYMMDDTHHMMSSZ`.
    pub fn new(created: &str, entropy: [u8; 8]) -> Result<Self, NameError> {
        let letter = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
        let last: String = entropy.into_iter().map(letter).collect();
        format!("{created}-{last}").parse()
    }

    /// The second it was made in, `YYYYMMDDTHHMMSSZ`.
    #[must_use]
    pub fn second(&self) -> &str {
        self.0.split_once('-').map_or(&self.0, |(second, _)| second)
    }
}

impl RepoKey {
    /// From a SHA-256 digest: its first 12 hexadecimal digits.
    #[must_use]
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
    }
}

fn is_job_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    bytes.len() == 25
        && is_digit(0..8)
        && bytes[8] == b'T'
        && is_digit(9..15)
        && &bytes[15..17] == b"Z-"
        && bytes[17..].iter().all(|byte| LETTERS.contains(byte))
}

fn is_repo_key(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_group(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=GROUP_BYTES).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text.bytes().all(fits)
}

fn is_label(text: &str) -> bool {
    (1..=LABEL_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn is_interaction(text: &str) -> bool {
    let number = text.strip_prefix('i').unwrap_or_default();
    (1..=6).contains(&number.len())
        && !number.starts_with('0')
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_has_one_shape() {
        let made = JobId::new("20261130T190400Z", [0, 1, 25, 26, 35, 36, 71, 255]).unwrap();
        assert_eq!(made.as_str(), "20261130T190400Z-abz09a9d");
        assert_eq!(made.second(), "20261130T190400Z");
        for bad in [
            "",
            "20261130T190400Z",
            "20261130T190400Z-",
            "20261130T190400Z-ABCDEFGH",
            "20261130T190400Z-abcdefg",
            "20261130T190400Z-abcdefghi",
            "2026113xT190400Z-abcdefgh",
            "../../../etc/passwd/abcde",
            "20261130T190400Z-abcdéfg",
        ] {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
        assert!(JobId::new("now", [0; 8]).is_err());
    }

    #[test]
    fn a_group_cannot_leave_its_directory() {
        for good in ["night-1", "a", "v1.2_x"] {
            assert!(good.parse::<GroupName>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "-x", ".hidden", "a b", "ä", &"x".repeat(65)] {
            assert!(bad.parse::<GroupName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_repository_key_is_twelve_digits_of_the_digest() {
        let key = RepoKey::from_digest([0xab; 32]);
        assert_eq!(key.as_str(), "abababababab");
        assert!("ABABABABABAB".parse::<RepoKey>().is_err());
    }

    #[test]
    fn a_label_is_one_line_of_text() {
        assert!("größer: fix #12".parse::<Label>().is_ok());
        assert!("a\nb".parse::<Label>().is_err());
        assert!("".parse::<Label>().is_err());
    }

    #[test]
    fn an_interaction_is_named_by_its_number() {
        for good in ["i1", "i10", "i999999"] {
            assert!(good.parse::<InteractionId>().is_ok(), "{good}");
        }
        for bad in ["", "i", "i0", "i01", "1", "I1", "i1000000", "i1 ", "i-1", "i1/../x", "i²"] {
            assert!(bad.parse::<InteractionId>().is_err(), "{bad}");
        }
    }
}
