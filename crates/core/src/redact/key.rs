//! Which names say that what they name is a credential.
//!
//! Names in text are read narrowly: the last word decides, so that `token_type`, `max_tokens` and
//! `sortKey` stay what they are. Names of environment variables are read widely.

/// Words of an environment variable's name that make its value a secret.
const IN_VARIABLES: [&str; 7] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD", "PASSPHRASE"];

/// Words that say it alone, as the last one.
const ALONE: [&str; 11] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "authorization",
    "apikey",
];

/// Endings of words that were written together.
const JOINED: [&str; 8] =
    ["password", "passwd", "secret", "apikey", "secretkey", "privatekey", "accesskey", "authtoken"];

/// Words before `token` that make it a piece of text, and not a credential.
const OF_TEXT: [&str; 11] =
    ["per", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "first", "last"];

/// Words before `key` that make it a credential.
const OF_KEYS: [&str; 14] = [
    "api",
    "access",
    "private",
    "secret",
    "auth",
    "signing",
    "encryption",
    "master",
    "service",
    "account",
    "license",
    "ssh",
    "client",
    "deploy",
];

/// Words before `tokens` that make them credentials, and not a count.
const OF_TOKENS: [&str; 5] = ["access", "refresh", "auth", "api", "bearer"];

/// Longest name that is read, in bytes.
pub(super) const LONGEST: usize = 64;

/// Whether the value of an environment variable of that name is a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    IN_VARIABLES.iter().any(|word| name.contains(word))
}

/// Whether a name in JSON or text names a credential.
pub(super) fn is_credential(name: &str) -> bool {
    if name.len() > LONGEST {
        return false;
    }
    let words = words(name);
    let mut words = words.iter().rev().map(String::as_str);
    let Some(last) = words.next() else { return false };
    let before = words.next().unwrap_or_default();
    match last {
        "token" => !OF_TEXT.contains(&before),
        "tokens" => OF_TOKENS.contains(&before),
        "key" | "keys" => OF_KEYS.contains(&before) || is_variable(name),
        other => ALONE.contains(&other) || JOINED.iter().any(|ending| other.ends_with(ending)),
    }
}

/// Whether the name is that of a header whose whole value is a credential.
pub(super) fn is_header(name: &str) -> bool {
    ["authorization", "proxy-authorization"].iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// Whether the name is of several words in capitals, as variables are.
fn is_variable(name: &str) -> bool {
    name.contains('_') && !name.contains(|letter: char| letter.is_ascii_lowercase())
}

/// Words of a name in lower case: `fooBar`, `FOO_BAR`, `foo-bar` and `FOOBar` have two. Digits at
/// the end of the name do not count.
fn words(name: &str) -> Vec<String> {
    let name = name.trim_end_matches(|end: char| end.is_ascii_digit() || "_-".contains(end));
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            open = false;
            continue;
        }
        let after_lower = at > 0 && letters[at - 1].is_ascii_lowercase();
        let before_lower = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let after_upper = at > 0 && letters[at - 1].is_ascii_uppercase();
        let begins = letter.is_ascii_uppercase() && (after_lower || after_upper && before_lower);
        match words.last_mut() {
            Some(word) if open && !begins => word.push(letter.to_ascii_lowercase()),
            _ => words.push(letter.to_ascii_lowercase().to_string()),
        }
        open = true;
    }
    words
}
