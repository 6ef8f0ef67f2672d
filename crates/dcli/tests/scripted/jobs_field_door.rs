//! FIELD 19 as jobs: `submit` returns at once, whatever its caller does with its output and however
//! the caller ends; its worker has nothing of the caller's.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};

use crate::common::{Dialect, Stage, fake_agent, shown};

/// A stage whose agent waits for the file `tmp/go`.
fn waiting() -> Stage {
    let stage = Stage::new([]);
    let go = [Step::Touch(stage.path("tmp/ready")), Step::WaitFile(stage.path("tmp/go"))];
    stage.play(go.into_iter().chain([Dialect::of("claude").ok("Done.").told()]));
    stage
}

/// The command line that submits a job, for a shell.
fn submit() -> String {
    format!(
        "{} submit --backend claude --command {} -- 'Do it.'",
        env!("CARGO_BIN_EXE_dcli"),
        fake_agent().display(),
    )
}

/// `program` with these arguments, to its end, in the stage's environment.
fn run(stage: &Stage, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("HOME", stage.room.home()).env("TMPDIR", stage.room.tmp());
    command.env("DCLI_STATE_ROOT", stage.room.state()).env("SHELL", "/bin/sh");
    command.env("FAKE_AGENT_SCRIPT", stage.path("script.json"));
    stage.marker.plant(&mut command);
    command.current_dir(stage.room.work()).stdin(Stdio::null());
    command.output().unwrap()
}

/// The job that a shell's output names between `<` and `>`.
fn named(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = text.split_once('<').unwrap_or_else(|| panic!("{output:?}"));
    rest.split_once('>').unwrap().0.to_owned()
}

/// Session, process group and terminal of a process.
fn standing(pid: i32) -> [i64; 3] {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    [3, 2, 4].map(|index| fields[index].parse().unwrap())
}

fn descriptors(pid: i32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect()
}

/// The worker is up, the caller gone: nothing of the caller's is in it, and the job ends well.
fn stands_alone(stage: &Stage, id: &str) {
    stage.wait_file("tmp/ready");
    let worker = stage.worker(id);
    let [session, group, terminal] = standing(worker);
    assert_ne!(session, standing(std::process::id().try_into().unwrap())[0]);
    assert_eq!(terminal, 0, "the worker has a terminal");
    assert_eq!(session, group);
    let held = descriptors(worker);
    // Its record, its program, and what it talks to its own tree with; no pipe, no file of others.
    let own = [stage.room.state(), "/dev/null".into(), env!("CARGO_BIN_EXE_dcli").into()];
    let is_own = |target: &PathBuf| {
        let text = target.display().to_string();
        let nameless = ["anon_inode:", "socket:", "/memfd:", "/proc/"];
        nameless.iter().any(|beginning| text.starts_with(beginning))
            || own.iter().any(|own| target.starts_with(own))
    };
    let foreign: Vec<_> = held.iter().filter(|target| !is_own(target)).collect();
    assert!(foreign.is_empty(), "{foreign:?} of {held:?}");
    stage.room.file("tmp/go", "").unwrap();
    assert_eq!(stage.waited(id)["state"], "done");
}

#[test]
fn field_19_submit_in_a_command_substitution_returns_while_the_job_runs() {
    let stage = waiting();
    // Descriptor 7 is the caller's own; whoever holds on to it holds the caller up.
    let held = stage.path("tmp/held");
    let line = format!("exec 7>{}; id=$({}); echo \"<$id>\"", held.display(), submit());
    let output = run(&stage, "sh", &["-c", &line]);
    stands_alone(&stage, &named(&output));
    let agent = stage.seen();
    assert!(!agent.fds.iter().any(|fd| fd.target.ends_with("held")), "{:?}", agent.fds);
    shown(
        "14",
        "job-field-19",
        "$(submit), submit | cat and a terminal that hung up: at once, done",
    );
}

#[test]
fn field_19_submit_before_a_pipe_lets_the_reader_see_the_end() {
    let stage = waiting();
    let line = format!("printf '<'; {} | cat | tr -d '\\n'; echo '>'", submit());
    let output = run(&stage, "sh", &["-c", &line]);
    stands_alone(&stage, &named(&output));
}

#[test]
fn field_19_the_job_outlives_the_terminal_and_the_group_of_its_caller() {
    let stage = waiting();
    // script(1) makes a terminal the controlling one; it hangs up when the shell has ended, and the
    // shell ends by a signal to its own group.
    let line = format!("id=$({}); echo \"<$id>\"; kill -HUP 0; kill -TERM 0", submit());
    let output = run(&stage, "script", &["--quiet", "--command", &line, "/dev/null"]);
    stands_alone(&stage, &named(&output));
}

#[test]
fn field_19_waiting_in_slices_ends_with_20_until_the_job_has_ended() {
    let stage = waiting();
    let id = stage.submit("claude");
    stage.wait_file("tmp/ready");
    for _ in 0..2 {
        let slice = stage.over(&["wait", &id, "--timeout-sec", "0.1", "--json"]);
        assert_eq!((slice.code(), &slice.json("job")["state"]), (20, &"running".into()));
    }
    stage.room.file("tmp/go", "").unwrap();
    assert_eq!(stage.over(&["wait", &id, "--timeout-sec", "60"]).code(), 0);
    wait_until("the worker to end", HANG_LIMIT, || stage.marker.alive().is_empty()).unwrap();
}
