//! What a job costs that is driven by a server of its own: over the same calls made by hand, beside
//! the server's own start; and what dcli takes beside ten of them that wait for an answer.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dcli_testkit::clis::{Cli, CliId, MODEL, Retries};
use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use dcli_testkit::model::{Scenario, Server, Turn};
use dcli_testkit::process::Marker;
use serde_json::{Value, json};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::{Stage, ms, timed};
use super::{jobs, memory};
use crate::command;

const PAIRS: usize = 5;
const WAITING: usize = 10;
/// Between two looks of the client that does by hand what dcli does.
const LOOK: Duration = Duration::from_millis(50);
const PASSWORD: &str = "of-the-bench";

/// Three figures; `None` where opencode is not installed.
pub(super) fn measure(stage: &Stage) -> Result<Option<Vec<Figure>>, BenchError> {
    let Ok(cli) = Cli::find(CliId::Opencode) else { return Ok(None) };
    let bench = Bench { stage, cli };
    let mut figures = bench.over_by_hand()?;
    figures.push(bench.waiting()?);
    Ok(Some(figures))
}

struct Bench<'s> {
    stage: &'s Stage,
    cli: Cli,
}

/// What the same calls took by hand.
struct ByHand {
    start: Duration,
    whole: Duration,
}

impl Bench<'_> {
    fn over_by_hand(&self) -> Result<Vec<Figure>, BenchError> {
        let model = Server::start(Scenario::text("OK")).named("start the model server")?;
        let (mut starts, mut over) = (Vec::new(), Vec::new());
        // One of each before any counts: the database is made, the files are read.
        for round in 0..=PAIRS {
            let by_hand = self.by_hand(&model)?;
            let job = timed(&mut self.job(&model, "run", &[])?, "dcli run")?;
            if round > 0 {
                starts.push(ms(by_hand.start));
                over.push(ms(job) - ms(by_hand.whole));
            }
        }
        let figure = |what: &str, command: &str, values, target| Figure {
            what: what.to_owned(),
            command: command.to_owned(),
            unit: "ms",
            sample: Sample::of(values),
            target,
        };
        Ok(vec![
            figure(
                "opencode's server, from its start to its first answer",
                "opencode serve; GET /global/health",
                starts,
                Target::None,
            ),
            figure(
                "a job of opencode over the same calls by hand",
                "dcli run --backend opencode − (opencode serve; session, prompt, status, messages)",
                over,
                Target::AtMost(1000.0),
            ),
        ])
    }

    /// The environment of the program, all in this room.
    fn env(&self, model: &Server) -> Result<Vec<(String, String)>, BenchError> {
        let env = self.cli.isolated_env(self.stage.room(), model, Retries::None);
        env.named("write opencode's settings")
    }

    fn job(&self, model: &Server, verb: &str, words: &[&str]) -> Result<Command, BenchError> {
        let mut job = self.stage.dcli(&[verb, "--backend", "opencode", "--access", "workspace"]);
        job.envs(self.env(model)?).arg("--command").arg(&self.cli.program);
        job.args(words).arg("say OK");
        Ok(job)
    }

    fn by_hand(&self, model: &Server) -> Result<ByHand, BenchError> {
        let begun = Instant::now();
        let mut serve = self.stage.command(&self.cli.program);
        serve.args(["serve", "--port", "0", "--hostname", "127.0.0.1"]);
        serve.envs(self.env(model)?).env("OPENCODE_SERVER_PASSWORD", PASSWORD);
        let marker = Marker::new();
        marker.plant(&mut serve);
        let announced = self.stage.path("announced");
        let out = std::fs::File::create(&announced).named("make a file")?;
        let server = Started { child: serve.stdout(out).spawn().named("start opencode")?, marker };
        let client = Client::new(&announced, &self.stage.work())?;
        client.get("/global/health")?;
        let start = begun.elapsed();
        client.turn()?;
        drop(server);
        Ok(ByHand { start, whole: begun.elapsed() })
    }

    /// Ten jobs that wait for an answer, all at once: what dcli takes beside each.
    fn waiting(&self) -> Result<Figure, BenchError> {
        let ask = Scenario::of([Turn::shell("touch asked"), Turn::text("OK")]);
        let models = (0..WAITING).map(|_| Server::start(ask.clone()).named("start a model server"));
        let models = models.collect::<Result<Vec<_>, _>>()?;
        let limits = "[limits]\nmax_jobs = 10\nmax_jobs_per_backend = 10\n";
        let config = "home/.config/dcli/config.toml";
        self.stage.room().file(config, limits).named("write the limits")?;
        let words = ["--attended=600", "--ask", "bash", "--isolated-state"];
        let words = [&words[..], &["--startup-timeout-sec", "300"]].concat();
        let mut ids = Vec::new();
        for model in &models {
            let mut submit = self.job(model, "submit", &words)?;
            ids.push(command::output_of(submit.stdout(Stdio::piped()))?.trim().to_owned());
        }
        let mut sets = Vec::new();
        for id in &ids {
            let asked = || self.is_asked(id).then_some(());
            wait_for("a job to ask", 5 * HANG_LIMIT, asked)?;
        }
        for id in &ids {
            sets.push(memory::of_waiting(self.stage, id)?);
        }
        for id in &ids {
            timed(&mut self.stage.dcli(&["cancel", id]), "dcli cancel")?;
        }
        std::fs::remove_file(self.stage.path(config)).named("remove the limits")?;
        Ok(Figure {
            what: "memory of dcli and its init beside each of ten jobs that wait for an answer"
                .to_owned(),
            command: "dcli submit --backend opencode --attended; Pss, the server left out".into(),
            unit: "MB",
            sample: Sample::of(sets),
            target: Target::AtMost(8.0),
        })
    }

    fn is_asked(&self, id: &str) -> bool {
        let status = jobs::directory(self.stage, id).map(|path| path.join("status.json"));
        let text = status.ok().and_then(|path| std::fs::read_to_string(path).ok());
        let status: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        status.is_some_and(|status| status["interactions"][0]["interaction_id"].is_string())
    }
}

/// A server with whatever it started.
struct Started {
    child: Child,
    marker: Marker,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.marker.kill_all(HANG_LIMIT);
    }
}

/// The calls that a turn takes, without anything that dcli adds to them.
struct Client {
    agent: ureq::Agent,
    base: String,
    query: String,
}

impl Client {
    fn new(announced: &PathBuf, directory: &std::path::Path) -> Result<Self, BenchError> {
        let line = || {
            let text = std::fs::read_to_string(announced).ok()?;
            let (_, url) = text.split_once("listening on ")?;
            Some(url.split_once('\n')?.0.trim().to_owned())
        };
        let base = wait_for("opencode to announce itself", HANG_LIMIT, line)?;
        Ok(Self {
            agent: ureq::Agent::config_builder().proxy(None).build().into(),
            base: base.replacen("http://", &format!("http://opencode:{PASSWORD}@"), 1),
            query: format!("?directory={}", directory.display()),
        })
    }

    fn get(&self, path: &str) -> Result<Value, BenchError> {
        let url = format!("{}{path}{}", self.base, self.query);
        let answer = self.agent.get(url).call();
        let text = answer.and_then(|mut answer| answer.body_mut().read_to_string());
        Ok(serde_json::from_str(&text.map_err(unexpected)?)?)
    }

    fn post(&self, path: &str, body: &Value) -> Result<String, BenchError> {
        let url = format!("{}{path}{}", self.base, self.query);
        let answer = self.agent.post(url).content_type("application/json").send(body.to_string());
        answer.and_then(|mut answer| answer.body_mut().read_to_string()).map_err(unexpected)
    }

    fn turn(&self) -> Result<(), BenchError> {
        let session: Value = serde_json::from_str(&self.post("/session", &json!({"title": "t"}))?)?;
        let id = session["id"].as_str().unwrap_or_default().to_owned();
        let model = json!({"providerID": "stub", "modelID": MODEL});
        let parts = json!([{"type": "text", "text": "say OK"}]);
        self.post(
            &format!("/session/{id}/prompt_async"),
            &json!({"parts": parts, "model": model}),
        )?;
        let begun = Instant::now();
        while begun.elapsed() < HANG_LIMIT {
            let messages = self.get(&format!("/session/{id}/message"))?;
            let last = messages.as_array().and_then(|all| all.last());
            let finished = last.is_some_and(|one| one["info"]["finish"] == "stop");
            if finished && self.get("/session/status")?.get(&id).is_none() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(BenchError::Unexpected("opencode did not answer".to_owned()))
    }
}

fn unexpected(error: ureq::Error) -> BenchError {
    BenchError::Unexpected(format!("opencode: {error}"))
}
