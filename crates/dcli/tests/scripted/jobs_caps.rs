//! Caps over jobs: per group and per day, in one ledger over all processes and all stores.

use dcli_testkit::agent::Step;

use crate::common::{Dialect, Exec, Stage, shown};

fn stage(config: &str) -> Stage {
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    stage.room.file("home/.config/dcli/config.toml", config).unwrap();
    stage
}

fn ran(exec: Exec<'_>) {
    let outcome = exec.words("Do it.").run();
    assert_eq!((outcome.code(), outcome.text()), (0, "Done."), "{outcome:?}");
}

/// The message of the refusal that made no job.
fn refused(stage: &Stage, verb: &str, options: &[&str]) -> String {
    let before = stage.over(&["list", "--json"]).json("jobs");
    let outcome = stage.job(verb, "codex").args(options).arg("--json").words("Do it.").run();
    let error = outcome.json("error")["error"].clone();
    assert_eq!((outcome.code(), &error["class"]), (28, &"cap_exceeded".into()), "{outcome:?}");
    assert_eq!(error["job_created"], false);
    assert_eq!(stage.over(&["list", "--json"]).json("jobs"), before);
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn job_caps_of_a_group_hold_for_run_and_submit() {
    let stage = stage("[caps]\nmax_invocations_per_group = 2\n");
    ran(stage.job("run", "codex").args(["--group", "a"]));
    let submit = stage.job("submit", "codex").args(["--group", "a"]).words("Do it.");
    let id = stage.submitted(submit);
    assert_eq!(stage.waited(&id)["state"], "done");
    for verb in ["run", "submit"] {
        let message = refused(&stage, verb, &["--group", "a"]);
        assert!(message.contains("max_invocations_per_group of group a"), "{message}");
        assert!(message.contains("is 2, and 2 are used"), "{message}");
    }
    ran(stage.job("run", "codex").args(["--group", "b"]));
    shown("14", "job-caps-group", "2 jobs of a group ran; run and submit are 28 and make no job");
}

#[test]
fn job_caps_of_a_day_hold_for_jobs_that_waited_for_their_turn() {
    let stage = stage("[caps]\nmax_invocations_per_day = 2\n[limits]\nmax_jobs = 1\n");
    let [hear, record] = stage.hear();
    let go = stage.path("tmp/go");
    stage.play([hear, record, Step::WaitFile(go.clone()), Dialect::of("codex").ok("Done.").told()]);
    let jobs = ["1", "2", "3"].map(|_| stage.submit("codex"));
    std::fs::write(&go, "").unwrap();
    let ended = jobs.map(|id| stage.over(&["wait", &id, "--json"]).json("job"));
    let states = ended.each_ref().map(|job| job["state"].as_str().unwrap());
    assert_eq!(states, ["done", "done", "failed"], "{ended:?}");
    assert_eq!(ended[2]["failure"]["class"], "cap_exceeded");
    assert_eq!(ended[2]["command_exit_code"], 28);
    assert!(refused(&stage, "submit", &[]).contains("max_invocations_per_day"));
    let exec = stage.exec("codex").words("Do it.").run();
    exec.refused("executorCapExceeded", 28);
    shown(
        "14",
        "job-caps-day",
        "of 3 waiting jobs 2 ran, the third failed 28; the next is refused",
    );
}
