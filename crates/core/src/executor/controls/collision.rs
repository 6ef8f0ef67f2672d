//! Raw extra arguments that would set what a control sets.
//!
//! In doubt it is a collision: of two settings on one command line nobody knows which one wins.

use super::ControlRefusal;
use super::contract::{Contract, Spelling};

/// Refuses extra arguments that set the model or a field of the contract in any spelling:
/// `--flag value`, `--flag=value`, `-f value`, `-fvalue`, `-xf value`, `--config key=value`.
///
/// # Errors
/// [`ControlRefusal::Collision`], for the first one.
pub fn refuse_collisions(contract: &Contract, extra: &[String]) -> Result<(), ControlRefusal> {
    for (control, spelling) in contract.spellings() {
        let is_set = (0..extra.len()).any(|at| sets(&spelling, &extra[at], extra.get(at + 1)));
        if is_set {
            let (flag, control) = (spelling.to_string(), control.to_owned());
            return Err(ControlRefusal::Collision { flag, control });
        }
    }
    Ok(())
}

/// Whether `argument`, with the one after it, writes the setting of `spelling`.
fn sets(spelling: &Spelling, argument: &str, next: Option<&String>) -> bool {
    values(&spelling.flag, argument, next).into_iter().any(|value| match &spelling.key {
        None => true,
        Some(key) => value.split_once('=').is_some_and(|(written, _)| is_key(key, written)),
    })
}

/// What `argument` would give to `flag`, in every way it can be read.
fn values<'a>(flag: &str, argument: &'a str, next: Option<&'a String>) -> Vec<&'a str> {
    let next = next.map_or("", String::as_str);
    if flag.starts_with("--") {
        return match argument.strip_prefix(flag) {
            Some("") => vec![next],
            Some(rest) => rest.strip_prefix('=').into_iter().collect(),
            None => Vec::new(),
        };
    }
    let Some(letters) = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return Vec::new();
    };
    let letter = flag.trim_start_matches('-');
    let joined = |(at, _)| {
        let rest: &str = &letters[at + letter.len()..];
        if rest.is_empty() { next } else { rest.strip_prefix('=').unwrap_or(rest) }
    };
    // Short flags can be written in one word, so the letter may stand anywhere in it.
    let ends = letters.find('=').unwrap_or(letters.len());
    letters[..ends].match_indices(letter).map(joined).collect()
}

/// Whether a written key sets `key`: itself, a table that holds it, or something below it.
///
/// Compared without the blanks and quotes that a TOML key may have around it.
fn is_key(key: &str, written: &str) -> bool {
    let written = written.trim().trim_matches(['"', '\'']);
    let is_below = |low: &str, high: &str| {
        low.strip_prefix(high).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_below(key, written) || is_below(written, key)
}
