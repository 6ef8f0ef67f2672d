//! What the user's file says about answers: rules that answer by themselves, and how long somebody
//! is waited for.

use std::time::Duration;

use dcli_core::executor::access::Access;
use dcli_core::executor::record::Record;
use dcli_core::interaction::{Policy as Rules, Rule, Terms};
use serde::Deserialize;

/// `[interactions]` in the user's `config.toml`: defaults for jobs whose backend can be answered.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interactions {
    /// What may be done.
    pub allow: Vec<Rule>,
    /// What somebody has to be asked about.
    pub ask: Vec<Rule>,
    /// What may not be done.
    pub deny: Vec<Rule>,
    /// How long somebody is waited for, in seconds; absent: nobody is there.
    pub attended_sec: Option<f64>,
}

impl Interactions {
    /// # Errors
    /// The key that is out of its range.
    pub(super) fn check(&self) -> Result<(), String> {
        let fits = |seconds: f64| seconds.is_finite() && seconds > 0.0 && seconds <= 3.2e9;
        match self.attended_sec {
            Some(seconds) if !fits(seconds) => {
                Err("interactions.attended_sec must be a number above 0".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The same with a project's rules besides, which deny and ask and allow nothing.
    #[must_use]
    pub(super) fn tightened_by(mut self, ask: &[Rule], deny: &[Rule]) -> Self {
        add(&mut self.ask, ask);
        add(&mut self.deny, deny);
        self
    }

    /// As terms of a job of this backend with this access. They are defaults, so that what the
    /// backend cannot keep, or the access forbids anyway, is left out without a word.
    #[must_use]
    pub fn terms(&self, record: &Record, access: Access) -> Terms {
        let asks_nothing = access == Access::Unconfined && record.server.is_none();
        if asks_nothing || (record.server.is_none() && record.dialogue.is_none()) {
            return Terms::default();
        }
        let is_kept = |rule: &&Rule| access != Access::ReadOnly || rule.permission() != "edit";
        let kept = |rules: &[Rule]| rules.iter().filter(is_kept).cloned().collect();
        Terms {
            policy: Rules {
                allow: kept(&self.allow),
                ask: kept(&self.ask),
                deny: self.deny.clone(),
            },
            attended: self.attended_sec.and_then(|sec| Duration::try_from_secs_f64(sec).ok()),
        }
    }
}

/// Each rule once.
pub(super) fn add(rules: &mut Vec<Rule>, more: &[Rule]) {
    for rule in more {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use dcli_core::executor::Catalogue;

    use super::*;

    fn interactions(text: &str) -> Interactions {
        toml::from_str(text).unwrap()
    }

    /// With a backend that is a server, one with a dialogue, or one that cannot be answered.
    fn terms(interactions: &Interactions, way: &str, access: Access) -> Terms {
        let catalogue = Catalogue::shipped().unwrap();
        let is_it = |record: &Record| match way {
            "server" => record.server.is_some(),
            "dialogue" => record.dialogue.is_some(),
            _ => record.server.is_none() && record.dialogue.is_none(),
        };
        let found = catalogue.iter().find(|executor| is_it(&executor.record)).unwrap();
        interactions.terms(&found.record, access)
    }

    #[test]
    fn defaults_are_for_backends_that_can_be_answered_and_leave_the_others_alone() {
        let given = interactions("allow = ['bash:git *']\nattended_sec = 0.5");
        for way in ["server", "dialogue"] {
            let kept = terms(&given, way, Access::ReadOnly);
            assert_eq!(kept.policy.allow[0].to_string(), "bash:git *");
            assert_eq!(kept.attended, Some(Duration::from_millis(500)));
        }
        assert!(terms(&given, "none", Access::Workspace).is_plain());
        // A server asks whatever the access is; a dialogue is not even opened then.
        assert!(!terms(&given, "server", Access::Unconfined).is_plain());
        assert!(terms(&given, "dialogue", Access::Unconfined).is_plain());
    }

    #[test]
    fn under_read_only_no_default_says_anything_but_no_of_edits() {
        let given =
            interactions("allow = ['edit', 'bash:ls']\nask = ['edit:*.lock']\ndeny = ['edit:x']");
        let kept = terms(&given, "server", Access::ReadOnly).policy;
        assert_eq!((kept.allow.len(), kept.ask.len(), kept.deny.len()), (1, 0, 1));
        let kept = terms(&given, "server", Access::Workspace).policy;
        assert_eq!((kept.allow.len(), kept.ask.len(), kept.deny.len()), (2, 1, 1));
    }

    #[test]
    fn a_projects_rules_come_besides_and_none_comes_twice() {
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let mine = interactions("ask = ['bash:git push*']\ndeny = ['webfetch']");
        let both = mine.tightened_by(&[rule("bash:git push*")], &[rule("bash:rm *")]);
        assert_eq!(both.ask, [rule("bash:git push*")]);
        assert_eq!(both.deny, [rule("webfetch"), rule("bash:rm *")]);
    }

    #[test]
    fn what_is_no_rule_and_no_time_is_refused() {
        for bad in ["allow = ['rm -rf']", "deny = 'bash'", "attend = 1"] {
            assert!(toml::from_str::<Interactions>(bad).is_err(), "{bad}");
        }
        for bad in ["0", "-1", "nan", "inf", "1e12"] {
            let error = interactions(&format!("attended_sec = {bad}")).check().unwrap_err();
            assert!(error.starts_with("interactions.attended_sec "), "{error}");
        }
    }
}
