//! Keys that are known by their shape, whatever stands before them: vendors' keys, JSON web tokens,
//! bearer credentials, and a password in a URL.
//!
//! The shapes are those that the vendors document for secret scanning. A shape is a backstop: it
//! knows only keys that begin as they did when it was written down.

use memchr::{memchr, memrchr};

use super::cover::{Extent, Run};
use super::mark::Quotes;
use super::window::{AHEAD, Short, Window, is_word};

/// What a rule wants covered.
#[derive(Debug)]
pub(super) struct Found {
    /// Where the value begins.
    pub(super) from: usize,
    pub(super) name: String,
    pub(super) extent: Extent,
}

/// A vendor's key: a beginning, and how many letters, digits, `_` and `-` follow at least.
struct Shape {
    beginning: &'static str,
    least: usize,
    /// One of them is a digit.
    digit: bool,
    name: &'static str,
}

const fn shape(beginning: &'static str, least: usize, digit: bool, name: &'static str) -> Shape {
    Shape { beginning, least, digit, name }
}

const SHAPES: [Shape; 20] = [
    shape("sk-ant-", 16, false, "anthropic-key"),
    shape("sk-", 20, true, "api-key"),
    shape("sk_live_", 16, false, "stripe-key"),
    shape("ghp_", 20, false, "github-token"),
    shape("gho_", 20, false, "github-token"),
    shape("ghu_", 20, false, "github-token"),
    shape("ghs_", 20, false, "github-token"),
    shape("ghr_", 20, false, "github-token"),
    shape("github_pat_", 20, false, "github-token"),
    shape("glpat-", 16, false, "gitlab-token"),
    shape("xoxa-", 10, true, "slack-token"),
    shape("xoxb-", 10, true, "slack-token"),
    shape("xoxp-", 10, true, "slack-token"),
    shape("xoxr-", 10, true, "slack-token"),
    shape("xoxs-", 10, true, "slack-token"),
    shape("AKIA", 16, true, "aws-key-id"),
    shape("ASIA", 16, true, "aws-key-id"),
    shape("AIza", 30, true, "google-key"),
    shape("hf_", 30, false, "huggingface-token"),
    shape("npm_", 30, false, "npm-token"),
];

const BEARER: &[u8] = b"bearer";
const LEAST_BEARER: usize = 16;
const JWT: &[u8] = b"eyJ";
const SCHEME_END: &[u8] = b"://";

/// What these rules begin with, letters in either case.
pub(super) fn beginnings() -> impl Iterator<Item = &'static [u8]> {
    let shapes = SHAPES.iter().map(|shape| shape.beginning.as_bytes());
    shapes.chain([BEARER, JWT, SCHEME_END])
}

/// What at this place has one of the shapes.
pub(super) fn judge(window: &Window<'_>, quotes: Quotes) -> Result<Option<Found>, Short> {
    if window.text[window.at..].starts_with(SCHEME_END) {
        return user_information(window, quotes);
    }
    if window.word_start(window.at) != window.at {
        return Ok(None);
    }
    for shape in &SHAPES {
        if let Some(found) = vendor_key(window, shape)? {
            return Ok(Some(found));
        }
    }
    match web_token(window)? {
        Some(found) => Ok(Some(found)),
        None => bearer(window),
    }
}

fn vendor_key(window: &Window<'_>, shape: &Shape) -> Result<Option<Found>, Short> {
    let beginning = shape.beginning.as_bytes();
    // A text that is too short to tell is asked for more only if it begins alike.
    let seen = &window.text[window.at..];
    if !beginning.starts_with(&seen[..seen.len().min(beginning.len())]) {
        return Ok(None);
    }
    if window.from(window.at, beginning.len())? != beginning {
        return Ok(None);
    }
    let from = window.at + beginning.len();
    let rest = &window.text[from..window.skip(from, is_word)?];
    let fits = rest.len() >= shape.least && (!shape.digit || has_digit(rest));
    Ok(fits.then(|| found(window.at, shape.name, Extent::Run(Run::Key))))
}

/// `eyJ….eyJ…`: header and claims, both of them JSON objects in base64url (RFC 7519).
fn web_token(window: &Window<'_>) -> Result<Option<Found>, Short> {
    if !window.text[window.at..].starts_with(JWT) {
        return Ok(None);
    }
    let dot = window.skip(window.at, is_word)?;
    let fits = window.from(dot, 1 + JWT.len())?.strip_prefix(b".") == Some(JWT);
    Ok(fits.then(|| found(window.at, "jwt", Extent::Run(Run::Dotted))))
}

fn bearer(window: &Window<'_>) -> Result<Option<Found>, Short> {
    if !window.from(window.at, BEARER.len())?.eq_ignore_ascii_case(BEARER) {
        return Ok(None);
    }
    let space = window.at + BEARER.len();
    let from = window.skip(space, |byte| byte == b' ')?;
    let key = window.from(from, LEAST_BEARER)?;
    let fits = from > space
        && key.len() == LEAST_BEARER
        && key.iter().all(|byte| Run::Bearer.holds(*byte))
        && has_digit(key);
    Ok(fits.then(|| found(from, "bearer", Extent::Run(Run::Bearer))))
}

/// `user:password@` after `scheme://`; a user alone is none. What is longer than can be seen is
/// taken for one.
fn user_information(window: &Window<'_>, quotes: Quotes) -> Result<Option<Found>, Short> {
    let from = window.at + SCHEME_END.len();
    if !window.before(window.at).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(None);
    }
    let end = window.skip(from, |byte| Run::Authority.holds(byte))?;
    if end >= window.at + AHEAD {
        return Ok(Some(found(from, "userinfo", Extent::Run(Run::Authority))));
    }
    let authority = &window.text[from..end];
    let Some(at) = memrchr(b'@', authority) else { return Ok(None) };
    let information = &authority[..at];
    let name = quotes.length(information).or_else(|| memchr(b':', information)).unwrap_or(at);
    let password = information[name..].strip_prefix(b":").unwrap_or_default();
    let open = !password.is_empty() && quotes.length(password) != Some(password.len());
    Ok(open.then(|| found(from, "userinfo", Extent::Fixed(at))))
}

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

fn found(from: usize, name: &str, extent: Extent) -> Found {
    Found { from, name: name.to_owned(), extent }
}
