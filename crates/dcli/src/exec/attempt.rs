//! One attempt behind the gate: command line, captures, start, supervision, envelope.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use dcli_core::attempt::Limits;
use dcli_core::envelope::{Data, ErrorCode, ResultEnvelope};
use dcli_core::executor::argv::{CommandLine, Scoped, command_line};
use dcli_core::executor::record::{LivenessSignal, RungKind};
use dcli_core::gate::{Cost, Execute};

use super::finish::{finish, not_started};
use super::host::Timing;
use super::prepare::{Refusal, refuse};
use super::request::{IDLE, Request, STARTUP};
use super::run::{Plan, envelope_of};
use super::start::{Ready, Started, Unstarted, start, unwritable};
use super::way::{Opened, Way};
use crate::backend::bulk;
use crate::backend::spawn::Spawn;
use crate::supervise::capture::{Captures, Keep};
use crate::supervise::drive::{Setup, drive};
use crate::supervise::talk::Partner;
use crate::supervise::witness::{SharedWitness, StartedReport};

/// After completion the tree may linger this long.
const GRACE: Duration = Duration::from_secs(5);
/// After the leader's exit output may still come for this long.
const DRAIN: Duration = Duration::from_secs(5);

/// The executor that the gate closes over.
pub(super) struct Attempting {
    pub spawn: Arc<dyn Spawn>,
    pub witness: SharedWitness,
}

impl Execute<Plan, ResultEnvelope> for Attempting {
    fn run(&self, plan: &Plan) -> ResultEnvelope {
        self.attempt(plan).unwrap_or_else(envelope_of)
    }

    fn actual(&self, result: &ResultEnvelope) -> Option<Cost> {
        let Data::Run(run) = &result.data else { return Some(Cost::ZERO) };
        #[expect(clippy::cast_precision_loss, reason = "a token count is far below 2^53")]
        run.usage.and_then(|tokens| Cost::new(tokens as f64).ok())
    }
}

/// What was started, and whom the run talks with.
struct Talking<'a> {
    args: &'a [String],
    is_server: bool,
    partner: Option<Partner>,
}

impl Attempting {
    fn attempt(&self, plan: &Plan) -> Result<ResultEnvelope, Refusal> {
        let Plan { request, prepared, .. } = plan;
        let line = command(plan)?;
        let captures = Captures::kept(&plan.keep).map_err(|error| match &plan.keep {
            Keep::Scratch => unwritable(&error),
            Keep::In(_) => {
                let message =
                    format!("the output cannot be captured: {error}; nothing was started");
                refuse(ErrorCode::ExecutorPermissionDenied, message)
            }
        })?;
        let opened = Opened::new(request, prepared, &captures, line.prompt_on_stdin)
            .map_err(|error| unwritable(&error))?;
        let ready = Ready { prepared, args: &line.args, captures: &captures, feed: &opened.feed };
        match start(&*self.spawn, request, &ready) {
            Ok(started) => {
                // The child has its own; a pipe that is held here would never end.
                let (is_server, partner) =
                    (opened.is_server, opened.partner(request, &plan.hooks.answers));
                let talk = Talking { args: &line.args, is_server, partner };
                Ok(self.supervise(plan, &started, captures, talk))
            }
            Err(Unstarted::Refused(refusal)) => Err(refusal),
            Err(Unstarted::Failed(kind, error)) => Ok(not_started(request, prepared, kind, &error)),
        }
    }

    fn supervise(
        &self,
        plan: &Plan,
        started: &Started,
        captures: Captures,
        talk: Talking<'_>,
    ) -> ResultEnvelope {
        let Plan { request, prepared, hooks, .. } = plan;
        let spawn_setup = prepared.asked_at.elapsed();
        let begun = Instant::now();
        let limits = limits(request);
        let warnings = [&prepared.warnings[..], &started.warnings[..]].concat();
        let report = StartedReport {
            leader: started.run.leader(),
            kind: started.kind,
            degraded: started.degraded,
            program: &prepared.program,
            args: talk.args,
            cwd: &prepared.workspace,
            env: &prepared.env,
            version: prepared.version.as_deref(),
            warnings: &warnings,
            is_server: talk.is_server,
        };
        let setup = Setup {
            record: Arc::clone(&request.executor.record),
            limits: limits.clone(),
            captures,
            output_cap: request.output_cap,
            cancel: hooks.cancel.clone(),
            started: report,
            partner: talk.partner,
        };
        let mut witness = self.witness.lock().unwrap_or_else(PoisonError::into_inner);
        let driven = drive(&*started.run, setup, &mut *witness);
        drop(witness);
        let timing = Timing { spawn_setup, run: begun.elapsed() };
        if let Some(on_timing) = &hooks.on_timing {
            on_timing(timing);
        }
        finish(request, prepared, started, &driven, (limits, timing))
    }
}

fn command(plan: &Plan) -> Result<CommandLine, Refusal> {
    let Plan { request, prepared, .. } = plan;
    if let Way::Server(server) = request.way() {
        let args = server.args.iter().chain(&request.extra_args).cloned().collect();
        return Ok(CommandLine { args, prompt_on_stdin: false });
    }
    let scoped = Scoped {
        access: &prepared.access_args,
        model: &prepared.model_args,
        extra: &request.extra_args,
        keeps_session: request.job.is_some(),
    };
    let line =
        command_line(&request.executor.record, &scoped, &request.prompt).map_err(|error| {
            let message = format!("{error}; nothing was started; shorten the prompt");
            refuse(ErrorCode::RequestInvalid, message)
        })?;
    bulk::check(&line.args, &prepared.env).map_err(|error| {
        let message = format!(
            "{error}; nothing was started; shorten the prompt or inherit less (--inherit-env)"
        );
        refuse(ErrorCode::RequestInvalid, message)
    })?;
    Ok(line)
}

fn limits(request: &Request) -> Limits {
    let record = &request.executor.record;
    let shows_life = record.liveness.signal == LivenessSignal::Records;
    let or_default = |asked: Option<Duration>, default| asked.or(shows_life.then_some(default));
    let rungs = match request.way() {
        Way::Server(server) => server.cancel.iter(),
        Way::Plain | Way::Dialogue(_) => record.cancel.iter(),
    };
    let mut ladder: Vec<(RungKind, Duration)> =
        rungs.map(|rung| (rung.rung, Duration::from_secs(rung.wait_sec.into()))).collect();
    if ladder.last().is_none_or(|rung| rung.0 != RungKind::HardKill) {
        ladder.push((RungKind::HardKill, Duration::ZERO));
    }
    Limits {
        hard: request.timeouts.hard,
        startup: or_default(request.timeouts.startup, STARTUP),
        idle: or_default(request.timeouts.idle, IDLE),
        grace: GRACE,
        drain: DRAIN,
        ladder,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use dcli_contain::{Kind, Requirement};
    use dcli_core::attempt::Effect;
    use dcli_core::envelope::Status;
    use dcli_core::executor::{Executor, Record, Scan, Source};
    use dcli_core::fact::{Fact, FactLine};
    use dcli_core::milestone::Milestone;

    use super::*;
    use crate::backend::spawn::bare::Bare;
    use crate::exec::{Cancel, Hooks, Host, Keeping, attempt, prepare};
    use crate::supervise::witness::{Stream, Witness};

    /// Keeps all that it hears in words; fails at the words it was told to fail at.
    #[derive(Default)]
    struct Diary {
        heard: Vec<String>,
        output: Vec<u8>,
        fails_at: &'static str,
        cancel: Cancel,
    }

    impl Diary {
        fn hear(&mut self, what: String) -> Result<(), String> {
            let fails = !self.fails_at.is_empty() && what.starts_with(self.fails_at);
            self.heard.push(what);
            if fails { Err("the disk is full".to_owned()) } else { Ok(()) }
        }
    }

    impl Witness for Diary {
        fn started(&mut self, started: &StartedReport<'_>) -> Result<(), String> {
            self.hear(format!("started {} {}", started.program.display(), started.args[0]))
        }

        fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), String> {
            if stream == Stream::Stdout {
                self.output.extend_from_slice(bytes);
            }
            self.hear(format!("output {stream:?}"))
        }

        fn fact(&mut self, line: &FactLine) -> Result<(), String> {
            if matches!(&line.fact, Fact::AssistantText { text, .. } if text == "cancel me") {
                self.cancel.ask();
            }
            let name = serde_json::to_value(line).unwrap()["type"].to_string();
            self.hear(format!("fact {name}"))
        }

        fn milestone(&mut self, milestone: &Milestone) -> Result<(), String> {
            self.hear(format!("turn {milestone:?}"))
        }

        fn performed(&mut self, effect: Effect) {
            self.heard.push(format!("did {effect:?}"));
        }

        fn pulse(&mut self, scan: &Scan) -> Result<(), String> {
            self.hear(format!("pulse {}", scan.records))
        }

        fn pulse_every(&self) -> Option<Duration> {
            Some(Duration::from_millis(10))
        }
    }

    const RECORD: &str = r#"
schema_version = 1
id = "shell"
display_name = "Shell"
command = "/bin/sh"
args = ["-c", SCRIPT]
prompt = { delivery = "stdin" }
output = { format = "jsonl", result = { path = "text" }, terminal = { success = { end = true } } }
usage = { usage_when = { end = true }, usage_paths = ["tokens"] }
liveness = { signal = "records", tool_starts_announced = true }
access = { read_only = {}, workspace = {}, unconfined = {} }
facts = [{ fact = "assistant_text", when = { type = "answer" }, fields = { text = "text" } }]
"#;

    const GOOD: &str =
        r#"cat; echo '{"type":"answer","text":"hello"}'; echo '{"end":true,"tokens":7}'"#;

    /// Runs a script before the diary.
    fn run(script: &str, diary: Diary, keep: Keep) -> (ResultEnvelope, Diary) {
        let text = RECORD.replace("SCRIPT", &format!("{script:?}"));
        let record = Arc::new(Record::from_toml(&text, "test").unwrap());
        let executor = Executor { record, source: Source::File, origin: "test".to_owned() };
        let mut request = Request::new(executor, "a prompt\n", std::env::temp_dir());
        request.containment = Requirement::Exactly(Kind::ProcessGroup);
        let host = Host::with_spawn(Arc::new(Bare));
        let hooks = Hooks { cancel: diary.cancel.clone(), ..Hooks::default() };
        let prepared = prepare(&host, &request).unwrap();
        let witness = Arc::new(Mutex::new(diary));
        let keeping = Keeping { keep, witness: Arc::clone(&witness) as SharedWitness };
        let ran = attempt(&host, request, prepared, &hooks, keeping);
        let diary = std::mem::take(&mut *witness.lock().unwrap());
        (ran, diary)
    }

    #[test]
    fn a_witness_hears_of_a_turn_before_anything_that_follows_from_it() {
        let (ran, diary) = run(GOOD, Diary::default(), Keep::Scratch);
        assert_eq!(ran.status, Status::Ok, "{:?}", ran);
        assert_eq!(ran.run().unwrap().run.containment.kind, "process-group");
        let heard: Vec<&str> = diary.heard.iter().map(String::as_str).collect();
        assert_eq!(heard[..2], ["started /bin/sh -c", "fact \"started\""]);
        assert_eq!(heard.last(), Some(&"fact \"process_exited\""));
        let turns = heard.iter().filter(|what| what.starts_with("turn") || what.starts_with("did"));
        let ended = "LeaderEnded { code: Some(0), signal: None }";
        let wanted = [
            "turn Completed".to_owned(),
            "did Note(Completed)".to_owned(),
            format!("turn {ended}"),
            format!("did Note({ended})"),
            "did EndTree".to_owned(),
        ];
        assert_eq!(turns.copied().collect::<Vec<_>>(), wanted);
        let lines =
            "a prompt\n{\"type\":\"answer\",\"text\":\"hello\"}\n{\"end\":true,\"tokens\":7}\n";
        assert_eq!(String::from_utf8(diary.output).unwrap(), lines);
    }

    #[test]
    fn a_run_whose_witness_fails_is_ended_and_is_none_that_worked() {
        let lasting = format!("{GOOD}; sleep 600");
        let silent = "sleep 600".to_owned();
        let cases = [
            ("started", &silent),
            ("pulse", &silent),
            ("output", &lasting),
            ("fact \"assistant_text\"", &lasting),
            ("turn Completed", &lasting),
            ("fact \"process_exited\"", &GOOD.to_owned()),
        ];
        for (fails_at, script) in cases {
            let diary = Diary { fails_at, ..Diary::default() };
            let (ran, diary) = run(script, diary, Keep::Scratch);
            let error = &ran.errors.as_ref().unwrap()[0];
            assert_eq!(error.code, ErrorCode::ExecutorNoResult, "{fails_at}: {error:?}");
            assert!(error.message.contains("the disk is full"), "{error:?}");
            assert_eq!((ran.status, ran.exit_code()), (Status::Failed, 11));
            let silenced = diary.heard.iter().skip_while(|what| !what.starts_with(fails_at));
            assert!(silenced.skip(1).all(|what| what.starts_with("did")), "{:?}", diary.heard);
        }
    }

    #[test]
    fn a_cancelled_run_stays_cancelled_though_its_record_has_a_gap() {
        let script = r#"echo '{"type":"answer","text":"cancel me"}'; sleep 600"#;
        let diary = Diary { fails_at: "turn CancelRequested", ..Diary::default() };
        let (ran, _) = run(script, diary, Keep::Scratch);
        assert_eq!(ran.status, Status::Cancelled, "{:?}", ran);
        let warnings = &ran.run().unwrap().run.warnings;
        assert!(warnings.iter().any(|warning| warning.code == "record_incomplete"), "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.message.contains("the disk is full")));
    }

    #[test]
    fn output_is_kept_by_name_where_a_directory_is_given_and_nothing_starts_without_it() {
        let directory = tempfile::tempdir().unwrap();
        let keep = Keep::In(directory.path().to_owned());
        let (ran, diary) = run(&format!("{GOOD}; echo oh >&2"), Diary::default(), keep.clone());
        assert_eq!(ran.status, Status::Ok);
        let kept = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
        assert_eq!((kept("stdout"), kept("stderr")), (diary.output, b"oh\n".to_vec()));
        let (again, diary) = run(GOOD, Diary::default(), keep);
        let error = &again.errors.as_ref().unwrap()[0];
        assert_eq!(error.code, ErrorCode::ExecutorPermissionDenied);
        assert!(error.message.contains("nothing was started"), "{error:?}");
        assert!(again.run().is_none() && diary.heard.is_empty());
    }
}
