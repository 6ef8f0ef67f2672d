//! Clause: the environment is exactly what was promised.

use std::collections::BTreeMap;

use dcli_testkit::agent::SCRIPT_VARIABLE;

use crate::clauses::every;
use crate::common::{Dialect, Exec, Stage};

type Variables = BTreeMap<String, String>;

fn variables<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Variables {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What the stage itself gives to dcli.
fn staged(stage: &Stage) -> Variables {
    let place = |path: std::path::PathBuf| path.display().to_string();
    variables([
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("HOME", place(stage.room.home())),
        ("TMPDIR", place(stage.room.tmp())),
        ("DCLI_STATE_ROOT", place(stage.room.state())),
        (SCRIPT_VARIABLE, place(stage.path("script.json"))),
        (stage.marker.name(), stage.marker.value().to_owned()),
    ])
}

/// What dcli adds to what is inherited.
fn completed(dialect: &Dialect, stage: &Stage, mut inherited: Variables) -> Variables {
    let environment = &dialect.record.environment;
    inherited.retain(|name, _| !environment.remove.contains(name));
    for (name, value) in &environment.set {
        inherited.entry(name.clone()).or_insert_with(|| value.clone());
    }
    inherited.extend(dialect.record.access.read_only.env.clone());
    let cwd = stage.room.work().canonicalize().unwrap().display().to_string();
    inherited.extend(variables([("GIT_TERMINAL_PROMPT", "0".to_owned()), ("PWD", cwd)]));
    let stamps = [("DCLI_DEPTH", "1"), ("DCLI_WORKER", "1"), ("DCLI_BACKEND", dialect.id())];
    inherited.extend(variables(stamps.map(|(name, value)| (name, value.to_owned()))));
    inherited
}

/// A run whose own environment lies about the directory, asks questions and nests in a session.
fn nested<'s>(dialect: &Dialect, stage: &'s Stage) -> Exec<'s> {
    let mut exec = dialect.exec(stage).env("PWD", "/lie").env("OLDPWD", "/older");
    for name in &dialect.record.environment.remove {
        exec = exec.env(name, "1");
    }
    exec = exec.env("DCLI_WORKER", "stale").env("DCLI_BACKEND", "stale");
    exec.env("GIT_TERMINAL_PROMPT", "1").env("MINE", "yes").env("YOURS", "a=b").words("Do it.")
}

fn given(stage: &Stage, exec: Exec<'_>) -> Variables {
    exec.run().envelope().ok("Done.");
    stage.seen().env
}

#[test]
fn clause_environment_is_all_of_the_callers_but_guards_and_a_lying_pwd() {
    every("environment-all", |dialect| {
        let stage = Stage::new([dialect.ok("Done.").told()]);
        let mut inherited = staged(&stage);
        inherited.extend(variables([("MINE", "yes".to_owned()), ("YOURS", "a=b".to_owned())]));
        let found = given(&stage, nested(dialect, &stage));
        assert_eq!(found, completed(dialect, &stage, inherited));
        assert_eq!(stage.seen().cwd, stage.room.work().canonicalize().unwrap());
    });
}

#[test]
fn clause_environment_of_a_list_is_that_list() {
    every("environment-list", |dialect| {
        let stage = Stage::new([dialect.ok("Done.").told()]);
        let guard = dialect.record.environment.remove.first().cloned();
        let guard = guard.unwrap_or_else(|| "ABSENT".to_owned());
        let marker = stage.marker.name();
        let list = format!("PATH, MINE,{SCRIPT_VARIABLE},{marker},NOT_SET,PWD,{guard}");
        let found = given(&stage, nested(dialect, &stage).args(["--inherit-env", &list]));
        let mut inherited = staged(&stage);
        inherited.retain(|name, _| ["PATH", SCRIPT_VARIABLE, marker].contains(&name.as_str()));
        inherited.insert("MINE".to_owned(), "yes".to_owned());
        assert_eq!(found, completed(dialect, &stage, inherited));
    });
}

#[test]
fn clause_environment_of_an_empty_list_is_none_and_explicit_values_win() {
    every("environment-none", |dialect| {
        let stage = Stage::new([dialect.ok("Done.").told()]);
        let staged = staged(&stage);
        let kept = [SCRIPT_VARIABLE, stage.marker.name()];
        let mut explicit: Variables =
            kept.iter().map(|name| ((*name).to_owned(), staged[*name].clone())).collect();
        explicit.insert("MINE".to_owned(), "x=y, z".to_owned());
        // The caller may set what is set or removed for it, in full knowledge.
        explicit.extend(dialect.record.environment.set.keys().map(|n| (n.clone(), "mine".into())));
        explicit.extend(dialect.record.environment.remove.iter().map(|n| (n.clone(), "1".into())));
        let mut exec = nested(dialect, &stage).args(["--inherit-env", ""]);
        for (name, value) in &explicit {
            exec = exec.arg("--env").arg(format!("{name}={value}"));
        }
        let found = given(&stage, exec.args(["--env", "PWD=/lie"]));
        let mut wanted = completed(dialect, &stage, Variables::new());
        wanted.extend(explicit);
        assert_eq!(found, wanted);
    });
}
