//! The fake agent does each step of its script, seen from outside.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dcli_testkit::agent::{Child, ChildKind, Record, Repeat, SCRIPT_VARIABLE, Script, Step};
use dcli_testkit::agent::{Heard, WriteFile};
use dcli_testkit::hang::{HANG_LIMIT, wait_for, wait_until};
use dcli_testkit::process::{Found, Marker};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

struct Stage {
    directory: TempDir,
    marker: Marker,
}

impl Stage {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), marker: Marker::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn agent(&self, steps: impl IntoIterator<Item = Step>) -> Command {
        let script = self.path("script.json");
        Script::of(steps).save(&script).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli-fake-agent"));
        command.arg("--script").arg(script).stdin(Stdio::null());
        self.marker.plant(&mut command);
        command
    }

    fn run(&self, steps: impl IntoIterator<Item = Step>) -> Output {
        self.agent(steps).output().unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.marker.kill_all(HANG_LIMIT).unwrap();
    }
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn wait_path(path: &Path) {
    wait_until("a file", HANG_LIMIT, || path.exists()).unwrap();
}

#[test]
fn output_is_exactly_the_bytes_of_the_script() {
    let stage = Stage::new();
    std::fs::write(stage.path("golden"), b"raw\0file").unwrap();
    let output = stage.run([
        Step::Stdout("no newline".into()),
        Step::StdoutHex("ff 00\n0a".into()),
        Step::StdoutFile(stage.path("golden")),
        Step::StdoutRepeat(Repeat { line: "x".into(), times: 3 }),
        Step::Stderr("to the side".into()),
        Step::Exit(7),
    ]);
    assert_eq!(output.stdout, b"no newline\xff\x00\nraw\0filex\nx\nx\n");
    assert_eq!(output.stderr, b"to the side");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn four_hundred_thousand_lines_come_out_whole() {
    let repeat = Repeat { line: "{\"type\":\"event\"}".into(), times: 400_000 };
    let output = Stage::new().run([Step::StdoutRepeat(repeat)]);
    assert_eq!(output.stdout.len(), 400_000 * 17);
}

#[test]
fn a_record_tells_what_the_process_was_given() {
    let stage = Stage::new();
    let prompt = stage.path("prompt");
    std::fs::write(&prompt, b"say \xff this").unwrap();
    let record = stage.path("record.json");
    let mut agent = stage.agent([Step::ReadStdin(true), Step::Record(record.clone())]);
    agent.args(["--model", "-m"]).env("PWD", "/a/lie").current_dir(stage.directory.path());
    agent.stdin(std::fs::File::open(&prompt).unwrap());
    assert!(agent.status().unwrap().success());
    let record = Record::load(&record).unwrap();
    assert_eq!(record.argv[3..], ["--model", "-m"]);
    assert_eq!(record.pwd.as_deref(), Some("/a/lie"));
    assert_eq!(record.cwd, stage.directory.path().canonicalize().unwrap());
    assert_eq!(record.env[stage.marker.name()], stage.marker.value());
    assert_eq!(record.stdin_hex.as_deref(), Some("73617920ff2074686973"));
    assert_eq!(record.stdin_bytes, 10);
    let numbers: Vec<u32> = record.fds.iter().map(|descriptor| descriptor.fd).collect();
    assert_eq!(numbers[..3], [0, 1, 2]);
    assert_eq!(record.fds[0].target, prompt.canonicalize().unwrap());
    assert_eq!(record.fds[0].position, 10);
    assert_eq!(record.ppid, i32::try_from(std::process::id()).unwrap());
}

#[test]
fn an_agent_that_reads_line_by_line_does_what_fits_what_it_heard() {
    let stage = Stage::new();
    let heard = |text: &str, said: &str| {
        let steps = vec![Step::Stdout(said.into())];
        Step::IfHeard(Heard { text: text.into(), steps })
    };
    let record = stage.path("record.json");
    let mut agent = stage.agent([
        Step::ReadUntil("answer".into()),
        heard("yes", "it may"),
        heard("no", "it may not"),
        Step::ReadUntil("never said".into()),
        heard("yes", "still"),
        Step::Record(record.clone()),
    ]);
    let input = stage.path("input");
    std::fs::write(&input, "hello yes\nanswer: yes\nmore\n").unwrap();
    let output = agent.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert_eq!(output.stdout, b"it may");
    assert_eq!(Record::load(&record).unwrap().stdin_bytes, 27);
}

#[test]
fn the_script_may_be_named_by_the_environment_and_version_answers_alone() {
    let stage = Stage::new();
    let script = stage.path("versioned.json");
    std::fs::write(&script, r#"{"version":"fake 1.2.3","steps":[{"stdout":"ran"}]}"#).unwrap();
    let run = |argument: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dcli-fake-agent"));
        command.arg(argument).env(SCRIPT_VARIABLE, &script).output().unwrap().stdout
    };
    assert_eq!(run("--version"), b"fake 1.2.3\n");
    assert_eq!(run("anything"), b"ran");
}

#[test]
fn a_missing_or_wrong_script_is_an_error_and_not_an_empty_run() {
    let stage = Stage::new();
    let mut none = Command::new(env!("CARGO_BIN_EXE_dcli-fake-agent"));
    let output = none.env_remove(SCRIPT_VARIABLE).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    std::fs::write(stage.path("bad"), r#"[{"stduot":"x"}]"#).unwrap();
    let output = none.arg("--script").arg(stage.path("bad")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("stduot"), "{output:?}");
}

#[test]
fn ignored_signals_are_ignored_from_the_start_and_change_no_environment() {
    let stage = Stage::new();
    let record = stage.path("record.json");
    let names = ["INT", "TERM", "HUP"].map(String::from).to_vec();
    let steps = [Step::Ignore(names), Step::Record(record.clone()), Step::Hang(true)];
    let mut agent = stage.agent(steps);
    agent.env("PWD", "/a/lie");
    let mut child = agent.spawn().unwrap();
    wait_path(&record);
    let record = Record::load(&record).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        assert_ne!(record.ignored_signals & (1 << (signal.as_raw() - 1)), 0);
        kill(child.id(), signal);
    }
    assert_eq!(record.pid.unsigned_abs(), child.id());
    let mut given: std::collections::BTreeMap<String, String> = std::env::vars().collect();
    given.insert("PWD".into(), "/a/lie".into());
    given.insert(stage.marker.name().into(), stage.marker.value().into());
    assert_eq!(record.env, given);
    assert_eq!(record.argv[1], "--script");
    assert!(child.try_wait().unwrap().is_none());
    kill(child.id(), Signal::KILL);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn an_interrupt_plays_its_own_steps_and_ends_the_agent() {
    let stage = Stage::new();
    let ready = stage.path("ready");
    let last_words = vec![Step::Stdout("aborted\n".into()), Step::Exit(1)];
    let steps = [Step::OnInterrupt(last_words), Step::Touch(ready.clone()), Step::Hang(true)];
    let child = stage.agent(steps).stdout(Stdio::piped()).spawn().unwrap();
    wait_path(&ready);
    kill(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"aborted\n");
}

#[test]
fn a_self_sent_signal_ends_it_and_a_stop_keeps_it_until_it_is_continued() {
    let stage = Stage::new();
    assert_eq!(stage.run([Step::SignalSelf(11)]).status.signal(), Some(11));
    let steps = [Step::StopSelf(true), Step::Stdout("went on".into())];
    let child = stage.agent(steps).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the agent to stop", HANG_LIMIT, || {
        stage.marker.alive().iter().any(|found| found.state == 'T')
    })
    .unwrap();
    kill(child.id(), Signal::CONT);
    assert_eq!(child.wait_with_output().unwrap().stdout, b"went on");
}

#[test]
fn a_closed_stdout_ends_the_pipe_while_the_agent_lives() {
    let stage = Stage::new();
    let steps = [Step::Stdout("last".into()), Step::CloseStdout(true), Step::Hang(true)];
    let mut child = stage.agent(steps).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "last");
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_closed_stdin_breaks_the_pipe_of_its_writer() {
    let stage = Stage::new();
    let closed = stage.path("closed");
    let steps = [Step::CloseStdin(true), Step::Touch(closed.clone()), Step::Hang(true)];
    let mut child = stage.agent(steps).stdin(Stdio::piped()).spawn().unwrap();
    wait_path(&closed);
    let error = child.stdin.take().unwrap().write_all(b"x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn steps_wait_for_files_and_write_them() {
    let stage = Stage::new();
    let (go, part, made) = (stage.path("go"), stage.path("part"), stage.path("made"));
    let file = WriteFile { path: made.clone(), content: "text".into() };
    let steps = [
        Step::WaitFile(go.clone()),
        Step::StdoutFile(go.clone()),
        Step::BusyMs(1),
        Step::SleepMs(1),
        Step::Write(file),
    ];
    let child = stage.agent(steps).stdout(Stdio::piped()).spawn().unwrap();
    std::fs::write(&part, "went").unwrap();
    std::fs::rename(part, go).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"went");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "text");
}

#[test]
fn a_hostile_tree_can_be_left_behind() {
    let stage = Stage::new();
    let ready = stage.path("ready");
    let args = ["--setsid", "--ignore", "--ready"].map(String::from).into_iter();
    let args = args.chain([ready.to_string_lossy().into_owned()]).collect();
    let tree = Child { kind: ChildKind::Hostile, seconds: 60, args };
    let mut agent = stage.agent([Step::Spawn(tree), Step::WaitFile(ready)]);
    assert!(agent.status().unwrap().success());
    let alive = stage.marker.alive();
    assert!(alive.iter().any(|found| found.comm == "dcli-hostile-tr"), "{alive:?}");
}

fn spawned(stage: &Stage, kind: ChildKind) -> (Output, Vec<Found>) {
    let child = Child { kind, seconds: 60, args: Vec::new() };
    let mut agent = stage.agent([Step::Spawn(child), Step::Stdout("done".into())]);
    let mut child = agent.stdout(Stdio::piped()).spawn().unwrap();
    if kind == ChildKind::HoldStdout {
        let mut done = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut done).unwrap();
        child.wait().unwrap();
        let left = stage.marker.alive();
        stage.marker.kill_all(HANG_LIMIT).unwrap();
        return (child.wait_with_output().unwrap(), left);
    }
    (child.wait_with_output().unwrap(), stage.marker.alive())
}

#[test]
fn every_kind_of_child_outlives_the_agent_and_only_one_holds_its_output() {
    for kind in [ChildKind::Plain, ChildKind::Setsid, ChildKind::DoubleFork, ChildKind::HoldStdout]
    {
        let stage = Stage::new();
        let (output, left) = spawned(&stage, kind);
        assert!(output.status.success(), "{kind:?}");
        assert_eq!(left.len(), 1, "{kind:?}: {left:?}");
        let held = kind == ChildKind::HoldStdout;
        assert_eq!(output.stdout.is_empty(), held, "{kind:?}");
    }
}

#[test]
fn a_held_stdout_has_no_end_before_the_child_dies() {
    let stage = Stage::new();
    let child = Child { kind: ChildKind::HoldStdout, seconds: 60, args: Vec::new() };
    let mut agent = stage.agent([Step::Spawn(child)]).stdout(Stdio::piped()).spawn().unwrap();
    agent.wait().unwrap();
    let mut stdout = agent.stdout.take().unwrap();
    rustix::io::ioctl_fionbio(&stdout, true).unwrap();
    let error = stdout.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    stage.marker.kill_all(HANG_LIMIT).unwrap();
    let end = wait_for("the end", HANG_LIMIT, || stdout.read(&mut [0]).ok()).unwrap();
    assert_eq!(end, 0);
}

#[test]
fn a_setsid_child_leads_a_session_and_a_plain_one_does_not() {
    for (kind, leads) in [(ChildKind::Setsid, true), (ChildKind::Plain, false)] {
        let stage = Stage::new();
        let (_, left) = spawned(&stage, kind);
        let pid = i32::try_from(left[0].pid).unwrap();
        assert_eq!(left[0].session == pid, leads, "{kind:?}");
    }
}
