//! The library door: typed request, cancel token, fact callback, timing hook, caps, spawn seam.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use dcli::contain::{
    Aftermath, Entry, EntryError, Exit, Identity, Kind, Launch, Lost, Requirement, SignalError,
    StartError, Support, Tree,
};
use dcli::exec::{Cancel, Hooks, Host, Inherit, ModelChoice, Request, exec};
use dcli::model::envelope::{ErrorCode, ResultEnvelope, Status};
use dcli::model::executor::controls::Configuration;
use dcli::model::executor::{Catalogue, Executor, Record, Source};
use dcli::model::fact::Fact;
use dcli::model::gate::Caps;
use dcli::{ContainedSpawn, Running, Spawn};

/// A record whose program is a shell script given as its argument; the prompt is on its input.
fn shell(script: &str) -> Executor {
    let text = format!(
        r#"
schema_version = 1
id = "shell"
display_name = "Shell"
command = "/bin/sh"
args = ["-c", {script:?}]
[prompt]
delivery = "stdin"
[output]
format = "jsonl"
result = {{ path = "text", when = {{ type = "answer" }} }}
terminal = {{ success = {{ type = "end" }} }}
[usage]
usage_when = {{ type = "end" }}
usage_paths = ["tokens"]
[liveness]
signal = "records"
tool_starts_announced = true
[access]
read_only = {{}}
workspace = {{}}
unconfined = {{}}
[[facts]]
fact = "assistant_text"
when = {{ type = "answer" }}
fields = {{ text = "text" }}
"#
    );
    let record = Arc::new(Record::from_toml(&text, "test").unwrap());
    Executor { record, source: Source::File, origin: "test".to_owned() }
}

const GOOD: &str =
    r#"read p; echo "{\"type\":\"answer\",\"text\":\"$p\"}"; echo '{"type":"end","tokens":7}'"#;

fn entry() -> Entry {
    Entry::at(Path::new(env!("CARGO_BIN_EXE_dcli"))).unwrap()
}

/// Counts starts and ends, and keeps the last launch's environment.
struct Watched {
    inner: ContainedSpawn,
    starts: AtomicU32,
    env: Mutex<Vec<(String, String)>>,
    ended: Arc<AtomicBool>,
}

impl Watched {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: ContainedSpawn::new(entry()),
            starts: AtomicU32::new(0),
            env: Mutex::default(),
            ended: Arc::default(),
        })
    }
}

impl Spawn for Watched {
    fn support(&self) -> Support {
        self.inner.support()
    }

    fn start(&self, launch: Launch) -> Result<Box<dyn Running>, StartError> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        let text = |value: &std::ffi::OsString| value.to_string_lossy().into_owned();
        *self.env.lock().unwrap() = launch.env.iter().map(|(n, v)| (text(n), text(v))).collect();
        let run = self.inner.start(launch)?;
        Ok(Box::new(WatchedRun { run, ended: Arc::clone(&self.ended) }))
    }
}

struct WatchedRun {
    run: Box<dyn Running>,
    ended: Arc<AtomicBool>,
}

impl Running for WatchedRun {
    fn kind(&self) -> Kind {
        self.run.kind()
    }

    fn leader(&self) -> Identity {
        self.run.leader()
    }

    fn wait_leader(&self) -> Result<Exit, Lost> {
        self.run.wait_leader()
    }

    fn interrupt(&self) -> Result<(), SignalError> {
        self.run.interrupt()
    }

    fn end(&self) -> Aftermath {
        self.ended.store(true, Ordering::SeqCst);
        self.run.end()
    }

    fn tree(&self) -> Tree {
        self.run.tree()
    }
}

fn request(script: &str) -> Request {
    Request::new(shell(script), "hello", std::env::temp_dir())
}

fn code(envelope: &ResultEnvelope) -> ErrorCode {
    envelope.errors.as_ref().unwrap()[0].code
}

#[test]
fn a_host_that_does_not_offer_the_entry_is_refused() {
    assert!(matches!(Entry::current(), Err(EntryError::NotCalled)));
    assert!(matches!(Entry::at(Path::new("/bin/sh")), Err(EntryError::NotOffered { .. })));
}

#[test]
fn a_run_goes_through_a_custom_spawner_with_exactly_the_promised_environment() {
    let spawn = Watched::new();
    let ambient = vec![("PATH".into(), "/bin:/usr/bin".into()), ("SECRET".into(), "s".into())];
    let host = Host::with_spawn(Arc::clone(&spawn) as Arc<dyn Spawn>).with_ambient(ambient);
    let mut request = request(GOOD);
    request.inherit = Inherit::Only(vec!["PATH".into()]);
    request.env = vec![("MINE".into(), "1".into())];
    let cwd = request.workspace.canonicalize().unwrap();
    let envelope = exec(&host, request, &Hooks::default());
    assert_eq!(envelope.status, Status::Ok, "{envelope:?}");
    assert_eq!(envelope.summary, "hello");
    assert!(spawn.ended.load(Ordering::SeqCst), "the tree was not ended");
    let above: u32 = std::env::var("DCLI_DEPTH").map_or(0, |depth| depth.parse().unwrap());
    let depth = (above + 1).to_string();
    let wanted = [
        ("DCLI_BACKEND", "shell"),
        ("DCLI_DEPTH", &depth),
        ("DCLI_WORKER", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("MINE", "1"),
        ("PATH", "/bin:/usr/bin"),
        ("PWD", cwd.to_str().unwrap()),
    ];
    let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(*spawn.env.lock().unwrap(), wanted);
}

#[test]
fn facts_come_in_order_and_the_timing_hook_is_called_once() {
    let facts = Arc::new(Mutex::new(Vec::new()));
    let timings = Arc::new(AtomicU32::new(0));
    let (kept, counted) = (Arc::clone(&facts), Arc::clone(&timings));
    let hooks = Hooks {
        on_fact: Some(Arc::new(move |line| kept.lock().unwrap().push(line.clone()))),
        on_timing: Some(Arc::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        })),
        ..Hooks::default()
    };
    let envelope = exec(&Host::new(entry()), request(GOOD), &hooks);
    assert_eq!(envelope.status, Status::Ok);
    assert_eq!(timings.load(Ordering::SeqCst), 1);
    let facts = facts.lock().unwrap();
    let numbers: Vec<u64> = facts.iter().map(|line| line.seq).collect();
    assert_eq!(numbers, (1..=facts.len() as u64).collect::<Vec<_>>());
    assert!(matches!(facts[0].fact, Fact::Started { backend_pid: Some(_), .. }));
    let said = |line: &dcli::model::fact::FactLine| matches!(&line.fact, Fact::AssistantText { text, .. } if text == "hello");
    assert!(facts.iter().any(said));
    let exits = facts.iter().filter(|line| matches!(line.fact, Fact::ProcessExited { .. }));
    assert_eq!(exits.count(), 1);
    assert!(matches!(facts.last().unwrap().fact, Fact::ProcessExited { code: Some(0), .. }));
}

#[test]
fn a_cancel_before_the_start_starts_nothing() {
    let spawn = Watched::new();
    let hooks = Hooks { cancel: Cancel::new(), ..Hooks::default() };
    hooks.cancel.ask();
    let host = Host::with_spawn(Arc::clone(&spawn) as Arc<dyn Spawn>);
    let envelope = exec(&host, request(GOOD), &hooks);
    assert_eq!(envelope.status, Status::Cancelled);
    assert_eq!((code(&envelope), envelope.exit_code()), (ErrorCode::ExecutorCancelled, 30));
    assert_eq!(spawn.starts.load(Ordering::SeqCst), 0);
}

#[test]
fn a_cancel_from_the_fact_callback_ends_the_run_and_its_tree() {
    let cancel = Cancel::new();
    let asked = cancel.clone();
    let hooks = Hooks {
        cancel,
        on_fact: Some(Arc::new(move |line| {
            if matches!(line.fact, Fact::AssistantText { .. }) {
                asked.ask();
            }
        })),
        ..Hooks::default()
    };
    let script = r#"echo '{"type":"answer","text":"working"}'; sleep 600"#;
    let envelope = exec(&Host::new(entry()), request(script), &hooks);
    assert_eq!(envelope.status, Status::Cancelled);
    let run = envelope.run().unwrap();
    assert_eq!(run.result.as_deref(), Some("working"));
    assert_eq!(run.run.survivors, Some(vec![]));
}

#[test]
fn a_panic_in_a_callback_ends_the_tree_and_reaches_the_caller() {
    let spawn = Watched::new();
    let host = Host::with_spawn(Arc::clone(&spawn) as Arc<dyn Spawn>);
    let hooks = Hooks {
        on_fact: Some(Arc::new(|line| {
            assert!(!matches!(line.fact, Fact::AssistantText { .. }), "a host's own bug");
        })),
        ..Hooks::default()
    };
    let script = r#"echo '{"type":"answer","text":"working"}'; sleep 600"#;
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        exec(&host, request(script), &hooks)
    }));
    assert!(ran.is_err());
    assert!(spawn.ended.load(Ordering::SeqCst));
}

#[test]
fn output_after_a_long_silence_is_heard_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    // No record is due here, so no deadline but the hard one makes the loop look by itself.
    let script = format!(
        r#"sleep 3; echo '{{"type":"answer","text":"late"}}'
           until [ -e {} ]; do sleep 0.05; done; echo '{{"type":"end","tokens":1}}'"#,
        go.display()
    );
    let executor = shell(&script);
    let mut record = (*executor.record).clone();
    record.liveness.signal = dcli::model::executor::record::LivenessSignal::None;
    let executor = Executor { record: Arc::new(record), ..executor };
    let mut request = Request::new(executor, "hello", directory.path());
    request.timeouts.hard = std::time::Duration::from_secs(60);
    let hooks = Hooks {
        on_fact: Some(Arc::new(move |line| {
            if matches!(line.fact, Fact::AssistantText { .. }) {
                std::fs::write(&go, "").unwrap();
            }
        })),
        ..Hooks::default()
    };
    let envelope = exec(&Host::new(entry()), request, &hooks);
    assert_eq!(envelope.status, Status::Ok, "{}", envelope.summary);
}

#[test]
fn a_flood_of_output_does_not_hold_up_the_deadline() {
    let mut request = request("yes '{\"type\":\"noise\"}'");
    request.timeouts.hard = std::time::Duration::from_secs(1);
    request.output_cap = u64::MAX;
    let envelope = exec(&Host::new(entry()), request, &Hooks::default());
    assert_eq!(code(&envelope), ErrorCode::ExecutorTimedOut, "{}", envelope.summary);
    assert_eq!(envelope.run().unwrap().run.survivors, Some(vec![]));
}

#[test]
fn output_over_its_cap_ends_the_run_as_cut() {
    let mut request = request("yes '{\"type\":\"noise\"}'");
    request.output_cap = 1 << 20;
    let envelope = exec(&Host::new(entry()), request, &Hooks::default());
    assert_eq!(code(&envelope), ErrorCode::ExecutorOutputTruncated, "{}", envelope.summary);
    assert_eq!(envelope.run().unwrap().stdout_truncated, Some(true));
}

#[test]
fn a_cap_refuses_before_anything_is_started_and_counts_what_was_charged() {
    let spawn = Watched::new();
    let caps = Caps::UNLIMITED.with_max_total_cost(10.0).unwrap();
    let host = Host::with_spawn(Arc::clone(&spawn) as Arc<dyn Spawn>).with_caps(caps);
    let run = || exec(&host, request(GOOD), &Hooks::default());
    assert_eq!(run().status, Status::Ok, "7 of 10 tokens");
    assert_eq!(run().status, Status::Ok, "overspending refuses the next admission");
    let refused = run();
    assert_eq!((code(&refused), refused.exit_code()), (ErrorCode::ExecutorCapExceeded, 28));
    assert_eq!(spawn.starts.load(Ordering::SeqCst), 2);
}

#[test]
fn an_unmet_demand_for_containment_is_refused() {
    let mut request = request(GOOD);
    request.containment = Requirement::Exactly(Kind::JobObject);
    let envelope = exec(&Host::new(entry()), request, &Hooks::default());
    assert_eq!((code(&envelope), envelope.exit_code()), (ErrorCode::ExecutorUnavailable, 12));
    assert!(envelope.summary.contains("job-object"), "{}", envelope.summary);
}

#[test]
fn model_controls_are_refused_without_evidence_and_without_echoing_the_value() {
    let codex = Catalogue::shipped().unwrap().find("codex").unwrap().clone();
    let mut request = Request::new(codex, "hello", std::env::temp_dir());
    request.command = Some(PathBuf::from("/bin/true"));
    request.model = ModelChoice::Configured(Configuration {
        model: Some("very-private-model".into()),
        ..Configuration::default()
    });
    let envelope = exec(&Host::new(entry()), request, &Hooks::default());
    assert_eq!(code(&envelope), ErrorCode::RequestInvalid);
    assert!(!format!("{envelope:?}").contains("very-private-model"));
}

/// A program that answers OK in the words of codex.
fn codex_in(directory: &Path) -> PathBuf {
    let program = directory.join("codex");
    let stream = concat!(
        "#!/bin/sh\ncat >/dev/null\n",
        r#"echo '{"type":"thread.started","thread_id":"t"}'"#,
        "\n",
        r#"echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"OK"}}'"#,
        "\n",
        r#"echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}'"#,
        "\n",
    );
    std::fs::write(&program, stream).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    program
}

/// A built example program.
fn example(name: &str) -> std::process::Command {
    let directory = Path::new(env!("CARGO_BIN_EXE_dcli")).with_file_name("examples");
    std::process::Command::new(directory.join(name))
}

#[test]
fn the_example_program_runs_a_backend_contained() {
    let directory = tempfile::tempdir().unwrap();
    let program = codex_in(directory.path());
    let output = example("embed")
        .args(["codex", "Say OK."])
        .arg(&program)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let printed = serde_json::from_slice(&output.stdout).unwrap();
    let schema = dcli::model::schema::find("envelope").unwrap().schema();
    dcli_testkit::schema::check(&schema, &printed).unwrap();
    let envelope: ResultEnvelope = serde_json::from_value(printed).unwrap();
    assert_eq!(envelope.status, Status::Ok, "{envelope:?}");
    assert_eq!(envelope.run().unwrap().usage, Some(3));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_example_of_jobs_hands_two_over_and_reads_both() {
    let directory = tempfile::tempdir().unwrap();
    let program = codex_in(directory.path());
    // The state root has to lie outside the directory that is worked in.
    let work = directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let output = example("jobs")
        .args(["codex", "Say OK.", "Say it again."])
        .env("BACKEND_PROGRAM", &program)
        .env("DCLI_STATE_ROOT", directory.path().join("state"))
        .env("XDG_CONFIG_HOME", directory.path().join("configuration"))
        .current_dir(&work)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let read = said.lines().filter(|line| line.ends_with(": OK"));
    assert_eq!(read.count(), 2, "{said}{told}");
    assert!(told.ends_with("2 jobs in all\n"), "{told}");
}
