//! Which way a run goes with its backend: the prompt alone, a dialogue on its standard input, or a
//! server of its own.

use std::io;
use std::os::fd::OwnedFd;

use dcli_core::executor::access::Access;
use dcli_core::executor::record::{Dialogue, Native, Server};
use dcli_core::interaction::Desk;
use rustix::pipe::{PipeFlags, pipe_with};

use super::prepare::Prepared;
use super::request::{ModelChoice, Request};
use crate::backend::session::Session;
use crate::backend::{claude, opencode};
use crate::supervise::answers::Answers;
use crate::supervise::capture::Captures;
use crate::supervise::prompt::PromptFile;
use crate::supervise::talk::Partner;

/// A way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way<'r> {
    /// The prompt is all that the backend gets.
    Plain,
    /// It asks on standard output and is answered on standard input.
    Dialogue(&'r Dialogue),
    /// It is a server.
    Server(&'r Server),
}

impl Request {
    /// A server is for jobs, whose record it can have; a dialogue is for jobs that answer.
    pub(super) fn way(&self) -> Way<'_> {
        let record = &*self.executor.record;
        match (&record.server, &record.dialogue) {
            _ if self.job.is_none() => Way::Plain,
            (Some(server), _) => Way::Server(server),
            (None, Some(dialogue)) if !self.terms.is_plain() => Way::Dialogue(dialogue),
            _ => Way::Plain,
        }
    }

    /// The server that the run is driven by, where it is.
    pub(crate) fn server(&self) -> Option<&Server> {
        match self.way() {
            Way::Server(server) => Some(server),
            Way::Plain | Way::Dialogue(_) => None,
        }
    }

    /// The arguments and variables by which the access is expressed on this way.
    pub(super) fn native(&self) -> Native {
        let access = &self.executor.record.access;
        match self.way() {
            Way::Plain => access.unenforced(self.access).clone(),
            Way::Server(_) => opencode::native(self.access, &self.terms),
            Way::Dialogue(dialogue) => {
                let own = match self.access {
                    Access::ReadOnly => &dialogue.read_only,
                    Access::Workspace => &dialogue.workspace,
                    Access::Unconfined => access.unenforced(self.access),
                };
                let args = own.args.iter().chain(&dialogue.args).cloned().collect();
                Native { args, env: own.env.clone() }
            }
        }
    }

    /// Model and variant as they were asked for.
    fn model_words(&self) -> (Option<String>, Option<String>) {
        let (model, options) = match &self.model {
            ModelChoice::Default => return (None, None),
            ModelChoice::Named(wish) => (&wish.model, &wish.options),
            ModelChoice::Configured(configuration) => (&configuration.model, &configuration.fields),
        };
        (model.clone(), options.get("variant").cloned())
    }
}

/// What standard input is.
pub(super) enum Feed {
    /// Nothing.
    Empty,
    /// The prompt.
    Prompt(PromptFile),
    /// One end of a pipe; the other is the session's.
    Pipe(OwnedFd),
}

/// What a run is started with, and whom it talks with.
pub(super) struct Opened {
    pub feed: Feed,
    pub session: Option<Box<dyn Session>>,
    pub is_server: bool,
}

impl Opened {
    /// Everything that has to be there before the backend's process is.
    pub(super) fn new(
        request: &Request,
        prepared: &Prepared,
        captures: &Captures,
        is_prompt_stdin: bool,
    ) -> io::Result<Self> {
        match request.way() {
            Way::Plain => {
                let feed = match is_prompt_stdin {
                    true => Feed::Prompt(PromptFile::new(&request.prompt)?),
                    false => Feed::Empty,
                };
                Ok(Self { feed, session: None, is_server: false })
            }
            Way::Dialogue(_) => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
                let workspace = prepared.workspace.clone();
                let policy = request.terms.policy.clone();
                let session = claude::session(writer, &request.prompt, workspace, policy);
                Ok(Self { feed: Feed::Pipe(reader), session: Some(session), is_server: false })
            }
            Way::Server(server) => {
                let (model, variant) = request.model_words();
                let session = opencode::session(opencode::Opening {
                    announced: captures.stdout.reader()?,
                    program: prepared.program.clone(),
                    password: request.variable(&server.admission).unwrap_or_default(),
                    supported: request.executor.record.version.supported.clone(),
                    directory: prepared.workspace.clone(),
                    prompt: request.prompt.clone(),
                    title: format!("dcli {}", request.action_id),
                    model,
                    variant,
                    access: request.access,
                    terms: request.terms.clone(),
                });
                Ok(Self { feed: Feed::Empty, session: Some(session), is_server: true })
            }
        }
    }

    /// Whom the run talks with.
    pub(super) fn partner(self, request: &Request, answers: &Answers) -> Option<Partner> {
        Some(Partner {
            session: self.session?,
            desk: Desk::new(request.access, request.terms.clone()),
            answers: answers.clone(),
            is_server: self.is_server,
        })
    }
}
