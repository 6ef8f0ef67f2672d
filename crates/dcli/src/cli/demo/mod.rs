//! `dcli demo`: the whole path with a scripted agent, in a scratch directory, each step explained.

mod agent;
mod job;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dcli_contain::Entry;
use dcli_core::envelope::{ErrorCode, ResultEnvelope, Status};
use dcli_core::executor::access::Access;
use dcli_core::executor::{Executor, Record, Source};
use dcli_core::exit::FailureClass;
use dcli_core::fact::{Fact, FactLine};

use super::args::Demo;
use crate::exec::{Hooks, Host, Request, exec};
use crate::report::human::printable;
use crate::report::json;

use agent::Part;
pub(super) use agent::agent_role;

const RECORD: &str = include_str!("record.toml");

/// One scene: what is played, what is said about it, and what must come of it.
struct Scene {
    part: Part,
    title: &'static str,
    before: &'static str,
    after: &'static str,
    hard_timeout: Duration,
    status: Status,
    code: Option<ErrorCode>,
}

const SCENES: [Scene; 3] = [
    Scene {
        part: Part::Good,
        title: "A run that succeeds",
        before: "The agent writes a file, answers, and leaves a process running in a session of \
                 its own. A process group would not reach that one.",
        after: "Success needs evidence: a terminal record, a result, a complete stream. The \
                process that was left behind was ended and counted.",
        hard_timeout: Duration::from_secs(30),
        status: Status::Ok,
        code: None,
    },
    Scene {
        part: Part::Cut,
        title: "An agent that says all is well, exits 0, and proves nothing",
        before: "Its output ends without the record that proves success: real CLIs do that when \
                 their output is cut.",
        after: "Exit 0 is not evidence. The answer is kept, and the run is failed.",
        hard_timeout: Duration::from_secs(30),
        status: Status::Failed,
        code: Some(ErrorCode::ExecutorOutputTruncated),
    },
    Scene {
        part: Part::Stuck,
        title: "An agent that never comes back",
        before: "It starts a command that takes ten minutes. The run is given two seconds.",
        after: "The deadline ended the run and the whole tree with it.",
        hard_timeout: Duration::from_secs(2),
        status: Status::Failed,
        code: Some(ErrorCode::ExecutorTimedOut),
    },
];

/// Runs the subcommand: 0 where every scene came out as announced.
pub(super) fn run(args: &Demo) -> u8 {
    match play(args.json) {
        Ok(true) => 0,
        Ok(false) => {
            let _ = writeln!(io::stderr(), "dcli: a scene did not come out as announced");
            FailureClass::Internal.exit_code()
        }
        Err(Trouble(class, message)) => {
            let _ = writeln!(io::stderr(), "dcli: {message}");
            class.exit_code()
        }
    }
}

struct Trouble(FailureClass, String);

fn environment(error: impl std::fmt::Display) -> Trouble {
    Trouble(FailureClass::Environment, error.to_string())
}

fn play(as_json: bool) -> Result<bool, Trouble> {
    let scratch = tempfile::Builder::new().prefix("dcli-demo-").tempdir().map_err(environment)?;
    // dcli's own records lie beside what an agent works in, never in it.
    let work = scratch.path().join("work");
    std::fs::create_dir(&work).map_err(environment)?;
    let entry = Entry::current().map_err(environment)?;
    let host = Host::new(entry);
    let out = Narrator { as_json };
    out.intro(scratch.path());
    let mut as_announced = true;
    for (number, scene) in SCENES.iter().enumerate() {
        out.before(number + 1, scene.title, scene.before);
        let request = request(scene.part, scene.hard_timeout, &work)?;
        let envelope = exec(&host, request, &hooks(as_json));
        out.after(scene, &envelope);
        as_announced &= envelope.status == scene.status && code(&envelope) == scene.code;
    }
    as_announced &= job::play(&out, &host, (&work, scratch.path()))?;
    as_announced &= work.join("greeting.txt").is_file();
    out.outro();
    Ok(as_announced)
}

fn code(envelope: &ResultEnvelope) -> Option<ErrorCode> {
    envelope.errors.iter().flatten().next().map(|error| error.code)
}

/// The code as it is written in an envelope.
fn named(code: ErrorCode) -> String {
    let written = serde_json::to_value(code).ok();
    written.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn request(part: Part, hard_timeout: Duration, work: &Path) -> Result<Request, Trouble> {
    let record = Record::from_toml(RECORD, "the demonstration").map_err(environment)?;
    let record = Record { args: vec![agent::ROLE.to_owned(), part.name().to_owned()], ..record };
    let executor = Executor {
        record: Arc::new(record),
        source: Source::Shipped,
        origin: "the demonstration".to_owned(),
    };
    let mut request = Request::new(executor, "Greet the reader in a file.", work);
    request.command = Some(std::env::current_exe().map_err(environment)?);
    request.access = Access::Workspace;
    request.timeouts.hard = hard_timeout;
    Ok(request)
}

fn hooks(as_json: bool) -> Hooks {
    let show = move |line: &FactLine| {
        if !as_json {
            tell(&describe(&line.fact));
        }
    };
    Hooks { on_fact: Some(Arc::new(show)), ..Hooks::default() }
}

fn describe(fact: &Fact) -> String {
    let text = match fact {
        Fact::Started { backend_pid: Some(pid), .. } => format!("started, process {pid}"),
        Fact::Started { .. } => "the agent named its session".to_owned(),
        Fact::AssistantText { text, .. } => format!("the agent says: {text}"),
        Fact::ToolInvoked { tool, summary, .. } => format!(
            "tool {}: {}",
            tool.as_deref().unwrap_or("?"),
            summary.as_deref().unwrap_or_default()
        ),
        Fact::ToolResult { ok, .. } => format!("tool ended, ok: {ok}"),
        Fact::UsageReported { tokens, .. } => {
            format!("usage reported: {} tokens", tokens.total.unwrap_or_default())
        }
        Fact::ProcessExited { code, signal } => match (code, signal) {
            (Some(code), _) => format!("the process exited {code}"),
            (None, Some(signal)) => format!("the process was ended by signal {signal}"),
            (None, None) => "the process ended".to_owned(),
        },
        other => format!("{other:?}"),
    };
    format!("    · {}\n", printable(&text, 90))
}

struct Narrator {
    as_json: bool,
}

impl Narrator {
    fn intro(&self, scratch: &Path) {
        self.tell(&format!(
            "dcli runs coding CLIs for you and tells the truth about what happened.\n\
             Here it runs a SCRIPTED AGENT that plays one: no model is asked, no account is used.\n\
             Scratch directory: {} (removed at the end)\n",
            scratch.display()
        ));
    }

    fn before(&self, number: usize, title: &str, text: &str) {
        self.tell(&format!("\n{number}. {title}\n   {text}\n"));
    }

    fn after(&self, scene: &Scene, envelope: &ResultEnvelope) {
        if self.as_json {
            // A reader that has gone is a quiet end.
            let _ = json::line(&mut io::stdout().lock(), envelope);
            return;
        }
        let result = match envelope.status {
            Status::Ok => "ok".to_owned(),
            _ => code(envelope).map_or_else(String::new, named),
        };
        let mut text = format!(
            "   status {result}, exit code {}: {}\n",
            envelope.exit_code(),
            printable(&envelope.summary, 120)
        );
        if let Some(run) = envelope.run().map(|run| &run.run) {
            let alive =
                run.survivors.as_ref().map_or("unknown".to_owned(), |s| s.len().to_string());
            text.push_str(&format!(
                "   containment {}; left behind and ended: {}; survivors: {alive}\n",
                run.containment.kind, run.left_behind
            ));
        }
        self.tell(&format!("{text}   {}\n", scene.after));
    }

    fn outro(&self) {
        self.tell(
            "\nNow with a real one, if you have it:\n\
             \n    dcli backends\n    dcli exec --backend codex \"What does this repository do?\"\n    \
             id=$(dcli submit --backend codex \"Find what is slow here.\")\n    \
             dcli wait $id && dcli read $id\n\
             \nThe envelope that 'dcli exec' prints is the same that you saw in short here.\n",
        );
    }

    fn tell(&self, text: &str) {
        if !self.as_json {
            tell(text);
        }
    }
}

fn tell(text: &str) {
    // A reader that has gone is a quiet end.
    let _ = json::raw(&mut io::stdout().lock(), text);
}
