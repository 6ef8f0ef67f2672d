//! A policy: what is allowed, denied or asked without anybody being there, by name and pattern.
//!
//! A rule is written `NAME` or `NAME:PATTERN`, as in `bash:git status*`. In both parts `*` stands for
//! any text and `?` for one character. Deny wins over ask, ask over allow.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Ask;

/// The longest rule, in bytes.
const LONGEST: usize = 4096;
/// The longest text that is compared with a pattern, in bytes. A longer one is not allowed by any
/// pattern, and whatever has patterns to deny or to ask about denies or asks about it.
const COMPARED: usize = 64 << 10;

/// One rule: which permission, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    permission: String,
    pattern: String,
    /// No character of the pattern stands for another.
    is_literal: bool,
}

/// A rule that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no permission rule: {reason}; write NAME or NAME:PATTERN, as in 'bash:git status*'"
)]
pub struct RuleError {
    text: String,
    reason: &'static str,
}

impl Rule {
    /// A rule for exactly this.
    #[must_use]
    pub fn new(permission: &str, pattern: &str) -> Self {
        let permission = permission.to_lowercase();
        Self { permission, pattern: pattern.to_owned(), is_literal: false }
    }

    /// A rule for this and for nothing like it.
    #[must_use]
    pub fn literal(permission: &str, what: &str) -> Self {
        Self { is_literal: true, ..Self::new(permission, what) }
    }

    /// Which permission: a name in lower case, or a pattern of names.
    #[must_use]
    pub fn permission(&self) -> &str {
        &self.permission
    }

    /// For what.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether it is about this permission at all.
    #[must_use]
    pub fn names(&self, permission: &str) -> bool {
        matches(&self.permission, &permission.to_lowercase())
    }

    /// Whether it may be about it: also where that is too long to be compared.
    fn may_cover(&self, permission: &str, what: &str) -> bool {
        match what.len() > COMPARED {
            true => self.names(permission),
            false => self.covers(permission, what),
        }
    }

    fn covers(&self, permission: &str, pattern: &str) -> bool {
        if pattern.len() > COMPARED && !self.is_for_all() {
            return false;
        }
        let fits = match self.is_literal {
            true => self.pattern == pattern,
            false => matches(&self.pattern, pattern),
        };
        self.names(permission) && fits
    }

    fn is_for_all(&self) -> bool {
        self.pattern == "*" && !self.is_literal
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |reason| Err(RuleError { text: text.chars().take(80).collect(), reason });
        let (name, pattern) = text.split_once(':').unwrap_or((text, "*"));
        let name = name.trim();
        if text.len() > LONGEST {
            return wrong("it is longer than 4096 bytes");
        }
        if name.is_empty() {
            return wrong("it names no permission");
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '?')) {
            return wrong("a permission is named by letters, digits, '_', '-' and wildcards");
        }
        if pattern.is_empty() {
            return wrong("its pattern is empty");
        }
        if text.chars().any(char::is_control) {
            return wrong("it holds a control character");
        }
        Ok(Self::new(name, pattern))
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_for_all() {
            true => out.write_str(&self.permission),
            false => write!(out, "{}:{}", self.permission, self.pattern),
        }
    }
}

/// All rules of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What may be done.
    #[serde(default)]
    pub allow: Vec<Rule>,
    /// What somebody has to be asked about, although a wider rule allows it.
    #[serde(default)]
    pub ask: Vec<Rule>,
    /// What may not be done.
    #[serde(default)]
    pub deny: Vec<Rule>,
}

/// What a policy says of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saying<'p> {
    /// Every part of it is allowed; by this rule, or the first of them.
    Allowed(&'p Rule),
    /// Somebody is to be asked.
    Asked(&'p Rule),
    /// A part of it is denied by this rule.
    Denied(&'p Rule),
    /// Nothing.
    Silent,
}

impl Policy {
    /// True where there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty()
    }

    /// Every rule.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.allow.iter().chain(&self.ask).chain(&self.deny)
    }

    /// With the rules of `other` besides.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.allow.extend(other.allow);
        self.ask.extend(other.ask);
        self.deny.extend(other.deny);
        self
    }

    /// What the rules say of `ask`. One denied part denies it, and it is allowed only where every
    /// part is. What its patterns do not show in full is allowed by a rule without a pattern alone.
    #[must_use]
    pub fn on(&self, ask: &Ask) -> Saying<'_> {
        let parts = if ask.patterns.is_empty() { &[String::new()][..] } else { &ask.patterns };
        let hit = |rules: &'_ [Rule]| {
            rules
                .iter()
                .position(|rule| parts.iter().any(|part| rule.may_cover(&ask.permission, part)))
        };
        if let Some(at) = hit(&self.deny) {
            return Saying::Denied(&self.deny[at]);
        }
        if let Some(at) = hit(&self.ask) {
            return Saying::Asked(&self.ask[at]);
        }
        let allowing = |part: &String| {
            let mut rules = self.allow.iter();
            rules.find(|rule| {
                rule.covers(&ask.permission, part) && (rule.is_for_all() || !ask.is_opaque)
            })
        };
        let mut first = None;
        for part in parts {
            match allowing(part) {
                Some(rule) => first = first.or(Some(rule)),
                None => return Saying::Silent,
            }
        }
        first.map_or(Saying::Silent, Saying::Allowed)
    }
}

/// Whether `text` is what `pattern` describes: `*` any text, `?` one character. Linear in the text
/// for each star.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    (p, t) = (at + 1, from + 1);
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Policy { allow: rules(allow), ask: rules(ask), deny: rules(deny) }
    }

    fn ask(permission: &str, patterns: &[&str]) -> Ask {
        Ask {
            permission: permission.to_owned(),
            patterns: patterns.iter().map(ToString::to_string).collect(),
            ..Ask::default()
        }
    }

    #[test]
    fn deny_wins_over_ask_over_allow_whatever_stands_first() {
        let policy = policy(&["bash", "*"], &["bash:git push*"], &["bash:rm *", "edit:*.lock"]);
        let said = |permission, patterns: &[&str]| match policy.on(&ask(permission, patterns)) {
            Saying::Allowed(rule) => format!("allow {rule}"),
            Saying::Asked(rule) => format!("ask {rule}"),
            Saying::Denied(rule) => format!("deny {rule}"),
            Saying::Silent => "silent".to_owned(),
        };
        assert_eq!(said("bash", &["ls"]), "allow bash");
        assert_eq!(said("bash", &["git push --force"]), "ask bash:git push*");
        assert_eq!(said("bash", &["git push", "rm -rf x"]), "deny bash:rm *");
        assert_eq!(said("Edit", &["Cargo.lock"]), "deny edit:*.lock");
        assert_eq!(said("webfetch", &[]), "allow *");
    }

    #[test]
    fn every_part_has_to_be_allowed_and_what_is_not_shown_in_full_by_name_alone() {
        let narrow = policy(&["bash:git status*"], &[], &[]);
        assert!(matches!(narrow.on(&ask("bash", &["git status"])), Saying::Allowed(_)));
        assert_eq!(narrow.on(&ask("bash", &["git status", "touch x"])), Saying::Silent);
        let opaque = Ask { is_opaque: true, ..ask("bash", &["git status > x"]) };
        assert_eq!(narrow.on(&opaque), Saying::Silent);
        assert!(matches!(policy(&["bash"], &[], &[]).on(&opaque), Saying::Allowed(_)));
        assert!(matches!(policy(&[], &[], &["bash:*> x"]).on(&opaque), Saying::Denied(_)));
    }

    #[test]
    fn what_is_too_long_to_be_compared_is_allowed_by_no_pattern_and_denied_by_any() {
        let long = "a".repeat(COMPARED + 1);
        let on = |policy: &Policy| format!("{:?}", policy.on(&ask("bash", &[&long])));
        assert_eq!(on(&policy(&["bash:a*"], &[], &[])), "Silent");
        assert!(on(&policy(&["bash"], &[], &[])).starts_with("Allowed"));
        assert!(on(&policy(&["bash"], &[], &["bash:rm *"])).starts_with("Denied"));
        assert!(on(&policy(&["bash"], &[], &["edit:rm *"])).starts_with("Allowed"));
    }

    #[test]
    fn a_rule_is_a_name_with_or_without_a_pattern_and_nothing_else() {
        for (text, shown) in [("Bash", "bash"), ("bash:*", "bash"), ("bash:a:b", "bash:a:b")] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), shown);
        }
        for text in ["", ":x", "bash:", "ba sh:x", "bash:a\nb", "rm -rf"] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("NAME:PATTERN"), "{error}");
        }
    }

    #[test]
    fn wildcards_stand_for_any_text_and_for_one_character() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("git status*", "git status --short", true),
            ("git status*", "git  status", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.rs", "a/b.rs", true),
            ("*a*b*", "xaxxbx", true),
            ("*a*b", "ab c", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
