//! SIGKILL of `submit` itself, at each of its steps: before the job can be seen there is none, and
//! the clean-up finds what was begun; after that it is a job that no worker ever had.

use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use rustix::process::Signal;
use serde_json::json;

use super::common::{Dialect, Stage, shown};

/// The stage after the death of a `submit` at `point`.
fn killed_at(point: &str) -> Stage {
    let stage = Stage::new([Dialect::of("codex").ok("Done.").told()]);
    stage.room.file("home/.config/dcli/config.toml", "[limits]\nmax_jobs = 1\n").unwrap();
    let held = stage.path("tmp/held");
    let submit = stage.job("submit", "codex").arg("--group").arg("g");
    let submit = submit.env("DCLI_TEST_FAULT", point).env("DCLI_TEST_FAULT_FILE", &held);
    let submit = submit.words("Do it.").start();
    wait_for(point, HANG_LIMIT, || held.exists().then_some(())).unwrap();
    submit.signal(Signal::KILL);
    submit.finish_uncontained();
    // A worker that has nothing in hand yet ends by itself.
    stage.marker.wait_gone(HANG_LIMIT).unwrap();
    stage
}

/// Names in the directories of jobs.
fn names(stage: &Stage) -> Vec<String> {
    let repositories = std::fs::read_dir(stage.room.state().join("jobs")).unwrap();
    let entries = repositories.flat_map(|repo| std::fs::read_dir(repo.unwrap().path()).unwrap());
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn next_runs(stage: &Stage, point: &str) {
    let next = stage.job("run", "codex").words("Go on.").run();
    assert_eq!((next.code(), next.text().trim()), (0, "Done."), "{point}: {next:?}");
}

#[test]
fn a_submit_killed_before_its_job_is_published_leaves_no_job() {
    for point in ["make", "append created"] {
        let stage = killed_at(point);
        let staged = names(&stage);
        let [staged] = staged.as_slice() else { panic!("{point}: {staged:?}") };
        let id = staged.strip_prefix(".new-").unwrap_or_else(|| panic!("{point}: {staged}"));
        let listing = stage.over(&["list", "--all-repos", "--json"]).json("jobs");
        assert_eq!(listing["jobs"], json!([]), "{point}");
        assert_eq!(stage.over(&["status", id]).code(), 3, "{point}");
        let arguments = ["cleanup", "--all-repos", "--older-than", "7d", "--json"];
        let report = stage.over(&arguments).json("cleanup");
        let found: Vec<_> =
            report["orphans"].as_array().unwrap().iter().map(|orphan| &orphan["what"]).collect();
        assert!(found.contains(&&json!("a job that was never finished being made")), "{report}");
        assert_eq!(names(&stage), Vec::<String>::new(), "{point}");
        let report = stage.over(&arguments).json("cleanup");
        assert_eq!(report["orphans"], json!([]), "{point}: {report}");
        next_runs(&stage, point);
    }
    shown("9", "submit-killed-unpublished", "no job, one orphan, removed");
}

#[test]
fn a_submit_killed_before_a_worker_has_its_job_leaves_one_that_failed_to_launch() {
    for point in ["publish", "hand over"] {
        let stage = killed_at(point);
        let [id] = <[String; 1]>::try_from(names(&stage)).unwrap();
        let status = stage.status(&id);
        let seen = (&status["state"], &status["failure"]["class"], &status["command_exit_code"]);
        let wanted = (&json!("failed"), &json!("worker_launch"), &json!(18));
        assert_eq!(seen, wanted, "{point}: {status}");
        assert_eq!(stage.over(&["wait", &id]).code(), 18, "{point}");
        assert!(!stage.was_started(), "{point}");
        assert_eq!(stage.journal(&id).len(), 2, "{point}");
        next_runs(&stage, point);
    }
    shown("9", "submit-killed-published", "failed, worker_launch");
}
