use std::time::Duration;

use super::*;

fn terms(allow: &[&str], ask: &[&str], deny: &[&str], attended: bool) -> Terms {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Terms {
        policy: Policy { allow: rules(allow), ask: rules(ask), deny: rules(deny) },
        attended: attended.then_some(Duration::from_secs(60)),
    }
}

/// As opencode reads them: the last that matches counts.
fn said(rules: &Value, permission: &str, pattern: &str) -> String {
    let fits = |have: &str, want: &str| {
        have == "*" || have == want || have.strip_suffix('*').is_some_and(|s| want.starts_with(s))
    };
    let rules = rules.as_array().unwrap().iter().rev();
    let mut rules = rules.filter(|rule| {
        fits(rule["permission"].as_str().unwrap(), permission)
            && fits(rule["pattern"].as_str().unwrap(), pattern)
    });
    rules.next().unwrap()["action"].as_str().unwrap().to_owned()
}

#[test]
fn each_access_says_explicitly_what_it_allows_attended_and_not() {
    use Access::{ReadOnly, Unconfined, Workspace};
    let table = [
        (ReadOnly, false, ["deny", "deny", "deny", "ask", "allow"]),
        (ReadOnly, true, ["deny", "ask", "ask", "ask", "allow"]),
        (Workspace, false, ["allow", "allow", "deny", "ask", "allow"]),
        (Workspace, true, ["allow", "allow", "ask", "ask", "allow"]),
        (Unconfined, false, ["allow", "allow", "allow", "allow", "allow"]),
        (Unconfined, true, ["allow", "allow", "allow", "allow", "allow"]),
    ];
    for (access, attended, expected) in table {
        let rules = session(access, &terms(&[], &[], &[], attended), &Own::default());
        let names = ["edit", "bash", "external_directory", "doom_loop", "read"];
        let found = names.map(|name| said(&rules, name, "x"));
        assert_eq!(found, expected, "{access:?} {attended}");
    }
}

#[test]
fn what_a_policy_names_is_asked_and_an_edit_stays_denied_under_read_only() {
    let terms = terms(&["bash:git *", "*"], &[], &["webfetch:http://x*"], false);
    let rules = session(Access::ReadOnly, &terms, &Own::default());
    for (name, pattern, action) in [
        ("bash", "git status", "ask"),
        ("bash", "rm x", "ask"),
        ("webfetch", "http://x/y", "ask"),
        ("edit", "a", "deny"),
        ("external_directory", "/etc/*", "ask"),
    ] {
        assert_eq!(said(&rules, name, pattern), action, "{name}");
    }
}

#[test]
fn a_denial_of_a_part_asks_about_that_part_alone_and_lifts_nothing() {
    let terms = terms(&[], &[], &["bash:rm *"], false);
    let rules = session(Access::Workspace, &terms, &Own::default());
    assert_eq!(said(&rules, "bash", "rm x"), "ask");
    assert_eq!(said(&rules, "bash", "ls"), "allow");
    let rules = session(Access::ReadOnly, &terms, &Own::default());
    assert_eq!(said(&rules, "bash", "rm x"), "deny");
    let shown = variable(Access::Workspace, &terms);
    let expected = r#"{"external_directory":"deny","doom_loop":"ask","bash":{"rm *":"ask"}}"#;
    assert_eq!(shown, expected);
}

#[test]
fn what_the_users_configuration_denies_stays_denied() {
    let user = json!({"permission": {"webfetch": "deny", "bash": {"*": "deny", "git *": "allow"}}});
    let merged = json!({
        "permission": {"webfetch": "deny", "bash": "ask"},
        "agent": {"build": {"permission": {"edit": "deny"}}},
    });
    let own = own(&user, &merged, &json!([]), r#"{"bash":"ask"}"#);
    let terms = terms(&["bash"], &[], &[], false);
    let rules = session(Access::Workspace, &terms, &own);
    for (name, pattern, action) in [
        ("webfetch", "x", "deny"),
        ("edit", "x", "deny"),
        ("bash", "ls", "deny"),
        ("bash", "git status", "ask"),
        ("read", "x", "allow"),
    ] {
        assert_eq!(said(&rules, name, pattern), action, "{name} {pattern}");
    }
}

#[test]
fn cut_outputs_of_tools_can_be_read() {
    let agents = json!([{"name": "build", "permission": [
        {"permission": "bash", "pattern": "*", "action": "allow"},
        {"permission": "external_directory", "pattern": "/d/tool-output/*", "action": "allow"},
    ]}]);
    let own = own(&json!({}), &json!({}), &agents, "{}");
    let rules = session(Access::ReadOnly, &Terms::default(), &own);
    assert_eq!(said(&rules, "external_directory", "/d/tool-output/x"), "allow");
    assert_eq!(said(&rules, "external_directory", "/d/other"), "deny");
}

#[test]
fn an_agent_that_would_not_ask_is_not_used_for_children() {
    let rule = |permission: &str, action: &str| json!({"permission": permission, "pattern": "*", "action": action});
    let agents = json!([
        {"name": "build", "mode": "primary", "permission": [rule("bash", "allow")]},
        {"name": "general", "mode": "subagent", "permission": [
            rule("*", "allow"), rule("bash", "ask"), rule("webfetch", "allow"),
        ]},
        {"name": "eager", "mode": "subagent", "permission": [
            rule("*", "allow"), rule("bash", "ask"), rule("bash", "allow"),
        ]},
        {"name": "wild", "mode": "all", "permission": [rule("bash", "ask"), rule("*", "allow")]},
    ]);
    let own = own(&json!({}), &json!({}), &agents, r#"{"bash":"ask"}"#);
    assert_eq!(own.unasking, ["eager", "wild"]);
    let rules = session(Access::Workspace, &Terms::default(), &own);
    assert_eq!(said(&rules, "task", "eager"), "deny");
    assert_eq!(said(&rules, "task", "general"), "allow");
}

#[test]
fn a_users_own_denial_leaves_what_the_policy_asks_about_beside_it() {
    let terms = terms(&[], &[], &["bash:mkdir *"], false);
    let variable = variable(Access::Workspace, &terms);
    let user = json!({"permission": {"bash": {"touch *": "deny"}}});
    let mut merged: Value =
        json!({"permission": serde_json::from_str::<Value>(&variable).unwrap()});
    merged["permission"]["bash"]["touch *"] = json!("deny");
    let own = own(&user, &merged, &json!([]), &variable);
    let rules = session(Access::Workspace, &terms, &own);
    assert_eq!(said(&rules, "bash", "mkdir x"), "ask", "{rules:#}");
    assert_eq!(said(&rules, "bash", "touch x"), "deny", "{rules:#}");
    assert_eq!(said(&rules, "bash", "ls"), "allow", "{rules:#}");
}

#[test]
fn what_is_denied_as_a_whole_is_not_offered() {
    let terms = terms(&[], &[], &["bash"], true);
    let rules = session(Access::Workspace, &terms, &Own::default());
    assert_eq!(said(&rules, "bash", "ls"), "deny");
}
