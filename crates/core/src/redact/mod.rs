//! Redaction: what must not be kept becomes `«redacted:NAME»`, in text, in JSON values, and in raw
//! bytes wherever they are cut.
//!
//! Registered values are covered wherever they occur, also as JSON writers escape them. A backstop
//! covers values under credential-like names and keys of well-known shapes. Redacting twice is the
//! same as redacting once. It does not read the environment, write anything, or guess secrets by
//! their entropy.
//!
//! A line of JSON stays one, unless a registered value is itself a bare number or holds JSON's own
//! punctuation: [`Redactor::value`] keeps the shape even then.

mod assign;
mod backstop;
mod cover;
mod escape;
mod forms;
mod grams;
mod key;
mod mark;
mod registered;
mod shape;
mod stream;
mod value;
mod window;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use backstop::{Rules, Watch};
use registered::{Registered, Search};
pub use stream::Stream;

/// A value shorter than this is not registered, in bytes: it would be found everywhere.
pub const LEAST_VALUE: usize = 4;

/// The same for variables that nobody gave explicitly, and for numbers.
pub const LEAST_AMBIENT_VALUE: usize = 8;

/// Knows what to cover. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    known: Option<Arc<Known>>,
}

struct Known {
    /// Name and value, as they were registered.
    values: Vec<(String, String)>,
    registered: Arc<Registered>,
    rules: Rules,
}

impl Redactor {
    /// Changes nothing at all: no value, no backstop.
    #[must_use]
    pub fn none() -> Self {
        Self { known: None }
    }

    /// Covers these values, given as name and value, and what the backstop knows.
    ///
    /// Not registered, because they occur everywhere without being secret: values shorter than
    /// [`LEAST_VALUE`], numbers shorter than [`LEAST_AMBIENT_VALUE`], white space, `true`, `false`,
    /// `null`, and parts of what every mark says. White space around a value does not count.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let values: Vec<_> = values
            .into_iter()
            .map(|(name, value)| (name, value.trim().to_owned()))
            .filter(|(_, value)| is_registrable(value))
            .collect();
        let registered = Arc::new(Registered::new(&values));
        let rules = Rules::new(Arc::clone(&registered));
        Self { known: Some(Arc::new(Known { values, registered, rules })) }
    }

    /// Covers every value that was given explicitly, and those `ambient` variables whose name holds
    /// KEY, TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE or CREDENTIAL and whose value has
    /// [`LEAST_AMBIENT_VALUE`] bytes or more; with the exceptions of [`Redactor::new`].
    #[must_use]
    pub fn for_environment(
        explicit: &[(String, String)],
        ambient: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let ambient = ambient.filter(|(name, value)| {
            key::is_secret_variable(name) && value.trim().len() >= LEAST_AMBIENT_VALUE
        });
        Self::new(explicit.iter().cloned().chain(ambient))
    }

    /// The same without the values that are part of one of these texts: words that a record is made
    /// of, or paths that it has to name. What is known to everybody is no secret, and a record that
    /// cannot be read back is of no use.
    #[must_use]
    pub fn sparing<T: AsRef<str>>(&self, texts: &[T]) -> Self {
        let Some(known) = &self.known else { return self.clone() };
        let spared = |value: &str| texts.iter().any(|text| text.as_ref().contains(value));
        Self::new(known.values.iter().filter(|(_, value)| !spared(value)).cloned())
    }

    /// The text without its secrets; borrowed if it has none.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = &self.known else { return Cow::Borrowed(text) };
        if !known.registered.holds(text.as_bytes()) && !known.rules.may_judge(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let (mut stream, mut redacted) = (self.stream(), Vec::with_capacity(text.len() + 64));
        stream.push(text.as_bytes(), &mut redacted);
        stream.finish(&mut redacted);
        if redacted == text.as_bytes() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(String::from_utf8_lossy(&redacted).into_owned())
    }

    /// Redacts strings and names in place, and covers every string below a credential-like name.
    /// Numbers stay as they are, also where a registered value is one.
    pub fn value(&self, value: &mut Value) {
        if self.known.is_some() {
            value::redact(self, value, None);
        }
    }

    /// A new stream of raw bytes.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.known.as_ref().map(|known| {
            (Search::new(Arc::clone(&known.registered)), Watch::new(known.rules.clone()))
        }))
    }

    /// Whether the whole text is one mark.
    fn is_mark(&self, text: &str) -> bool {
        self.known.as_ref().is_some_and(|known| {
            known.registered.quotes().length(text.as_bytes()) == Some(text.len())
        })
    }

    fn mark(&self, name: &str) -> String {
        self.known
            .as_ref()
            .map_or_else(String::new, |known| known.registered.mark(name).to_string())
    }
}

impl std::fmt::Debug for Redactor {
    /// Says how many values are registered, and none of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.known.as_ref().map(|known| known.values.len());
        f.debug_struct("Redactor").field("values", &values).finish_non_exhaustive()
    }
}

fn is_registrable(value: &str) -> bool {
    let number = value.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
    let least = if number { LEAST_AMBIENT_VALUE } else { LEAST_VALUE };
    let constant = ["true", "false", "null"].iter().any(|word| value.eq_ignore_ascii_case(word));
    value.len() >= least && !constant && !mark::says(value)
}
