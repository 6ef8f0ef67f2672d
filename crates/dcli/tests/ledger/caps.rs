//! What each cap counts, who may set it, and what a refusal says.

use crate::desk::Desk;

#[test]
fn a_refusal_names_the_cap_the_limit_what_is_used_and_the_file() {
    let desk = Desk::new("[caps]\nmax_invocations_per_day = 1");
    desk.run_well(&[]);
    let file = desk.path("home/.config/dcli/config.toml");
    let needles = ["max_invocations_per_day", "(UTC)", "is 1, and 1 are used"];
    let outcome = desk.refused(&[], 28, &needles);
    let message = outcome.envelope["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    assert_eq!(outcome.envelope["errors"][0]["code"], "executorCapExceeded");
    assert!(outcome.stderr.contains("max_invocations_per_day"), "{outcome:?}");
}

#[test]
fn tokens_count_by_what_the_backend_reports_and_overspending_refuses_the_next() {
    let desk = Desk::new("[caps]\nmax_tokens_per_day = 10");
    desk.run_well(&[]);
    desk.run_well(&[]);
    desk.refused(&[], 28, &["max_tokens_per_day", "is 10, and 14 are used"]);
}

#[test]
fn each_group_has_its_own_sums_and_the_day_has_all_of_them() {
    let desk = Desk::new("[caps]\nmax_invocations_per_group = 1\nmax_tokens_per_group = 50");
    desk.run_well(&["--group", "a"]);
    desk.refused(&["--group", "a"], 28, &["max_invocations_per_group of group a (set in "]);
    desk.run_well(&["--group", "b"]);
    desk.run_well(&[]);
    assert_eq!(desk.of_days("invocations"), 3.0);
    assert_eq!(desk.sheet("group-a.json")["invocations"], 1);
    assert_eq!(desk.sheet("group-b.json")["spent"], 7.0);
}

#[test]
fn a_run_that_its_group_refuses_is_not_counted_in_its_day_either() {
    let desk = Desk::new("[caps]\nmax_invocations_per_day = 2\nmax_tokens_per_group = 7");
    desk.run_well(&["--group", "a"]);
    for _ in 0..3 {
        desk.refused(&["--group", "a"], 28, &["max_tokens_per_group", "is 7, and 7 are used"]);
    }
    assert_eq!(desk.of_days("invocations"), 1.0);
    desk.run_well(&["--group", "b"]);
    desk.refused(&["--group", "c"], 28, &["max_invocations_per_day"]);
    assert!(!desk.room.state().join("ledger/group-c.json").exists());
}

#[test]
fn a_group_is_counted_before_it_has_a_cap() {
    let desk = Desk::new("");
    desk.run_well(&["--group", "a"]);
    let config = "[caps]\nmax_invocations_per_group = 1";
    desk.room.file("home/.config/dcli/config.toml", config).unwrap();
    desk.refused(&["--group", "a"], 28, &["max_invocations_per_group"]);
}

#[test]
fn without_a_cap_and_without_a_group_nothing_is_counted() {
    let desk = Desk::new("[limits]\nmax_jobs = 2");
    desk.run_well(&[]);
    assert!(!desk.room.state().join("ledger").exists());
    assert!(!desk.room.state().join("locks").exists());
}

#[test]
fn a_projects_policy_lowers_a_cap_and_cannot_raise_one() {
    let desk = Desk::new("[caps]\nmax_invocations_per_day = 2");
    let policy = |most: u32| {
        let text = format!(r#"{{"delegation": {{"max_invocations_per_day": {most}}}}}"#);
        desk.room.file("work/.dcli/policy.json", &text).unwrap();
    };
    policy(1);
    desk.run_well(&[]);
    desk.refused(&[], 28, &["is 1, and 1 are used", "work/.dcli/policy.json"]);
    policy(9);
    desk.run_well(&[]);
    desk.refused(&[], 28, &["is 2, and 2 are used", "config.toml"]);
}

#[test]
fn what_is_no_cap_is_refused_with_its_key_and_its_file() {
    let cases = [
        ("[caps]\nmax_tokens_per_day = nan", "max_tokens_per_day"),
        ("[caps]\nmax_tokens_per_group = inf", "max_tokens_per_group"),
        ("[caps]\nmax_concurrent = -1", "max_concurrent"),
        ("[caps]\nmax_invocations_per_day = 1.5", "max_invocations_per_day"),
        ("[caps]\nmax_cost = 1", "max_cost"),
        ("[limits]\nmax_jobs = 0", "limits.max_jobs"),
        ("[limits.backend]\ncodex = 0", "limits.backend.codex"),
    ];
    for (config, key) in cases {
        Desk::new(config).refused(&[], 2, &[key, "config.toml"]);
    }
    let desk = Desk::new("");
    for key in ["max_jobs", "max_concurrent", "max_tokens_per_group"] {
        let text = format!(r#"{{"delegation": {{"{key}": -1}}}}"#);
        desk.room.file("work/.dcli/policy.json", &text).unwrap();
        desk.refused(&[], 2, &[key, "policy.json"]);
    }
    desk.refused(&["--group", "no/group"], 2, &["--group"]);
}
