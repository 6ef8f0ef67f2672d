//! Rulesets: what a run's access and policy say, in opencode's own rules. The last rule that matches
//! counts.
//!
//! A session that dcli makes has its rules in full. A child session inherits only what they deny;
//! what is asked there comes from the variable `OPENCODE_PERMISSION`, and so does all that is said of
//! `doom_loop`, for which no session's rules count (measured with 1.18.33).

use dcli_core::executor::access::Access;
use dcli_core::interaction::{Policy, Rule as PolicyRule, Terms};
use serde_json::{Map, Value, json};

/// What is done on a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Ask,
    Deny,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|action| action.name() == word)
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    permission: String,
    pattern: String,
    action: Action,
}

impl Rule {
    fn new(permission: &str, pattern: &str, action: Action) -> Self {
        Self { permission: permission.to_owned(), pattern: pattern.to_owned(), action }
    }

    fn to_json(&self) -> Value {
        let (permission, pattern) = (&self.permission, &self.pattern);
        json!({"permission": permission, "pattern": pattern, "action": self.action.name()})
    }
}

/// What the user's own configuration says, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// From the first thing on that it denies.
    denied: Vec<Rule>,
    /// Where cut outputs of tools lie: reading them is no way out.
    outputs: Vec<Rule>,
    /// Agents that would not ask in a child session what has to be asked: not to be used there.
    pub unasking: Vec<String>,
}

/// The rules of the job's session.
pub(super) fn session(access: Access, terms: &Terms, own: &Own) -> Value {
    let mut rules = vec![Rule::new("*", "*", Action::Allow)];
    rules.extend(of(access, terms));
    rules.extend(own.outputs.iter().cloned());
    let denied = own.denied.iter().map(|rule| {
        let action = match rule.action {
            Action::Deny => Action::Deny,
            // What it allows or asks beside a denial is as the job has it.
            _ => on_whole(&rules, &rule.permission),
        };
        Rule { action, ..rule.clone() }
    });
    let denied: Vec<Rule> = denied.collect();
    rules.extend(denied);
    rules.extend(own.unasking.iter().map(|agent| Rule::new("task", agent, Action::Deny)));
    if access == Access::ReadOnly {
        rules.push(Rule::new("edit", "*", Action::Deny));
    }
    rules.iter().map(Rule::to_json).collect()
}

/// The same for all sessions, as `OPENCODE_PERMISSION` has it. Without a blanket rule: that would
/// loosen what the user's configuration says of a child.
pub(super) fn variable(access: Access, terms: &Terms) -> String {
    let mut all: Map<String, Value> = Map::new();
    for rule in of(access, terms) {
        let action = Value::from(rule.action.name());
        let entry = all.entry(rule.permission).or_insert(Value::Null);
        match (entry, &*rule.pattern) {
            (Value::Object(patterns), pattern) => {
                patterns.insert(pattern.to_owned(), action);
            }
            (entry, "*") => *entry = action,
            (entry @ Value::Null, pattern) => *entry = json!({pattern: action}),
            (entry, pattern) => *entry = json!({"*": entry.clone(), pattern: action}),
        }
    }
    Value::Object(all).to_string()
}

/// What access and policy say beyond "all allowed", in order.
fn of(access: Access, terms: &Terms) -> Vec<Rule> {
    let attended = terms.attended.is_some();
    let lifts = |name: &str| {
        attended || terms.policy.allow.iter().chain(&terms.policy.ask).any(|rule| rule.names(name))
    };
    let unless_lifted = |name: &str| match lifts(name) {
        true => Rule::new(name, "*", Action::Ask),
        false => Rule::new(name, "*", Action::Deny),
    };
    let mut rules = Vec::new();
    match access {
        Access::ReadOnly => rules.extend(["bash", "external_directory"].map(unless_lifted)),
        Access::Workspace => rules.push(unless_lifted("external_directory")),
        Access::Unconfined => rules.push(Rule::new("external_directory", "*", Action::Allow)),
    }
    // Denied by a rule it would end the turn without a word; asked about, it is denied by name.
    let looping = if access == Access::Unconfined { Action::Allow } else { Action::Ask };
    rules.push(Rule::new("doom_loop", "*", looping));
    rules.extend(asked(&terms.policy, &rules));
    if access == Access::ReadOnly {
        rules.push(Rule::new("edit", "*", Action::Deny));
    }
    rules
}

/// What the policy names is asked, so that its decision is the desk's and is kept. What it allows in
/// part is asked as a whole; what is denied here stays denied.
fn asked(policy: &Policy, rules: &[Rule]) -> Vec<Rule> {
    let whole = |rule: &PolicyRule| Rule::new(rule.permission(), "*", Action::Ask);
    let part = |rule: &PolicyRule| Rule::new(rule.permission(), rule.pattern(), Action::Ask);
    let narrowed = policy.deny.iter().chain(&policy.ask);
    let narrowed =
        narrowed.filter(|rule| on_whole(rules, rule.permission()) != Action::Deny).map(part);
    let mut all: Vec<Rule> = policy.allow.iter().map(whole).chain(narrowed).collect();
    // What is denied as a whole is not offered at all: nobody can go round being asked.
    let denied = policy.deny.iter().filter(|rule| rule.pattern() == "*");
    all.extend(denied.map(|rule| Rule::new(rule.permission(), "*", Action::Deny)));
    // A name with wildcards would be over what comes before it.
    all.sort_by_key(|rule| !rule.permission.contains(['*', '?']));
    all
}

/// What the rules say of a permission as a whole.
fn on_whole(rules: &[Rule], permission: &str) -> Action {
    let said = |rule: &&Rule| {
        rule.pattern == "*" && (rule.permission == permission || rule.permission == "*")
    };
    rules.iter().rev().find(said).map_or(Action::Allow, |rule| rule.action)
}

/// What the user's own configuration denies: `user` without and `merged` with what `variable` and the
/// project say, and the agents as they came out.
pub(super) fn own(user: &Value, merged: &Value, agents: &Value, variable: &str) -> Own {
    let ours: Value = serde_json::from_str(variable).unwrap_or_default();
    let our_rules = flattened(Some(&ours));
    let agent = merged.get("default_agent").and_then(Value::as_str).unwrap_or("build");
    let mut rules = Vec::new();
    for config in [user, merged] {
        // In the merged one the variable's rules stand among the user's, pattern by pattern.
        let is_ours = |rule: &Rule| std::ptr::eq(config, merged) && our_rules.contains(rule);
        let own = flattened(config.get("permission")).into_iter();
        rules.extend(own.filter(|rule| !is_ours(rule)));
        let agents = config.get("agent").and_then(|agents| agents.get(agent));
        rules.extend(flattened(agents.and_then(|agent| agent.get("permission"))));
    }
    let first = rules.iter().position(|rule| rule.action == Action::Deny).unwrap_or(rules.len());
    let mut denied: Vec<Rule> = Vec::new();
    for rule in rules.drain(first..) {
        if !denied.contains(&rule) {
            denied.push(rule);
        }
    }
    Own { denied, outputs: outputs(agents, agent), unasking: unasking(agents, &ours) }
}

/// Agents whose own configuration overrides what the variable says has to be asked.
fn unasking(agents: &Value, ours: &Value) -> Vec<String> {
    let asked = flattened(Some(ours));
    let asked: Vec<&Rule> = asked.iter().filter(|rule| rule.action == Action::Ask).collect();
    let is_child = |agent: &&Value| agent.get("mode").and_then(Value::as_str) != Some("primary");
    let agents = agents.as_array().into_iter().flatten().filter(is_child);
    let overrides = |agent: &&Value| {
        let rules: Vec<Rule> = listed(agent.get("permission"));
        asked.iter().any(|ask| {
            let after = rules.iter().rposition(|rule| rule == *ask).map_or(0, |at| at + 1);
            let is_over = |rule: &Rule| {
                rule.action == Action::Allow
                    && (rule.permission == ask.permission
                        || ask.permission.contains(['*', '?'])
                        || (after > 0 && rule.permission.contains(['*', '?'])))
            };
            let mut rules = rules[after..].iter().filter(|rule| !is_output(rule));
            rules.any(is_over)
        })
    };
    let names = agents.filter(overrides).filter_map(|agent| agent.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

/// Rules as the server lists them.
fn listed(rules: Option<&Value>) -> Vec<Rule> {
    let rules = rules.and_then(Value::as_array).into_iter().flatten();
    let read = rules.filter_map(|rule| {
        let text = |key| rule.get(key).and_then(Value::as_str);
        let action = Action::named(text("action")?)?;
        Some(Rule::new(text("permission")?, text("pattern")?, action))
    });
    read.collect()
}

fn is_output(rule: &Rule) -> bool {
    rule.permission == "external_directory" && rule.pattern.ends_with("/tool-output/*")
}

/// The agent's own rules end with the directory of cut outputs, whatever was configured.
fn outputs(agents: &Value, agent: &str) -> Vec<Rule> {
    let agents = agents.as_array().into_iter().flatten();
    let mut agents = agents.filter(|one| one.get("name").and_then(Value::as_str) == Some(agent));
    let rules = agents.next().map(|agent| listed(agent.get("permission"))).unwrap_or_default();
    let last = rules.last().filter(|rule| rule.action == Action::Allow && is_output(rule));
    last.cloned().into_iter().collect()
}

/// A configuration's object as rules, in its order. A word alone is for everything.
fn flattened(permission: Option<&Value>) -> Vec<Rule> {
    let named = |word: &Value| word.as_str().and_then(Action::named);
    let mut rules = Vec::new();
    match permission {
        Some(Value::Object(all)) => {
            for (name, value) in all {
                rules.extend(named(value).map(|action| Rule::new(name, "*", action)));
                for (pattern, word) in value.as_object().into_iter().flatten() {
                    rules.extend(named(word).map(|action| Rule::new(name, pattern, action)));
                }
            }
        }
        Some(word) => rules.extend(named(word).map(|action| Rule::new("*", "*", action))),
        None => {}
    }
    rules
}

#[cfg(test)]
#[path = "ruleset_tests.rs"]
mod tests;
