use super::*;

fn asked(id: &str, session: &str, command: &str, patterns: &[&str]) -> Permission {
    Permission {
        id: id.to_owned(),
        session: session.to_owned(),
        permission: "bash".to_owned(),
        patterns: patterns.iter().map(ToString::to_string).collect(),
        always: vec!["touch *".to_owned()],
        metadata: json!({"command": command}),
        call: Some(Call { message: "msg_1".to_owned(), call: format!("call_{id}") }),
    }
}

fn with_one() -> Asks {
    let mut asks = Asks::new(Access::Workspace);
    let ask = asks.permission(&asked("p1", "root", "touch a", &["touch a"]), "root").unwrap();
    assert_eq!((&*ask.key, &*ask.permission, ask.is_opaque), ("p1", "bash", false));
    assert_eq!(ask.detail["session"], "root");
    asks
}

fn pending(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[test]
fn an_ask_is_told_once_and_by_the_name_that_all_backends_share() {
    let mut asks = with_one();
    assert!(asks.permission(&asked("p1", "root", "touch a", &["touch a"]), "root").is_none());
    let write = Permission { permission: "write".to_owned(), ..asked("p2", "child", "", &["w"]) };
    let ask = asks.permission(&write, "root").unwrap();
    assert_eq!((&*ask.permission, &ask.detail["session"]), ("edit", &json!("child")));
}

#[test]
fn one_that_vanishes_is_foreign_unless_its_session_is_idle_or_was_refused() {
    let kind = InteractionKind::Permission;
    let mut asks = with_one();
    assert_eq!(asks.listed(kind, &pending(&["p1"]), |_| false), Ok(vec![]));
    assert_eq!(asks.listed(kind, &pending(&[]), |_| false), Ok(vec![]));
    assert!(asks.listed(kind, &pending(&[]), |_| false).unwrap_err().contains("touch a"));
    let mut asks = with_one();
    asks.listed(kind, &pending(&[]), |_| true).unwrap();
    assert_eq!(asks.listed(kind, &pending(&[]), |_| true), Ok(vec!["p1".to_owned()]));
    let mut asks = with_one();
    asks.permission(&asked("p2", "root", "ls", &["ls"]), "root").unwrap();
    assert_eq!(asks.tell("p2", &Verdict::Deny(None)), Some(kind));
    asks.listed(kind, &pending(&[]), |_| false).unwrap();
    assert_eq!(asks.listed(kind, &pending(&[]), |_| false), Ok(vec!["p1".to_owned()]));
}

#[test]
fn an_answer_that_was_not_sent_from_here_is_foreign() {
    let mut asks = with_one();
    assert!(asks.replied("root", "p1", "once").is_err());
    assert!(asks.replied("root", "p1", "reject").is_err());
    assert!(asks.replied("root", "unseen", "once").is_err());
    assert!(asks.replied("root", "unseen", "reject").is_err());
    asks.tell("p1", &Verdict::Allow).unwrap();
    assert_eq!(asks.tell("p1", &Verdict::Allow), None);
    assert!(asks.replied("root", "p1", "once").is_ok());
    assert!(asks.replied("root", "p1", "always").is_err());
    assert!(asks.replied("root", "p1", "reject").is_err());
    let mut asks = with_one();
    asks.tell("p1", &Verdict::Deny(Some("no".to_owned()))).unwrap();
    assert!(asks.replied("root", "p1", "reject").is_ok());
    assert!(asks.replied("root", "p1", "once").is_err());
    assert!(asks.replied("root", "swept and unseen", "reject").is_ok());
    assert!(asks.replied("child", "unseen", "reject").is_err());
}

#[test]
fn a_call_that_ran_without_leave_is_noticed() {
    let mut asks = with_one();
    assert!(asks.ran("root", "msg_1", "call_p1").is_err());
    assert!(asks.ran("root", "msg_1", "another").is_ok());
    assert!(asks.ran("child", "msg_1", "call_p1").is_ok());
    asks.tell("p1", &Verdict::Allow).unwrap();
    assert!(asks.ran("root", "msg_1", "call_p1").is_ok());
    let mut asks = with_one();
    asks.tell("p1", &Verdict::Deny(None)).unwrap();
    assert!(asks.ran("root", "msg_1", "call_p1").is_err());
}

#[test]
fn what_the_patterns_do_not_show_is_opaque() {
    for (command, patterns, expected) in [
        ("git status", &["git status"][..], false),
        ("git status; rm -rf x", &["git status", "rm -rf x"], false),
        ("git status && touch y | cat", &["git status", "touch y", "cat"], false),
        ("git status > /tmp/out", &["git status > /tmp/out"], true),
        ("git status $(rm x)", &["git status $(rm x)", "rm x"], true),
        ("cd /etc && ls", &["ls"], true),
        ("if true; then touch zz; fi", &["true", "touch zz"], true),
    ] {
        assert_eq!(is_opaque(&asked("p", "s", command, patterns)), expected, "{command}");
    }
}
